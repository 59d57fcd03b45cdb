import { parse as parseYaml } from 'yaml';
import { isJsonObject, type JsonObject } from '../../kubernetes/json.ts';
import { badRequest } from '../api-error.ts';
import type { ApiObject } from '../api-object.ts';
import type { ResourceRequest } from '../http/request.ts';
import type { ResourceDefinition, VersionDefinition } from '../resources/definition.ts';
import { type Decoded, DecodeError, decodeObject } from '../schema/decode.ts';
import { goQuote } from '../schema/go-text.ts';
import { readJson } from '../schema/read-json.ts';
import { jsonProblem } from './json-problem.ts';
import type { FieldValidation } from './parameters.ts';

/** A body as plain JSON, whatever it was written in. */
export type ParsedBody =
  | {
      readonly ok: true;
      readonly value: unknown;
      /** What was given twice and is lost; those of JSON are found when it is decoded. */
      readonly duplicates: readonly string[];
    }
  | { readonly ok: false; readonly problem: string };

/** An object that a client sent, in the version that it was sent in. */
export interface DecodedBody {
  readonly object: ApiObject;
  readonly warnings: readonly string[];
}

const YAML = 'application/yaml';
const SUMMARY_LENGTH = 30;
const ANY_OBJECT =
  'json: cannot unmarshal %s into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';

/** Parses a body by its media type; anything but YAML counts as JSON, which most clients that name no type send. */
export function parseBody(body: Buffer, contentType: string): ParsedBody {
  const text = body.toString('utf8');
  return contentType === YAML ? parseYamlBody(text) : parseJsonBody(text);
}

function parseJsonBody(text: string): ParsedBody {
  try {
    return { ok: true, value: readJson(text), duplicates: [] };
  } catch {
    return { ok: false, problem: `couldn't get version/kind; json parse error: ${jsonProblem(text)}` };
  }
}

/** YAML is converted to JSON first; its duplicate keys are told by line, as the real server's YAML reader does. */
export function parseYamlBody(text: string): ParsedBody {
  try {
    const value: unknown = parseYaml(text, { uniqueKeys: false, logLevel: 'silent' });
    const duplicates: string[] = [];
    try {
      parseYaml(text, { uniqueKeys: true, logLevel: 'silent' });
    } catch (error) {
      duplicates.push(error instanceof Error ? error.message : String(error));
    }
    return { ok: true, value, duplicates };
  } catch (error) {
    return { ok: false, problem: `error converting YAML to JSON: yaml: ${(error as Error).message}` };
  }
}

/**
 * Reads the object of a create or an update.
 * @throws {ApiError} 400 when it cannot be read as this kind in this version, or strictly not.
 */
export function decodeBody(request: ResourceRequest, validation: FieldValidation): DecodedBody {
  const { body, contentType, definition, version } = request;
  const parsed = parseBody(body, contentType);
  const unrecognized = (problem: string) =>
    badRequest(
      `the object provided is unrecognized (must be of type ${definition.kind}): ${problem} (${summary(body)})`,
    );
  if (!parsed.ok) throw unrecognized(parsed.problem);
  const { value } = parsed;
  if (value !== null && !isJsonObject(value)) {
    throw unrecognized(
      `couldn't get version/kind; json parse error: ${ANY_OBJECT.replace('%s', jsonType(value))}`,
    );
  }
  const given = value ?? {};
  const kind = textOr(given['kind'], definition.kind);
  const apiVersion = textOr(given['apiVersion'], apiVersionOf(definition, version));
  const refused = (problem: string) =>
    badRequest(
      `${kind} in version ${goQuote(apiVersion.split('/').at(-1) ?? '')} cannot be handled as a ${definition.kind}: ${problem}`,
    );
  if (kind !== definition.kind) {
    throw refused(
      `no kind ${goQuote(kind)} is registered for version ${goQuote(apiVersion)} in scheme "pkg/api/legacyscheme/scheme.go:30"`,
    );
  }
  const expected = apiVersionOf(definition, version);
  if (apiVersion !== expected) {
    throw badRequest(
      `the API version in the data (${apiVersion}) does not match the expected API version (${expected})`,
    );
  }
  return decodeAs(version, given, { expected, kind, validation, duplicates: parsed.duplicates, refused });
}

interface DecodeContext {
  readonly expected: string;
  readonly kind: string;
  readonly validation: FieldValidation;
  readonly duplicates: readonly string[];
  readonly refused: (problem: string) => Error;
}

function decodeAs(version: VersionDefinition, given: JsonObject, context: DecodeContext): DecodedBody {
  const { validation, refused } = context;
  const decoded = attempt(() => decodeObject(version.schema, given), refused);
  const strictProblems = [...context.duplicates, ...decoded.strictProblems];
  if (validation === 'Strict' && strictProblems.length > 0) {
    throw refused(`strict decoding error: ${strictProblems.join(', ')}`);
  }
  return {
    object: asObject(decoded.value, context.expected, context.kind),
    warnings: validation === 'Warn' ? strictProblems : [],
  };
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

/** `v1`, `coordination.k8s.io/v1`. */
export function apiVersionOf({ group }: ResourceDefinition, { version }: VersionDefinition): string {
  return group === '' ? version : `${group}/${version}`;
}

function textOr(value: unknown, fallback: string): string {
  return typeof value === 'string' && value !== '' ? value : fallback;
}

function jsonType(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  return typeof value === 'boolean' ? 'bool' : typeof value;
}

function summary(body: Buffer): string {
  if (body.length === 0) return '<empty>';
  const shown = body[0] === 0x7b ? body.toString('utf8') : body.toString('hex');
  const limit = body[0] === 0x7b ? SUMMARY_LENGTH : SUMMARY_LENGTH * 2;
  return body.length > SUMMARY_LENGTH ? `${shown.slice(0, limit)} ...` : shown;
}
