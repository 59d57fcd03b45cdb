import { messageOf } from '../../support/error-message.ts';
import { isJsonObject, type JsonObject } from '../../support/json.ts';
import { ApiError, badRequest, conflict, invalidObject, notFound } from '../errors/api-error.ts';
import { invalid } from '../errors/field-error.ts';
import { apiVersionOf } from '../kinds/definition.ts';
import { applyConfiguration } from '../ownership/apply-configuration.ts';
import { recordUpdate } from '../ownership/ownership.ts';
import { applyJsonPatch, unknownOperationFields } from '../patch/json-patch.ts';
import { applyMergePatch } from '../patch/merge-patch.ts';
import { applyStrategicMergePatch } from '../patch/strategic-merge-patch.ts';
import type { ApiObject } from '../schema/api-object.ts';
import { decodeObject } from '../schema/decode.ts';
import { duplicateFields } from '../schema/read-json.ts';
import {
  asObject,
  attempt,
  duplicateKeysProblem,
  isRegistered,
  isText,
  notAnObject,
  notRegistered,
  parseYaml,
} from './body.ts';
import { patchOptions, type WriteOptions } from './parameters.ts';
import {
  asStored,
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

/** One kind of patch: how it changes an object. */
interface PatchKind {
  readonly apply: (document: JsonObject, patch: unknown, request: ResourceRequest) => JsonObject;
  /** Whether the result is read anew, so that it has to be of a kind that can be. */
  readonly isTyped: boolean;
  /** What strict reading complains of in the patch itself, in which `duplicates` are given twice. */
  readonly strictProblems: (patch: unknown, duplicates: readonly string[]) => readonly string[];
}

const duplicateProblems = (_: unknown, duplicates: readonly string[]) =>
  duplicates.map((path) => `duplicate field ${JSON.stringify(path)}`);

const kinds: Readonly<Record<string, PatchKind>> = {
  'application/json-patch+json': {
    apply: applyJsonPatch,
    isTyped: true,
    strictProblems: (patch, duplicates) => [
      ...duplicateProblems(patch, duplicates).map((problem) => `json patch ${problem}`),
      ...unknownOperationFields(patch).map((path) => `json patch unknown field ${JSON.stringify(path)}`),
    ],
  },
  'application/merge-patch+json': {
    apply: applyMergePatch,
    isTyped: true,
    strictProblems: duplicateProblems,
  },
  'application/strategic-merge-patch+json': {
    apply: (document, patch, { version }) => applyStrategicMergePatch(version.schema, document, patch),
    isTyped: false,
    strictProblems: duplicateProblems,
  },
};

const APPLY = 'application/apply-patch+yaml';

/** Changes the object that the request names by the patch in its body. @throws {ApiError} */
export function patch(context: OperationsContext, request: ResourceRequest): ObjectReply {
  if (request.contentType === APPLY) return apply(context, request, patchOptions(request.query, true));
  const kind = kinds[request.contentType];
  if (kind === undefined) throw unsupported();
  const options = patchOptions(request.query, false);
  const { definition, version, name = '' } = request;
  const live = liveObject(context, request, name);
  if (live === undefined) throw notFound(resourceOf(request), name);

  const shown = version.fromHub(live.object);
  const { given, duplicates: repeated } = readPatch(request.body);
  const patched = kind.apply(shown, given, request);
  const refused = (problem: string) =>
    invalidObject({ group: '', name: '' }, '', [invalid('patch', given, problem)]);
  const patchedAs = kindAfter(context, request, patched, kind, refused);
  const decoded = attempt(() => decodeObject(version.schema, patched), refused);
  const unread = patchedAs === definition.kind ? decoded.strictProblems : [];
  const strictProblems = [...kind.strictProblems(given, repeated), ...unread];
  if (options.fieldValidation === 'Strict' && strictProblems.length > 0) {
    throw refused(`strict decoding error: ${strictProblems.join(', ')}`);
  }
  if (options.fieldValidation === 'Warn') for (const problem of strictProblems) request.warn(problem);
  const object = asObject(decoded.value, apiVersionOf(definition, version), patchedAs);
  const recorded = recordUpdate({
    live: shown,
    next: asStored(request, object, live),
    change: changeBy(context, request, options.fieldManager),
    versions: versionsOf(context, definition),
  });
  const placed = inNamespaceOf(request, recorded);
  checkName(placed, name);
  const { object: next, duplicates } = withoutDuplicateOwners(placed);
  warnOfDuplicateOwners(request, duplicates, true);
  return storeObject(context, request, next, live, options.isDryRun);
}

/** The kind of what a patch leads to. @throws {ApiError} where there is no such kind. */
function kindAfter(
  { resources }: OperationsContext,
  { definition, version }: ResourceRequest,
  patched: JsonObject,
  { isTyped }: PatchKind,
  refused: (problem: string) => Error,
): string {
  const expected = apiVersionOf(definition, version);
  if (definition.isCustom) return customKindAfter(patched, expected, refused);
  const { kind = definition.kind, apiVersion = expected } = patched;
  if (isTyped && !isRegistered(resources, String(kind), String(apiVersion))) {
    throw refused(notRegistered(String(kind), String(apiVersion)));
  }
  return definition.kind;
}

/**
 * The kind that a patch leaves a custom resource with, which validation judges.
 * @throws {ApiError} 422 if it has none, or is of another version.
 */
function customKindAfter(patched: JsonObject, expected: string, refused: (problem: string) => Error): string {
  const { kind, apiVersion, metadata } = patched;
  if (!isText(kind)) throw refused('kind is missing');
  if (!isText(apiVersion)) {
    // As in a real server.
    throw new ApiError(500, 'InternalError', 'the patch takes away the apiVersion', { causes: [{}] });
  }
  if (apiVersion !== expected) {
    const [group = '', version] = apiVersion.split('/');
    const { name } = metadata as { readonly name: string };
    throw invalidObject({ group: version === undefined ? '' : group, name: kind }, name, [
      invalid('apiVersion', apiVersion, `must be ${expected}`),
    ]);
  }
  return kind;
}

function readPatch(body: Buffer): { given: unknown; duplicates: readonly string[] } {
  const text = body.toString('utf8');
  try {
    return { given: JSON.parse(text), duplicates: duplicateFields(text) };
  } catch (error) {
    throw badRequest(`the patch is not JSON: ${messageOf(error)}`);
  }
}

function unsupported(): ApiError {
  return new ApiError(415, 'UnsupportedMediaType', '415: Unsupported Media Type', {});
}

/** Server-side apply: makes the object have what the configuration in the body says. @throws {ApiError} */
function apply(
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
  throw badRequest(
    `expected a ${expectedKind} of ${expected}, found ${String(kind)} of ${String(apiVersion)}`,
  );
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
