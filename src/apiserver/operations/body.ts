import { isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
import { messageOf } from '../../support/error-message.ts';
import { isJsonObject, type JsonObject } from '../../support/json.ts';
import { badRequest, unrecognizedBody } from '../errors/api-error.ts';
import { apiVersionOf, type ResourceDefinition } from '../kinds/definition.ts';
import type { ApiObject } from '../schema/api-object.ts';
import { type Decoded, DecodeError, decodeObject } from '../schema/decode.ts';
import { MAX_JSON_DEPTH, readJson } from '../schema/read-json.ts';
import type { FieldValidation } from './parameters.ts';
import type { OperationsContext, ResourceRequest } from './request.ts';

/**
 * Reads the object of a create or an update.
 * @throws {ApiError} 400 when it cannot be read as this kind in this version, or strictly not.
 */
export function decodeBody(
  { resources }: OperationsContext,
  request: ResourceRequest,
  validation: FieldValidation,
): ApiObject {
  const { body, contentType, definition, version } = request;
  const parsed = parseBody(body, contentType);
  const unrecognized = (problem: string) => unrecognizedBody(definition.kind, problem, body);
  if (!parsed.ok) throw unrecognized(parsed.problem);
  const value = parsed.value ?? {};
  if (!isJsonObject(value)) throw unrecognized(notAnObject(value));
  const problem = typeProblem(value);
  if (problem !== undefined) throw unrecognized(problem);
  const kind = textOr(value['kind'], definition.kind);
  const expected = apiVersionOf(definition, version);
  const apiVersion = textOr(value['apiVersion'], expected);
  const refused = (why: string) =>
    badRequest(
      `${kind} in version ${JSON.stringify(versionIn(apiVersion))} cannot be handled as a ${definition.kind}: ${why}`,
    );
  const untold = definition.isCustom ? untoldType(value) : undefined;
  if (untold !== undefined) throw validation === 'Ignore' ? refused(untold) : unrecognized(untold);
  // What a custom resource calls itself is for validation to judge.
  const isTyped = !definition.isCustom;
  if (isTyped && !isRegistered(resources, kind, apiVersion)) throw refused(notRegistered(kind, apiVersion));
  if (isTyped && kind !== definition.kind) {
    const group = definition.group.startsWith('coordination.') ? 'coordination' : 'core';
    throw refused(
      `converting (${versionIn(apiVersion)}.${kind}) to (${group}.${definition.kind}): unknown conversion`,
    );
  }
  if (apiVersion !== expected) {
    throw badRequest(
      `the API version in the data (${apiVersion}) does not match the expected API version (${expected})`,
    );
  }
  const decoded = attempt(() => decodeObject(version.schema, value), refused);
  // Nothing is known of the fields of other kinds.
  const strictProblems = kind === definition.kind ? decoded.strictProblems : [];
  const { duplicates } = parsed;
  if (validation === 'Strict') {
    const inYaml = duplicates.length > 0 ? [duplicateKeysProblem(duplicates)] : [];
    const problems = [...inYaml, ...strictProblems];
    if (problems.length > 0) throw refused(`strict decoding error: ${problems.join(', ')}`);
  }
  if (validation === 'Warn') for (const each of [...duplicates, ...strictProblems]) request.warn(each);
  return asObject(decoded.value, expected, kind);
}

/** What is wrong with the type that an object says it is of; undefined: nothing. */
export function typeProblem({ apiVersion, kind }: JsonObject): string | undefined {
  for (const [field, given] of Object.entries({ apiVersion, kind })) {
    if (given !== undefined && given !== null && typeof given !== 'string')
      return `${field} must be a string`;
  }
  const isGroupVersion = typeof apiVersion !== 'string' || apiVersion.split('/').length <= 2;
  return isGroupVersion ? undefined : `apiVersion must be group/version, not ${String(apiVersion)}`;
}

/** What is wrong with a body that is no object. */
export function notAnObject(value: unknown): string {
  return `expected an object, found ${Array.isArray(value) ? 'a list' : typeof value}`;
}

/** What is wrong with an unknown kind. */
export function notRegistered(kind: string, apiVersion: string): string {
  return `there is no kind ${JSON.stringify(kind)} in ${JSON.stringify(apiVersion)}`;
}

/** The field of its type that a custom resource lacks, as a problem; undefined: none. */
function untoldType({ apiVersion, kind }: JsonObject): string | undefined {
  const untold = isText(kind) ? (isText(apiVersion) ? undefined : 'apiVersion') : 'kind';
  return untold && `${untold} is missing`;
}

export function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/** Versions that the real server can read, though it serves them no more, or not yet. */
const ALSO_REGISTERED: readonly string[] = [
  'Lease coordination.k8s.io/v1beta1',
  'Event events.k8s.io/v1beta1',
];

/** Whether objects of this kind and version can be read, be they served or not. */
export function isRegistered(
  resources: readonly ResourceDefinition[],
  kind: string,
  apiVersion: string,
): boolean {
  return (
    ALSO_REGISTERED.includes(`${kind} ${apiVersion}`) ||
    resources.some(
      (each) =>
        each.kind === kind && each.versions.some((version) => apiVersionOf(each, version) === apiVersion),
    )
  );
}

function versionIn(apiVersion: string): string {
  return apiVersion.split('/').at(-1) ?? '';
}

/** Runs a decoder; what it cannot read becomes the error that `refused` makes of it. */
export function attempt(decode: () => Decoded, refused: (problem: string) => Error): Decoded {
  try {
    return decode();
  } catch (error) {
    if (error instanceof DecodeError) throw refused(error.message);
    throw error;
  }
}

/** A decoded value as an object of the API: whatever it said, it has metadata, and is of the kind that was asked for. */
export function asObject(value: JsonObject, apiVersion: string, kind: string): ApiObject {
  return { ...value, apiVersion, kind, metadata: (value['metadata'] ?? {}) as ApiObject['metadata'] };
}

function textOr(value: unknown, fallback: string): string {
  return isText(value) ? value : fallback;
}

/** A body as plain JSON, whatever it was written in. */
type ParsedBody =
  | {
      readonly ok: true;
      readonly value: unknown;
      /** What YAML has twice and is lost, told by line; duplicates in JSON are found when it is decoded. */
      readonly duplicates: readonly string[];
    }
  | { readonly ok: false; readonly problem: string };

/** How Kubernetes, whose YAML is that of 1.1, reads dates (as text), and what it takes for no number (`1:20`). */
const notAsYaml11 = (tag: { readonly tag: string; readonly format?: string }) =>
  tag.tag !== 'tag:yaml.org,2002:timestamp' && tag.format !== 'TIME';

/** Parses a body by its media type; anything but YAML counts as JSON, which most clients that name no type send. */
export function parseBody(body: Buffer, contentType: string): ParsedBody {
  const text = body.toString('utf8');
  if (contentType === 'application/yaml') return parseYaml(text);
  try {
    return { ok: true, value: readJson(text), duplicates: [] };
  } catch (error) {
    return { ok: false, problem: `not JSON: ${messageOf(error)}` };
  }
}

/** Parses YAML as Kubernetes does before it makes JSON of it. */
export function parseYaml(text: string): ParsedBody {
  try {
    return parseDocumentOf(text);
  } catch (error) {
    // Bad aliases, and what is nested more deeply than the library's stack allows.
    return { ok: false, problem: `yaml: ${messageOf(error)}` };
  }
}

function parseDocumentOf(text: string): ParsedBody {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    schema: 'yaml-1.1',
    customTags: (tags) => tags.filter((tag) => typeof tag === 'string' || notAsYaml11(tag)),
    uniqueKeys: false,
    lineCounter: lines,
    prettyErrors: false,
  });
  const [error] = document.errors;
  if (error)
    return { ok: false, problem: `yaml: line ${lines.linePos(error.pos[0]).line}: ${error.message}` };
  const value: unknown = document.toJS();
  if (isDeeper(value, MAX_JSON_DEPTH)) {
    return { ok: false, problem: `yaml: nested more than ${MAX_JSON_DEPTH} levels deep` };
  }
  return { ok: true, value, duplicates: duplicateKeys(document.contents, lines) };
}

/** An alias of what it is in has no end of levels. */
function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((each) => isDeeper(each, levels - 1));
}

/** Those within the value of a key come before the key itself. */
function duplicateKeys(node: unknown, lines: LineCounter): readonly string[] {
  if (isSeq(node)) return node.items.flatMap((item) => duplicateKeys(item, lines));
  if (!isMap(node)) return [];
  const keys = new Set<unknown>();
  return node.items.flatMap(({ key, value }) => {
    const within = duplicateKeys(value, lines);
    if (!isScalar(key)) return within;
    const isDuplicate = keys.has(key.value);
    keys.add(key.value);
    const { line } = lines.linePos(key.range?.[0] ?? 0);
    return isDuplicate
      ? [...within, `line ${line}: key ${JSON.stringify(String(key.value))} already set in map`]
      : within;
  });
}

/** What strict reading says of the keys that YAML has twice. */
export function duplicateKeysProblem(duplicates: readonly string[]): string {
  return `yaml: unmarshal errors:\n  ${duplicates.join('\n  ')}`;
}
