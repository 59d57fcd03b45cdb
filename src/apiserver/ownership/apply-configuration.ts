import { isDeepStrictEqual } from 'node:util';
import { isJsonObject, type JsonObject } from '../../support/json.ts';
import { type ApiError, badRequest } from '../errors/api-error.ts';
import { ConversionError } from '../patch/from-unstructured.ts';
import { failed } from '../patch/patch-problems.ts';
import type { ApiObject, ManagedFieldsEntry } from '../schema/api-object.ts';
import { DecodeError } from '../schema/decode.ts';
import type { StructSchema } from '../schema/schema.ts';
import { applyConflict, type Conflict, conflictsOf } from './apply-conflicts.ts';
import { emptyFieldSet, type FieldSet, hasPath, isEmptySet } from './field-set.ts';
import { lastAppliedFields, withLastApplied } from './last-applied.ts';
import {
  afterChange,
  afterUpdate,
  objectChange,
  reconcileManagers,
  takenFrom,
  withoutNeverOwned,
  withoutReset,
} from './manager-changes.ts';
import {
  type Manager,
  type Managers,
  managerId,
  managerOf,
  readManagers,
  writeManagers,
} from './managers.ts';
import { mergeObjects } from './merged-objects.ts';
import { type Change, type Versions, withManagedFields } from './ownership.ts';
import { prune } from './pruning.ts';
import { checkConfiguration } from './typed-check.ts';
import { fieldSetOf } from './typed-fields.ts';
import { blankObject, schemaOf, typedObject, VersionError, withinGroup } from './version-views.ts';

/** What somebody wants to be in an object. */
export interface Application {
  /** The object before, in the version of the configuration; undefined: it is created. */
  readonly live: ApiObject | undefined;
  /**
   * As it was parsed, not decoded: null and empty values say that a field is wanted, and unknown fields are refused here.
   * It is of the kind and version of the request.
   */
  readonly config: JsonObject;
  /** Whether fields are taken from those who own them. */
  readonly force: boolean;
  readonly change: Change;
  readonly versions: Versions;
}

/** What an apply comes to. */
export interface Applied {
  readonly object: ApiObject;
  /** Whether there is more to write than times of managedFields. */
  readonly hasChanged: boolean;
}

/** `kubectl apply --server-side` is known by this name. */
const KUBECTL = 'kubectl';

/**
 * Makes an object have what a configuration says, and no longer what it said the last time and nobody else wants.
 * @throws {ApiError} 409 with every field that others own and `force` would take; 400 for managedFields in the
 * configuration; 500 without a reason where it does not fit its schema, as the real server.
 */
export function applyConfiguration(application: Application): Applied {
  try {
    return apply(application);
  } catch (error) {
    throw refusalOf(error, application.config) ?? error;
  }
}

function apply({ live, config, force, change, versions: served }: Application): Applied {
  const { apiVersion, kind } = typeOf(config);
  const versions = withinGroup(served, apiVersion);
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
  const conflicts = force ? [] : conflictsOf(takenFrom(all, changes, id), all);
  checkConflicts(conflicts, change.manager === KUBECTL ? lastAppliedFields(schema, before) : emptyFieldSet());

  const isSame = live !== undefined && isDeepStrictEqual(next, before);
  const after = new Map(afterChange(all, changes, id));
  settleApplier(after, id, isSame ? undefined : change.time);
  const typed = isSame ? before : typedObject(schema, next);
  return withOwners(live, change.manager === KUBECTL ? withLastApplied(typed, config) : typed, after);
}

function typeOf(config: JsonObject): { apiVersion: string; kind: string } {
  return { apiVersion: String(config['apiVersion']), kind: String(config['kind']) };
}

/** @throws {ApiError} where the configuration cannot be applied to whatever object. */
function checkApplied(schema: StructSchema, config: JsonObject): void {
  const metadata = config['metadata'];
  if (isJsonObject(metadata) && Array.isArray(metadata['managedFields'])) {
    throw badRequest('metadata.managedFields must be nil');
  }
  const problem = checkConfiguration(schema, config);
  if (problem === undefined) return;
  throw failed(`failed to create typed patch object (${nameOf(config)}): ${problem}`);
}

/** @throws {ApiError} where fields are taken from others that may not be. */
function checkConflicts(conflicts: readonly Conflict[], allowed: FieldSet): void {
  const refused = conflicts.filter(({ path }) => !hasPath(allowed, path));
  if (refused.length > 0) throw applyConflict(refused);
}

/** An object of which nobody has said who owns what is somebody's that comes before the first applier. */
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

/** The applier's own entry: without what nobody owns, and gone if that is all. */
function settleApplier(managers: Map<string, Manager>, id: string, time: string | undefined): void {
  const applier = managers.get(id);
  if (applier === undefined) return;
  const fields = withoutNeverOwned(applier.fields);
  if (isEmptySet(fields)) managers.delete(id);
  else managers.set(id, { ...applier, ...(time !== undefined && { time }), fields });
}

/** What is answered to an error that is about the configuration, or about who owns what. */
function refusalOf(error: unknown, config: JsonObject): ApiError | undefined {
  if (error instanceof VersionError) return failed(error.message);
  if (!(error instanceof ConversionError || error instanceof DecodeError)) return undefined;
  return failed(
    `failed to convert new object (${nameOf(config)}) to proper version: unable to convert unstructured object to ${typeName(config)}: ${error.message}`,
  );
}

/** `default/some-lease; coordination.k8s.io/v1, Kind=Lease`, by what the configuration itself says. */
function nameOf(config: JsonObject): string {
  const metadata = isJsonObject(config['metadata']) ? config['metadata'] : {};
  const [namespace, name] = [metadata['namespace'], metadata['name']].map((each) =>
    typeof each === 'string' ? each : '',
  );
  return `${namespace}/${name}; ${typeName(config)}`;
}

function typeName(config: JsonObject): string {
  const { apiVersion, kind } = typeOf(config);
  return `${apiVersion.includes('/') ? '' : '/'}${apiVersion}, Kind=${kind}`;
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
