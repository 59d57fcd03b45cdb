import { isDeepStrictEqual } from 'node:util';
import { isJsonObject, type JsonObject } from '../../support/json.ts';
import { ApiError, badRequest, plainError } from '../errors/api-error.ts';
import type { ApiObject, ManagedFieldsEntry } from '../schema/api-object.ts';
import { DecodeError } from '../schema/decode.ts';
import type { StructSchema } from '../schema/schema.ts';
import {
  difference,
  emptyFieldSet,
  type FieldSet,
  intersection,
  isEmptySet,
  pathsOf,
  pathText,
  union,
} from './field-set.ts';
import {
  type Change,
  type Manager,
  type Managers,
  managerId,
  managerOf,
  readManagers,
  withManagedFields,
  writeManagers,
} from './managers.ts';
import {
  afterChange,
  afterUpdate,
  objectChange,
  reconcileManagers,
  type Taken,
  takenFrom,
  withoutNeverOwned,
  withoutReset,
} from './ownership.ts';
import { fieldSetOf, mergeObjects, removeFields, withNamedFields } from './typed-objects.ts';
import {
  blankObject,
  checkConfiguration,
  inVersion,
  schemaOf,
  typedObject,
  VersionError,
  type Versions,
} from './versions.ts';

/** The input of a server-side apply. */
export interface Application {
  /** The object before the apply, in the version of the configuration; undefined for a create. */
  readonly live: ApiObject | undefined;
  /**
   * The parsed configuration. It is not decoded: null and empty values claim a field, and unknown fields are rejected
   * here. It has the kind and the version of the request.
   */
  readonly config: JsonObject;
  /** Whether to take fields that other managers own. */
  readonly force: boolean;
  readonly change: Change;
  readonly versions: Versions;
}

export interface Applied {
  readonly object: ApiObject;
  /** Whether anything has changed except the times of managedFields. */
  readonly hasChanged: boolean;
}

/**
 * Sets the fields of a configuration. Also removes the fields that its manager applied before, unless the configuration
 * still has them or another manager owns them.
 * @throws {ApiError} 409 without `force`, with all fields that other managers own; 400 for managedFields in the
 * configuration; 500 without a reason if the configuration does not fit its schema, as in kube-apiserver.
 */
export function applyConfiguration(application: Application): Applied {
  try {
    return apply(application);
  } catch (error) {
    throw refusalOf(error) ?? error;
  }
}

function apply({ live, config, force, change, versions }: Application): Applied {
  const { apiVersion, kind } = typeOf(config);
  const schema = schemaOf(versions, apiVersion);
  checkApplied(schema, config);
  const blank = blankObject(schema, { apiVersion, kind });
  const before = live === undefined ? blank : withManagedFields(live, undefined);

  const managers = managersOf(live, blank, change, versions);
  const applier = managerOf(change, 'Apply', apiVersion);
  const id = managerId(applier);
  const last = managers.get(id);
  const fields = withoutReset(fieldSetOf(schema, config), versions);
  const all = new Map(managers).set(id, { ...last, ...applier, fields });
  const next = prune(mergeObjects(schema, before, config), last, all, versions);
  const changes = objectChange(before, next, apiVersion, versions);
  if (!force) checkConflicts(takenFrom(all, changes, id), all);

  const isSame = live !== undefined && isDeepStrictEqual(next, before);
  const after = new Map(afterChange(all, changes, id));
  settleApplier(after, id, isSame ? undefined : change.time);
  const typed = isSame ? before : typedObject(schema, next);
  return withOwners(live, typed, after);
}

function typeOf(config: JsonObject): { apiVersion: string; kind: string } {
  return { apiVersion: String(config['apiVersion']), kind: String(config['kind']) };
}

/** @throws {ApiError} if the configuration is invalid for every object. */
function checkApplied(schema: StructSchema, config: JsonObject): void {
  const metadata = config['metadata'];
  if (isJsonObject(metadata) && Array.isArray(metadata['managedFields'])) {
    throw badRequest('metadata.managedFields must be nil');
  }
  const problem = checkConfiguration(schema, config);
  if (problem !== undefined) throw failed(problem);
}

/** @throws {ApiError} 409 if the apply would take fields from other managers. */
function checkConflicts(taken: readonly Taken[], managers: Managers): void {
  const causes = taken.flatMap(({ id, fields }) => {
    const owner = ownerText(managers.get(id));
    return pathsOf(fields).map((path) => ({
      reason: 'FieldManagerConflict',
      message: `conflict with ${owner}`,
      field: pathText(path),
    }));
  });
  if (causes.length === 0) return;
  const list = causes.map(({ message, field }) => `${message}: ${field}`).join(', ');
  const count = causes.length === 1 ? '1 conflict' : `${causes.length} conflicts`;
  throw new ApiError(409, 'Conflict', `Apply failed with ${count}: ${list}`, { causes });
}

