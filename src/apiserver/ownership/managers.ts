import type { ManagedFieldsEntry } from '../schema/api-object.ts';
import { goJson } from '../schema/go-text.ts';
import { type FieldSet, fromFieldsV1, toFieldsV1 } from './field-set.ts';
import type { Change } from './ownership.ts';
import { PathElementError } from './path-element.ts';

/** Who owns fields: one entry of managedFields, read. */
export interface Manager {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  /** The version that the fields are those of. */
  readonly apiVersion: string;
  /** '' for the main resource. */
  readonly subresource: string;
  /** Absent where it has never changed a value, but only said that it wants what is there. */
  readonly time?: string;
  readonly fields: FieldSet;
}

/** All owners of an object, each under its {@link managerId}. */
export type Managers = ReadonlyMap<string, Manager>;

/**
 * What makes two entries those of the same manager; the real server sorts by it, too. An applier is one, whatever the
 * version that it applies.
 */
export function managerId({ manager, operation, apiVersion, subresource }: Omit<Manager, 'fields'>): string {
  return goJson({
    ...(manager !== '' && { manager }),
    operation,
    ...(operation === 'Update' && { apiVersion }),
    ...(subresource !== '' && { subresource }),
  });
}

/** The manager that makes a change, as yet without fields. */
export function managerOf(
  { manager, subresource = '' }: Change,
  operation: 'Apply' | 'Update',
  apiVersion: string,
): Omit<Manager, 'fields'> {
  return { manager: manager || 'unknown', operation, apiVersion, subresource };
}

/** Reads managedFields; undefined if an entry of it is not valid. */
export function readManagers(entries: readonly ManagedFieldsEntry[]): Managers | undefined {
  const managers = new Map<string, Manager>();
  for (const entry of entries) {
    const manager = readManager(entry);
    if (manager === undefined) return undefined;
    managers.set(managerId(manager), manager);
  }
  return managers;
}

function readManager(entry: ManagedFieldsEntry): Manager | undefined {
  const { manager = '', operation, apiVersion = '', subresource = '', time, fieldsType, fieldsV1 } = entry;
  const isValid = operation === 'Apply' || operation === 'Update';
  if (!isValid || apiVersion === '' || fieldsType !== 'FieldsV1') return undefined;
  try {
    const fields = fromFieldsV1(fieldsV1 ?? {});
    return { manager, operation, apiVersion, subresource, ...(time !== undefined && { time }), fields };
  } catch (error) {
    if (error instanceof PathElementError) return undefined;
    throw error;
  }
}

/** Writes managedFields in the real server's order; undefined where nobody owns anything. */
export function writeManagers(managers: Managers): readonly ManagedFieldsEntry[] | undefined {
  if (managers.size === 0) return undefined;
  return [...managers.values()].sort(compareManagers).map((each) => ({
    ...(each.manager !== '' && { manager: each.manager }),
    operation: each.operation,
    apiVersion: each.apiVersion,
    ...(each.time !== undefined && { time: each.time }),
    fieldsType: 'FieldsV1',
    fieldsV1: toFieldsV1(each.fields),
    ...(each.subresource !== '' && { subresource: each.subresource }),
  }));
}

function compareManagers(one: Manager, other: Manager): number {
  return (
    compareText(one.operation, other.operation) ||
    secondsOf(one) - secondsOf(other) ||
    compareText(one.manager, other.manager) ||
    compareText(one.apiVersion, other.apiVersion) ||
    compareText(one.subresource, other.subresource)
  );
}

/** Unix time; 0 where there is none. */
export function secondsOf({ time }: Manager): number {
  return time === undefined ? 0 : Date.parse(time) / 1000;
}

export function compareText(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
