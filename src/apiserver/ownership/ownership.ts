import type { JsonObject } from '../../support/json.ts';
import type { ApiObject, ManagedFieldsEntry } from '../schema/api-object.ts';
import type { StructSchema } from '../schema/schema.ts';
import {
  difference,
  type FieldSet,
  fieldElement,
  fieldSetOfPaths,
  intersection,
  isEmptySet,
  union,
} from './field-set.ts';
import {
  type Change,
  compareText,
  type Manager,
  type Managers,
  managerId,
  managerOf,
  mergeAncient,
  readManagers,
  withManagedFields,
  writeManagers,
} from './managers.ts';
import { type Comparison, compareObjects, withAtomicFields } from './typed-objects.ts';
import { blankObject, inVersion, schemaOf, VersionError, type Versions } from './versions.ts';

/** A write other than apply: a create, a PUT or a patch of another kind. */
export interface Update {
  /** The object before the write, in the version of `next`; undefined for a create. */
  readonly live: ApiObject | undefined;
  /** The decoded object from the client, with the client's managedFields, even if they are `[]`. */
  readonly next: ApiObject;
  readonly change: Change;
  readonly versions: Versions;
}

/**
 * Returns the object with its managedFields after a write. The writer owns the fields that it changed, and other managers
 * lose them. An existing object without managedFields stays without them. An object that cannot be converted to a
 * manager's version loses its managedFields.
 */
export function recordUpdate({ live, next, change, versions }: Update): ApiObject {
  const managers = managersOf(next, live, change);
  if (managers.size === 0 && live !== undefined) return withManagedFields(next, undefined);
  const before = live ?? blankObject(schemaOf(versions, next.apiVersion), next);
  const [from, to] = [withManagedFields(before, undefined), withManagedFields(next, undefined)];
  try {
    return withManagedFields(next, writeManagers(afterUpdate(from, to, managers, change, versions)));
  } catch (error) {
    if (error instanceof VersionError) return withManagedFields(next, undefined);
    throw error;
  }
}

/**
 * Returns the managers before the write. Clients may send managedFields. If they are absent or invalid, the old ones
 * stay.
 */
function managersOf(next: ApiObject, live: ApiObject | undefined, { subresource = '' }: Change): Managers {
  const sent = next.metadata.managedFields ?? [];
  const old = readManagers(live?.metadata.managedFields ?? []) ?? new Map();
  if (subresource !== '') return old;
  if (isReset(next.metadata.managedFields)) return new Map();
  const managers = readManagers(sent);
  return managers === undefined || managers.size === 0 ? old : managers;
}

/** Whether a client resets all ownership: it sends an empty list, or a list with one empty entry. */
function isReset(sent: readonly ManagedFieldsEntry[] | undefined): boolean {
  if (sent === undefined || sent.length > 1) return false;
  return sent.every((entry) => Object.keys(entry).length === 0);
}

/** Fields without an owner: the server sets them, or they identify the object. */
const NEVER_OWNED = fieldSetOfPaths(
  [
    ['apiVersion'],
    ['kind'],
    ['metadata'],
    ['metadata', 'name'],
    ['metadata', 'namespace'],
    ['metadata', 'creationTimestamp'],
    ['metadata', 'selfLink'],
    ['metadata', 'uid'],
    ['metadata', 'clusterName'],
    ['metadata', 'generation'],
    ['metadata', 'managedFields'],
    ['metadata', 'resourceVersion'],
  ].map((path) => path.map(fieldElement)),
);

/** The change of an object by a write, computed in each API version that a manager uses. */
export interface ObjectChange {
  /** In the version of the write. */
  readonly own: Comparison;
  /** Undefined for a version that is no longer served. */
  comparison(apiVersion: string): Comparison | undefined;
}

/** The fields that a write would take from a manager. */
export interface Taken {
  readonly id: string;
  readonly fields: FieldSet;
}