function ownerText(manager: Manager | undefined): string {
  const { manager: name = '', operation, apiVersion = '' } = manager ?? {};
  return `${JSON.stringify(name)}${operation === 'Update' ? ` using ${apiVersion}` : ''}`;
}

/** If a live object has no managedFields, the manager `before-first-apply` owns all of its fields. */
function managersOf(
  live: ApiObject | undefined,
  blank: ApiObject,
  { time }: Change,
  versions: Versions,
): Managers {
  const managers = readManagers(live?.metadata.managedFields ?? []) ?? new Map<string, Manager>();
  if (live === undefined) return managers;
  const object = withManagedFields(live, undefined);
  if (managers.size > 0) return reconcileManagers(managers, object, versions);
  const unknown = { manager: 'before-first-apply', time };
  return afterUpdate(blank, object, managers, unknown, versions);
}

/** Removes fields that never have an owner from the applier's entry. Removes the entry if it is empty then. */
function settleApplier(managers: Map<string, Manager>, id: string, time: string | undefined): void {
  const applier = managers.get(id);
  if (applier === undefined) return;
  const fields = withoutNeverOwned(applier.fields);
  if (isEmptySet(fields)) managers.delete(id);
  else managers.set(id, { ...applier, ...(time !== undefined && { time }), fields });
}

/** Returns the error response for an error in the configuration or in the field ownership. */
function refusalOf(error: unknown): ApiError | undefined {
  return error instanceof VersionError || error instanceof DecodeError ? failed(error.message) : undefined;
}

function failed(problem: string): ApiError {
  return plainError(`the configuration cannot be applied: ${problem}`);
}

function withOwners(live: ApiObject | undefined, object: ApiObject, managers: Managers): Applied {
  const owned = withManagedFields(object, writeManagers(managers));
  const hasChanged = live === undefined || !isDeepStrictEqual(withoutTimes(owned), withoutTimes(live));
  return { object: hasChanged || live === undefined ? owned : live, hasChanged };
}

function withoutTimes(object: ApiObject): ApiObject {
  const timeless = ({ time: _, ...entry }: ManagedFieldsEntry) => entry;
  return withManagedFields(object, object.metadata.managedFields?.map(timeless));
}

/**
 * Removes a field from a merged object if the applier applied it before and no manager owns it now. `managers` already
 * contains the applier's new fields.
 */
function prune(
  merged: JsonObject,
  last: Manager | undefined,
  managers: Managers,
  versions: Versions,
): JsonObject {
  const schema = last && versions.schema(last.apiVersion);
  if (last === undefined || schema === undefined) return merged;
  const apiVersion = String(merged['apiVersion']);
  const whole = inVersion(merged, last.apiVersion, versions);
  const bare = removeFields(schema, whole, withNamedFields(schema, last.fields));
  const owned = withOwnedFields(whole, bare, ownedByVersion(managers, last.apiVersion), versions);
  const kept = inVersion(owned, last.apiVersion, versions);
  // Removes only fields that this applier owned. Keeps fields without an owner, and fields below them that
  // were never applied.
  const gone = difference(allFields(schema, whole), allFields(schema, kept));
  const pruned = removeFields(schema, whole, intersection(gone, withNamedFields(schema, last.fields)));
  return inVersion(pruned, apiVersion, versions);
}

/** Returns the owned fields by version, `first` first: conversion to other versions might need its fields. */
function ownedByVersion(managers: Managers, first: string): ReadonlyMap<string, FieldSet> {
  const owned = new Map<string, FieldSet>([[first, emptyFieldSet()]]);
  for (const { apiVersion, fields } of managers.values()) {
    owned.set(apiVersion, union(owned.get(apiVersion) ?? emptyFieldSet(), fields));
  }
  return owned;
}

/** Restores removed fields that a manager owns, version by version. */
function withOwnedFields(
  whole: JsonObject,
  bare: JsonObject,
  owned: ReadonlyMap<string, FieldSet>,
  versions: Versions,
): JsonObject {
  let result = bare;
  for (const [apiVersion, fields] of owned) {
    const schema = versions.schema(apiVersion);
    if (schema === undefined) continue;
    const all = inVersion(whole, apiVersion, versions);
    const left = inVersion(result, apiVersion, versions);
    const kept = union(allFields(schema, left), withNamedFields(schema, fields));
    result = removeFields(schema, all, difference(allFields(schema, all), kept));
  }
  return result;
}

function allFields(schema: StructSchema, object: JsonObject): FieldSet {
  return withNamedFields(schema, fieldSetOf(schema, object));
}
