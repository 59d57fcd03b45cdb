import type { ApiObject, ManagedFieldsEntry } from '../schema/api-object.ts';
import { afterUpdate } from './manager-changes.ts';
import { type Managers, readManagers, writeManagers } from './managers.ts';
import { type Change, type Versions, withManagedFields } from './ownership.ts';
import { blankObject, schemaOf, VersionError, withinGroup } from './version-views.ts';

/** A write that is no apply: a create, a PUT or a patch of another kind. */
export interface Update {
  /** The object before, in the version of `next`; undefined: it is created. */
  readonly live: ApiObject | undefined;
  /** The object that the client wants, decoded; with the managedFields that it sent, `[]` included. */
  readonly next: ApiObject;
  readonly change: Change;
  readonly versions: Versions;
}

/**
 * The object with the managedFields that come of a write: who makes it owns what it changed, and others lose that. An
 * object that has none when it is changed gets none; nor does one of which the owned fields cannot be told any more.
 */
export function recordUpdate({ live, next, change, versions: served }: Update): ApiObject {
  const managers = managersOf(next, live, change);
  if (managers.size === 0 && live !== undefined) return withManagedFields(next, undefined);
  const versions = withinGroup(served, next.apiVersion);
  const before = live ?? blankObject(schemaOf(versions, next.apiVersion), next);
  const [from, to] = [withManagedFields(before, undefined), withManagedFields(next, undefined)];
  try {
    return withManagedFields(next, writeManagers(afterUpdate(from, to, managers, change, versions)));
  } catch (error) {
    if (error instanceof VersionError) return withManagedFields(next, undefined);
    throw error;
  }
}

/** Clients may send managedFields. Those that are not valid, or not there, are as if the old ones had been sent. */
function managersOf(next: ApiObject, live: ApiObject | undefined, { subresource = '' }: Change): Managers {
  const sent = next.metadata.managedFields ?? [];
  const old = readManagers(live?.metadata.managedFields ?? []) ?? new Map();
  if (subresource !== '') return old;
  if (isReset(next.metadata.managedFields)) return new Map();
  const managers = readManagers(sent);
  return managers === undefined || managers.size === 0 ? old : managers;
}

/** An empty list, or one with an empty entry, forgets all ownership. */
function isReset(sent: readonly ManagedFieldsEntry[] | undefined): boolean {
  if (sent === undefined || sent.length > 1) return false;
  return sent.every((entry) => Object.keys(entry).length === 0);
}
