import { isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
import { isJsonObject, type JsonObject } from '../../support/json.ts';
import { messageOf } from '../../support/text.ts';
import { type ApiError, badRequest } from '../errors/api-error.ts';
import { apiVersionOf } from '../kinds/definition.ts';
import type { ApiObject } from '../schema/api-object.ts';
import { type Decoded, DecodeError, decodeObject } from '../schema/decode.ts';
import { MAX_JSON_DEPTH, readJson } from '../schema/read-json.ts';
import type { StructSchema } from '../schema/schema.ts';
import type { FieldValidation } from './parameters.ts';
import type { ResourceRequest } from './request.ts';

/** A parsed body. */
export interface ParsedBody {
  readonly object: JsonObject;
  /** Duplicate keys in a YAML body. Empty for JSON, in which the decoder finds them. */
  readonly duplicates: readonly string[];
}

/** Parses a body in YAML or JSON. @throws {ApiError} 400 */
export function parseBody(body: Buffer, contentType: string): ParsedBody {
  const text = body.toString('utf8');
  const { value, duplicates } = contentType.endsWith('yaml') ? parseYaml(text) : parseJson(text);
  const object = value ?? {};
  if (!isJsonObject(object)) throw unreadable('it is not an object');
  for (const field of ['apiVersion', 'kind']) {
    if (typeof (object[field] ?? '') !== 'string') throw unreadable(`${field} must be a string`);
  }
  return { object, duplicates };
}

/** Reads the object of a create or an update. @throws {ApiError} 400 for another type, or if strict validation fails */
export function decodeBody(request: ResourceRequest, validation: FieldValidation): ApiObject {
  const { definition, version } = request;
  const { object, duplicates } = parseBody(request.body, request.contentType);
  const refused = (problem: string) =>
    badRequest(`the body is not a ${definition.kind} of ${expected}: ${problem}`);
  const expected = apiVersionOf(definition, version);
  // A custom resource must have apiVersion and kind. Validation checks the kind later.
  const [apiVersion, kind] = [object['apiVersion'], object['kind']];
  if (definition.isCustom && !(isText(apiVersion) && isText(kind))) {
    throw refused('apiVersion or kind is missing');
  }
  if ((apiVersion || expected) !== expected) throw refused(`its apiVersion is ${String(apiVersion)}`);
  const actualKind = isText(kind) ? kind : definition.kind;
  if (actualKind !== definition.kind && !definition.isCustom) throw refused(`it is a ${actualKind}`);
  const decoded = decodedAs(version.schema, object, refused);
  // The server does not know the fields of another kind.
  const strictProblems = actualKind === definition.kind ? decoded.strictProblems : [];
  const problems = [...duplicates, ...strictProblems];
  if (validation === 'Strict' && problems.length > 0) {
    throw refused(`strict decoding error: ${problems.join(', ')}`);
  }
  if (validation === 'Warn') for (const each of problems) request.warn(each);
  return asObject(decoded.value, expected, actualKind);
}

/** Decodes an object. @throws {ApiError} made by `refused`. */
export function decodedAs(
  schema: StructSchema,
  object: JsonObject,
  refused: (problem: string) => ApiError,
): Decoded {
  try {
    return decodeObject(schema, object);
  } catch (error) {
    throw error instanceof DecodeError ? refused(error.message) : error;
  }
}

/** Returns a decoded value as an object of this type. */
export function asObject(value: JsonObject, apiVersion: string, kind: string): ApiObject {
  return { ...value, apiVersion, kind, metadata: (value['metadata'] ?? {}) as ApiObject['metadata'] };
}

export function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

interface Parsed {
  readonly value: unknown;
  readonly duplicates: readonly string[];
}

function unreadable(problem: string): ApiError {
  return badRequest(`the body cannot be read: ${problem}`);
}

function parseJson(text: string): Parsed {
  try {
    return { value: readJson(text), duplicates: [] };
  } catch (error) {
    throw unreadable(messageOf(error));
  }
}

/** Parses YAML 1.1 as Kubernetes does: dates and `1:20` are strings. */
function parseYaml(text: string): Parsed {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    schema: 'yaml-1.1',
    customTags: (tags) =>
      tags.filter(
        (tag) =>
          typeof tag === 'string' ||
          (tag.tag !== 'tag:yaml.org,2002:timestamp' && !('format' in tag && tag.format === 'TIME')),
      ),
    uniqueKeys: false,
    lineCounter: lines,
    prettyErrors: false,
  });
  const [error] = document.errors;
  if (error) throw unreadable(`line ${lines.linePos(error.pos[0]).line}: ${error.message}`);
  const value = contentsOf(document);
  if (isDeeper(value, MAX_JSON_DEPTH)) throw unreadable(`it has more than ${MAX_JSON_DEPTH} levels`);
  return { value, duplicates: duplicateKeys(document.contents, lines) };
}

function contentsOf(document: ReturnType<typeof parseDocument>): unknown {
  try {
    return document.toJS();
  } catch (error) {
    // The document has too many aliases, an unknown alias, or too many levels for the stack.
    throw unreadable(messageOf(error));
  }
}

/** Whether a value has more levels. An alias inside its own anchor has infinitely many levels. */
function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((each) => isDeeper(each, levels - 1));
}

function duplicateKeys(node: unknown, lines: LineCounter): readonly string[] {
  if (isSeq(node)) return node.items.flatMap((item) => duplicateKeys(item, lines));
  if (!isMap(node)) return [];
  const keys = new Set<unknown>();
  return node.items.flatMap(({ key, value }) => {
    const within = duplicateKeys(value, lines);
    if (!isScalar(key)) return within;
    const isDuplicate = keys.has(key.value);
    keys.add(key.value);
    if (!isDuplicate) return within;
    const { line } = lines.linePos(key.range?.[0] ?? 0);
    return [...within, `line ${line}: key ${JSON.stringify(String(key.value))} already set in map`];
  });
}
