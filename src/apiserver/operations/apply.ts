import { isJsonObject, type JsonObject } from '../../support/json.ts';
import { badRequest, conflict } from '../errors/api-error.ts';
import { apiVersionOf } from '../kinds/definition.ts';
import { applyConfiguration } from '../ownership/apply-configuration.ts';
import { jsonType } from '../patch/go-notation.ts';
import type { ApiObject } from '../schema/api-object.ts';
import type { WriteOptions } from './parameters.ts';
import { duplicateKeysProblem, parseYaml } from './parse-body.ts';
import {
  changeBy,
  liveObject,
  type ObjectReply,
  type OperationsContext,
  type ResourceRequest,
  resourceOf,
  versionsOf,
} from './request.ts';
import { inNamespaceOf, storeObject } from './store.ts';
import { checkName, warnOfDuplicateOwners, withoutDuplicateOwners } from './write.ts';

/** Server-side apply: makes the object have what the configuration in the body says. @throws {ApiError} */
export function apply(
  context: OperationsContext,
  request: ResourceRequest,
  options: WriteOptions & { readonly isForced: boolean },
): ObjectReply {
  const { definition, version, name = '' } = request;
  const live = liveObject(context, request, name);
  const { config, duplicates: repeated } = readConfiguration(request);
  const applied = applyConfiguration({
    live: live && version.fromHub(live.object),
    config,
    force: options.isForced,
    change: changeBy(context, request, options.fieldManager),
    versions: versionsOf(context, definition),
  });
  if (options.fieldValidation === 'Strict' && repeated.length > 0) {
    throw badRequest(
      `error strict decoding YAML: error converting YAML to JSON: ${duplicateKeysProblem(repeated)}`,
    );
  }
  if (options.fieldValidation === 'Warn') for (const problem of repeated) request.warn(problem);
  if (live === undefined) checkNotMeantForAnother(request, applied.object);
  const placed = inNamespaceOf(request, applied.object);
  checkName(placed, name);
  const { object: next, duplicates } = withoutDuplicateOwners(placed);
  warnOfDuplicateOwners(request, duplicates, true);
  return storeObject(context, request, next, live, options.isDryRun);
}

function readConfiguration(request: ResourceRequest): { config: JsonObject; duplicates: readonly string[] } {
  const { definition, version } = request;
  const parsed = parseYaml(request.body.toString('utf8'));
  if (!parsed.ok) throw badRequest(`error decoding YAML: error converting YAML to JSON: ${parsed.problem}`);
  const { duplicates } = parsed;
  const config = parsed.value ?? {};
  if (!isJsonObject(config)) {
    throw badRequest(
      `error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal ${jsonType(config)} into Go value of type map[string]interface {}`,
    );
  }
  checkType(config, apiVersionOf(definition, version), definition.kind);
  return { config, duplicates };
}

/** A configuration has to say what it is, and in which version. */
function checkType({ apiVersion, kind }: JsonObject, expected: string, expectedKind: string): void {
  if (apiVersion === expected && kind === expectedKind) return;
  const given = typeof apiVersion === 'string' ? apiVersion : '';
  const groupVersion = given.includes('/') ? given : `/${given}`;
  throw badRequest(`invalid object type: ${groupVersion}, Kind=${typeof kind === 'string' ? kind : ''}`);
}

/** @throws {ApiError} 409 where an object is to be created that says which existing one it means. */
function checkNotMeantForAnother(request: ResourceRequest, { metadata }: ApiObject): void {
  if (metadata.uid === undefined) return;
  throw conflict(
    resourceOf(request),
    request.name ?? '',
    `uid mismatch: the provided object specified uid ${metadata.uid}, and no existing object was found`,
  );
}
