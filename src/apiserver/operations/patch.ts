import type { JsonObject } from '../../support/json.ts';
import { ApiError, badRequest, invalidObject, notFound } from '../errors/api-error.ts';
import { invalid } from '../errors/field-error.ts';
import { apiVersionOf } from '../kinds/definition.ts';
import { recordUpdate } from '../ownership/record-update.ts';
import { goText } from '../patch/go-notation.ts';
import { applyJsonPatch, unknownOperationFields } from '../patch/json-patch.ts';
import { applyMergePatch } from '../patch/merge-patch.ts';
import { applyStrategicMergePatch } from '../patch/strategic-merge-patch.ts';
import { decodeObject } from '../schema/decode.ts';
import { duplicateFields } from '../schema/duplicate-fields.ts';
import { goQuote } from '../schema/go-text.ts';
import { apply } from './apply.ts';
import { patchedKind } from './custom-type.ts';
import { jsonProblem } from './json-problem.ts';
import { asObject, attempt, isRegistered, notRegistered } from './object-body.ts';
import { patchOptions } from './parameters.ts';
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

/** One kind of patch: how it changes an object, and what it is called where it cannot be read. */
interface PatchKind {
  readonly apply: (document: JsonObject, patch: unknown, request: ResourceRequest) => JsonObject;
  readonly unreadable: (problem: string) => string;
  /** What the value of a result that cannot be read is shown as. */
  readonly shown: (patched: JsonObject, patch: unknown) => string;
  /** Whether the result is read anew, so that it has to be of a kind that can be. */
  readonly isTyped: boolean;
  /** What strict reading complains of in the patch itself, in which `duplicates` are given twice. */
  readonly strictProblems: (patch: unknown, duplicates: readonly string[]) => readonly string[];
}

const duplicateProblems = (_: unknown, duplicates: readonly string[]) =>
  duplicates.map((path) => `duplicate field ${goQuote(path)}`);

const kinds: Readonly<Record<string, PatchKind>> = {
  'application/json-patch+json': {
    apply: applyJsonPatch,
    unreadable: (problem) => `error decoding patch: ${problem}`,
    shown: (patched) => JSON.stringify(patched),
    isTyped: true,
    strictProblems: (patch, duplicates) => [
      ...duplicateProblems(patch, duplicates).map((problem) => `json patch ${problem}`),
      ...unknownOperationFields(patch).map((path) => `json patch unknown field ${goQuote(path)}`),
    ],
  },
  'application/merge-patch+json': {
    apply: applyMergePatch,
    unreadable: (problem) => `error decoding patch: ${problem}`,
    shown: (patched) => JSON.stringify(patched),
    isTyped: true,
    strictProblems: duplicateProblems,
  },
  'application/strategic-merge-patch+json': {
    apply: (document, patch, { version }) => applyStrategicMergePatch(version.schema, document, patch),
    unreadable: (problem) => problem,
    shown: (_, patch) => goText(patch),
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
  const { given, duplicates: repeated } = readPatch(request.body, kind);
  const patched = kind.apply(shown, given, request);
  const refused = (problem: string) =>
    invalidObject({ group: '', name: '' }, '', [invalid('patch', kind.shown(patched, given), problem)]);
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
  if (definition.isCustom) return patchedKind(patched, expected, refused);
  const { kind = definition.kind, apiVersion = expected } = patched;
  if (isTyped && !isRegistered(resources, String(kind), String(apiVersion))) {
    throw refused(notRegistered(String(kind), String(apiVersion)));
  }
  return definition.kind;
}

function readPatch(body: Buffer, kind: PatchKind): { given: unknown; duplicates: readonly string[] } {
  const text = body.toString('utf8');
  const read = parseJson(text);
  if (read === undefined) throw badRequest(kind.unreadable(jsonProblem(text)));
  return read;
}

function parseJson(text: string): ReturnType<typeof readPatch> | undefined {
  try {
    return { given: JSON.parse(text), duplicates: duplicateFields(text) };
  } catch {
    return undefined;
  }
}

function unsupported(): ApiError {
  return new ApiError(415, 'UnsupportedMediaType', '415: Unsupported Media Type', {});
}
