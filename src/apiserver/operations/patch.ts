import type { JsonObject } from '../../support/json.ts';
import { messageOf } from '../../support/text.ts';
import { ApiError, badRequest, conflict, invalidObject, notFound } from '../errors/api-error.ts';
import { invalid } from '../errors/field-error.ts';
import { apiVersionOf } from '../kinds/definition.ts';
import { applyConfiguration } from '../ownership/apply-configuration.ts';
import { recordUpdate } from '../ownership/ownership.ts';
import { applyJsonPatch, unknownOperationFields } from '../patch/json-patch.ts';
import { applyMergePatch } from '../patch/merge-patch.ts';
import { applyStrategicMergePatch } from '../patch/strategic-merge-patch.ts';
import type { ApiObject } from '../schema/api-object.ts';
import { duplicateFields } from '../schema/read-json.ts';
import { asObject, decodedAs, isText, parseBody } from './body.ts';
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
import { checkName, withoutDuplicateOwners } from './write.ts';

interface PatchKind {
  readonly apply: (document: JsonObject, patch: unknown, request: ResourceRequest) => JsonObject;
  /** Whether the patch must keep the object's apiVersion and kind. */
  readonly isTyped: boolean;
  /** Returns the problems that strict validation finds in the patch itself. */
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

/** Patches an object. @throws {ApiError} */
export function patch(context: OperationsContext, request: ResourceRequest): ObjectReply {
  if (request.contentType === APPLY) return apply(context, request, patchOptions(request.query, true));
  const kind = kinds[request.contentType];
  if (kind === undefined) throw new Error(`no patch has the type ${request.contentType}`);
  const options = patchOptions(request.query, false);
  const { definition, version, name = '' } = request;
  const live = liveObject(context, request, name);
  if (live === undefined) throw notFound(resourceOf(request), name);

  const shown = version.fromHub(live.object);
  const { given, duplicates: repeated } = readPatch(request.body);
  const patched = kind.apply(shown, given, request);
  const refused = (problem: string) =>
    invalidObject({ group: '', name: '' }, '', [invalid('patch', given, problem)]);
  const patchedAs = kindAfter(request, patched, kind, refused);
  const decoded = decodedAs(version.schema, patched, refused);
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
  const next = withoutDuplicateOwners(placed, request);
  return storeObject(context, request, next, live, options.isDryRun);
}

/** Returns the kind of the patched object. @throws {ApiError} 422 if the object is of another type. */
function kindAfter(
  { definition, version }: ResourceRequest,
  patched: JsonObject,
  { isTyped }: PatchKind,
  refused: (problem: string) => ApiError,
): string {
  const expected = apiVersionOf(definition, version);
  if (definition.isCustom) return customKindAfter(patched, expected, refused);
  const { kind = definition.kind, apiVersion = expected } = patched;
  if (isTyped && (kind !== definition.kind || apiVersion !== expected)) {
    throw refused('it changes the apiVersion or the kind');
  }
  return definition.kind;
}

/**
 * Returns the kind of a patched custom resource. Validation checks the kind later.
 * @throws {ApiError} 422 if the kind is missing or the version is wrong.
 */
function customKindAfter(
  patched: JsonObject,
  expected: string,
  refused: (problem: string) => ApiError,
): string {
  const { kind, apiVersion, metadata } = patched;
  if (!isText(kind)) throw refused('kind is missing');
  if (!isText(apiVersion)) {
    // kube-apiserver also answers 500.
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

/** Applies the configuration in the body (server-side apply). @throws {ApiError} */
function apply(
  context: OperationsContext,
  request: ResourceRequest,
  options: WriteOptions & { readonly isForced: boolean },
): ObjectReply {
  const { definition, version, name = '' } = request;
  const live = liveObject(context, request, name);
  const { object: config, duplicates } = parseBody(request.body, request.contentType);
  const [apiVersion, kind] = [apiVersionOf(definition, version), definition.kind];
  if (config['apiVersion'] !== apiVersion || config['kind'] !== kind) {
    throw badRequest(`the configuration must have apiVersion: ${apiVersion} and kind: ${kind}`);
  }
  const applied = applyConfiguration({
    live: live && version.fromHub(live.object),
    config,
    force: options.isForced,
    change: changeBy(context, request, options.fieldManager),
    versions: versionsOf(context, definition),
  });
  if (options.fieldValidation === 'Strict' && duplicates.length > 0) throw badRequest(duplicates.join(', '));
  if (options.fieldValidation === 'Warn') for (const problem of duplicates) request.warn(problem);
  if (live === undefined) checkUidAbsent(request, applied.object);
  const placed = inNamespaceOf(request, applied.object);
  checkName(placed, name);
  const next = withoutDuplicateOwners(placed, request);
  return storeObject(context, request, next, live, options.isDryRun);
}

/** @throws {ApiError} 409 if the configuration of an absent object has a uid. */
function checkUidAbsent(request: ResourceRequest, { metadata }: ApiObject): void {
  if (metadata.uid === undefined) return;
  throw conflict(
    resourceOf(request),
    request.name ?? '',
    `uid mismatch: the provided object specified uid ${metadata.uid}, and no existing object was found`,
  );
}
