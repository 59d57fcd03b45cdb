import type { ApiObject, ManagedFieldsEntry } from '../schema/api-object.ts';
import { type FieldSet, fromFieldsV1, PathElementError, toFieldsV1, union } from './field-set.ts';

/** The author and the time of a change. */
export interface Change {
  /** The fieldManager parameter, or the first part of the User-Agent. */
  readonly manager: string;
  /** RFC 3339, to the second. */
  readonly time: string;
  /** Absent for the main resource. */
  readonly subresource?: string;
}

/** An owner of fields, read from one entry of managedFields. */
export interface Manager {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  /** The version of the schema for these fields. */
  readonly apiVersion: string;
  /** '' for the main resource. */
  readonly subresource: string;
  /** Absent for an applier that has never changed a value. */
  readonly time?: string;
  readonly fields: FieldSet;
}

/** All owners of an object, each under its {@link managerId}. */
export type Managers = ReadonlyMap<string, Manager>;

/** Returns the identity of a manager. Managers are sorted by it. An applier has one identity for all versions. */
export function managerId({ manager, operation, apiVersion, subresource }: Omit<Manager, 'fields'>): string {
  return JSON.stringify({
    ...(manager !== '' && { manager }),
    operation,
    ...(operation === 'Update' && { apiVersion }),
    ...(subresource !== '' && { subresource }),
  });
}

/** Returns the manager of a change, without its fields. */
export function managerOf(
  { manager, subresource = '' }: Change,
  operation: 'Apply' | 'Update',
  apiVersion: string,
): Omit<Manager, 'fields'> {
  return { manager: manager || 'unknown', operation, apiVersion, subresource };
}

/** Parses managedFields. Returns undefined if an entry is invalid. */
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

/** Serializes managedFields, sorted as in kube-apiserver. Returns undefined if no field has an owner. */
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

/** Returns the Unix time of a manager's last change; 0 if the manager has never changed a value. */
export function secondsOf({ time }: Manager): number {
  return time === undefined ? 0 : Date.parse(time) / 1000;
}

export function compareText(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

/** Maximum number of updating managers with separate entries. */
const MAX_UPDATERS = 10;

/** If there are too many updating managers, merges the oldest ones into one entry per version. */
export function mergeAncient(managers: Managers): Managers {
  const result = new Map(managers);
  const updaters = [...managers].filter(([, { operation }]) => operation === 'Update');
  updaters.sort(
    ([id, one], [otherId, other]) => secondsOf(one) - secondsOf(other) || compareText(id, otherId),
  );
  /** The first updating manager of each version. It changes only if a second one is merged into it. */
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

/** Copies the object with these managedFields, or without any. */
export function withManagedFields(
  object: ApiObject,
  managedFields: readonly ManagedFieldsEntry[] | undefined,
): ApiObject {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata: { ...metadata, ...(managedFields && { managedFields }) } };
}
