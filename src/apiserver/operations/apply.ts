import { isJsonObject, type JsonObject } from '../../support/json.ts';
import { badRequest, conflict } from '../errors/api-error.ts';
import { apiVersionOf } from '../kinds/definition.ts';
import { applyConfiguration } from '../ownership/apply-configuration.ts';
import type { ApiObject } from '../schema/api-object.ts';
import { changeBy, liveObject, type OperationsContext, resourceOf, versionsOf } from './context.ts';
import { notAnObject } from './object-body.ts';
import { warnOfDuplicateOwners, withoutDuplicateOwners } from './owner-references.ts';
import type { WriteOptions } from './parameters.ts';
import { duplicateKeysProblem, parseYaml } from './parse-body.ts';
import type { ObjectReply, ResourceRequest } from './resource-request.ts';
import { inNamespaceOf } from './store-new.ts';
import { storeObject } from './store-object.ts';
import { checkName } from './update.ts';

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
    throw badRequest(`the configuration cannot be read: ${duplicateKeysProblem(repeated)}`);
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
  if (!parsed.ok) throw badRequest(`the configuration cannot be read: ${parsed.problem}`);
  const { duplicates } = parsed;
  const config = parsed.value ?? {};
  if (!isJsonObject(config)) {
    throw badRequest(`the configuration cannot be read: ${notAnObject(config)}`);
  }
  checkType(config, apiVersionOf(definition, version), definition.kind);
  return { config, duplicates };
}

/** A configuration has to say what it is, and in which version. */
function checkType({ apiVersion, kind }: JsonObject, expected: string, expectedKind: string): void {
  if (apiVersion === expected && kind === expectedKind) return;
  throw badRequest(`expected a ${expectedKind} of ${expected}, found ${String(kind)} of ${String(apiVersion)}`);
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
