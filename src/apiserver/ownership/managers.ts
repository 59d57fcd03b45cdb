import type { ApiObject, ManagedFieldsEntry } from '../schema/api-object.ts';
import { type FieldSet, fromFieldsV1, PathElementError, toFieldsV1, union } from './field-set.ts';

/** Who changes an object, and when. */
export interface Change {
  /** The field manager: the fieldManager parameter, or the first part of the User-Agent. */
  readonly manager: string;
  /** RFC 3339, to the second. */
  readonly time: string;
  /** Absent for the main resource. */
  readonly subresource?: string;
}

/** An owner of fields: one entry of managedFields, read. */
export interface Manager {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  /** The version that the fields are those of. */
  readonly apiVersion: string;
  /** '' for the main resource. */
  readonly subresource: string;
  /** Absent for an applier that has never changed a value. */
  readonly time?: string;
  readonly fields: FieldSet;
}

/** All owners of an object, each under its {@link managerId}. */
export type Managers = ReadonlyMap<string, Manager>;

/**
 * What makes two entries those of the same manager; managers are sorted by it. An applier is one, whatever the
 * version that it applies.
 */
export function managerId({ manager, operation, apiVersion, subresource }: Omit<Manager, 'fields'>): string {
  return JSON.stringify({
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

/** Writes managedFields sorted as in a real server; undefined if no field has an owner. */
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

/** The most managers that update and are kept by name. */
const MAX_UPDATERS = 10;

/** Merges the oldest managers that update into one for each version, if there are too many. */
export function mergeAncient(managers: Managers): Managers {
  const result = new Map(managers);
  const updaters = [...managers].filter(([, { operation }]) => operation === 'Update');
  updaters.sort(
    ([id, one], [otherId, other]) => secondsOf(one) - secondsOf(other) || compareText(id, otherId),
  );
  /** The first one of each version. It is merged if there is a second. */
  const firsts = new Map<string, string>();
  let left = updaters.length;
  for (const [id, updater] of updaters) {
    if (left <= MAX_UPDATERS) break;
    const first = firsts.get(updater.apiVersion);
    if (first === undefined) {
      firsts.set(updater.apiVersion, id);
    } else {
      mergeInto(result, first, id, updater);
      left -= 1;
    }
  }
  return result;
}

function mergeInto(managers: Map<string, Manager>, first: string, id: string, updater: Manager): void {
  const { apiVersion, operation, time } = updater;
  const ancient = { manager: 'ancient-changes', operation, apiVersion, subresource: '' };
  const ancientId = managerId(ancient);
  const merged = managers.get(ancientId) ?? managers.get(first);
  if (merged === undefined) return;
  if (!managers.has(ancientId)) managers.delete(first);
  const fields = union(updater.fields, merged.fields);
  managers.set(ancientId, { ...ancient, ...(time !== undefined && { time }), fields });
  managers.delete(id);
}

/** The object with these managedFields, or with none. */
export function withManagedFields(
  object: ApiObject,
  managedFields: readonly ManagedFieldsEntry[] | undefined,
): ApiObject {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata: { ...metadata, ...(managedFields && { managedFields }) } };
}