/** Compares an object before and after a write. Both states have the same version. */
export function objectChange(
  live: JsonObject,
  next: JsonObject,
  apiVersion: string,
  versions: Versions,
): ObjectChange {
  const found = new Map<string, Comparison>();
  const compareIn = (version: string, schema: StructSchema) => {
    const [from, to] = [inVersion(live, version, versions), inVersion(next, version, versions)];
    const comparison = withoutResetFields(compareObjects(schema, from, to), versions);
    found.set(version, comparison);
    return comparison;
  };
  return {
    own: compareIn(apiVersion, schemaOf(versions, apiVersion)),
    comparison(version) {
      const schema = versions.schema(version);
      return found.get(version) ?? (schema && compareIn(version, schema));
    },
  };
}

function withoutResetFields(comparison: Comparison, versions: Versions): Comparison {
  return {
    added: withoutReset(comparison.added, versions),
    modified: withoutReset(comparison.modified, versions),
    removed: withoutReset(comparison.removed, versions),
  };
}

/** Returns the set without the `resetFields` and the fields below them. */
export function withoutReset(set: FieldSet, { resetFields = [] }: Versions): FieldSet {
  const reset = new Set(resetFields.map(fieldElement));
  return {
    members: new Set([...set.members].filter((element) => !reset.has(element))),
    children: new Map([...set.children].filter(([element]) => !reset.has(element))),
  };
}

/** Returns the set without the fields that never have an owner. */
export function withoutNeverOwned(set: FieldSet): FieldSet {
  return difference(set, NEVER_OWNED);
}

/**
 * Returns the managers whose version is still served, with their fields adapted to the current schema.
 * @throws {VersionError} if the object cannot be converted to one of these versions.
 */
export function reconcileManagers(managers: Managers, live: ApiObject, versions: Versions): Managers {
  const reconciled = new Map<string, Manager>();
  for (const [id, manager] of managers) {
    const { apiVersion, fields } = manager;
    if (apiVersion.split('/').length > 2) {
      throw new VersionError(`unexpected GroupVersion string: ${apiVersion}`);
    }
    const schema = versions.schema(apiVersion);
    if (schema === undefined) continue;
    inVersion(live, apiVersion, versions);
    reconciled.set(id, { ...manager, fields: withAtomicFields(schema, fields) });
  }
  return reconciled;
}

/** Returns the fields that a change takes from managers other than `id`, sorted by manager id. */
export function takenFrom(managers: Managers, change: ObjectChange, id: string): readonly Taken[] {
  const taken: Taken[] = [];
  for (const [each, { apiVersion, fields }] of managers) {
    const comparison = change.comparison(apiVersion);
    if (each === id || comparison === undefined) continue;
    const set = intersection(fields, union(comparison.modified, comparison.added));
    if (!isEmptySet(set)) taken.push({ id: each, fields: set });
  }
  return taken.sort((one, other) => compareText(one.id, other.id));
}

/** Returns the managers after a change. Managers other than `id` lose all changed fields. Drops empty managers. */
export function afterChange(managers: Managers, change: ObjectChange, id?: string): Managers {
  const left = new Map<string, Manager>();
  for (const [each, manager] of managers) {
    const comparison = change.comparison(manager.apiVersion);
    if (comparison === undefined) continue;
    const { added, modified, removed } = comparison;
    const lost = union(union(added, modified), removed);
    const fields = each === id ? manager.fields : difference(manager.fields, lost);
    if (!isEmptySet(fields)) left.set(each, { ...manager, fields });
  }
  return left;
}

/** Returns the managers after a write other than apply. The writer owns its changes. @throws {VersionError} */
export function afterUpdate(
  live: ApiObject,
  next: ApiObject,
  managers: Managers,
  by: Change,
  versions: Versions,
): Managers {
  const change = objectChange(live, next, next.apiVersion, versions);
  const fields = withoutNeverOwned(union(change.own.modified, change.own.added));
  const result = new Map(afterChange(reconcileManagers(managers, live, versions), change));
  if (!isEmptySet(fields)) {
    const updater = managerOf(by, 'Update', next.apiVersion);
    const id = managerId(updater);
    const before = result.get(id)?.fields;
    result.set(id, {
      ...updater,
      time: by.time,
      fields: before === undefined ? fields : union(fields, before),
    });
  }
  return mergeAncient(result);
}
