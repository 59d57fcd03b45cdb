import { isJsonObject, type JsonObject } from '../../support/json.ts';
import { type Decoded, MOST_STRICT_PROBLEMS } from './decoded.ts';
import { goQuote } from './go-text.ts';
import { joined, membersOf } from './read-json.ts';
import type { ListSchema, MapSchema, ScalarSchema, StructSchema, TypeSchema } from './schema.ts';
import { settleField, sortedMap, zeroOf } from './settle.ts';
import { decodeStructural } from './structural.ts';
import { formatTime, parseTime } from './time-text.ts';

/** A value is not of the type that its field has. The message is Go's. */
export class DecodeError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'DecodeError';
  }
}

/** Where something was found. */
interface Place {
  /** `spec.items[0].name`; '' at the root. */
  readonly path: string;
  /** The Go type that has the field. */
  readonly owner: string;
  /** The text of a number that was not written as a plain integer. */
  readonly literal?: string | undefined;
}

/** What is gathered on the way. */
interface Findings {
  readonly unknownFields: Set<string>;
  readonly strictProblems: Set<string>;
  /** The first wrong type: Go reads on, as a time that it cannot read is told rather. */
  mismatch: DecodeError | undefined;
}

const INT32_LIMIT = 2 ** 31;
const INT64_LIMIT = 2 ** 63;

/**
 * Reads a JSON value as an object of a type of the API, the way the API server does.
 * @throws {DecodeError} when a field has another type, or holds no valid time.
 */
export function decodeObject(schema: StructSchema, value: unknown): Decoded {
  return schema.isStructural && isJsonObject(value)
    ? decodeStructural(schema, value, decodeTyped)
    : decodeTyped(schema, value);
}

function decodeTyped(schema: StructSchema, value: unknown): Decoded {
  const findings: Findings = { unknownFields: new Set(), strictProblems: new Set(), mismatch: undefined };
  const decoded = isJsonObject(value)
    ? decodeStruct(schema, value, { path: '', owner: '' }, findings)
    : mismatch(schema, value, { path: '', owner: '' }, findings);
  if (findings.mismatch) throw findings.mismatch;
  const { unknownFields, strictProblems } = findings;
  return {
    value: decoded as JsonObject,
    unknownFields: [...unknownFields],
    strictProblems: [...strictProblems],
  };
}

/** Undefined: it is of another type, which has been noted. */
function decodeValue(type: TypeSchema, value: unknown, place: Place, findings: Findings): unknown {
  switch (type.kind) {
    case 'struct':
      return isJsonObject(value)
        ? decodeStruct(type, value, place, findings)
        : mismatch(type, value, place, findings);
    case 'map':
      return isJsonObject(value)
        ? decodeMap(type, value, place, findings)
        : mismatch(type, value, place, findings);
    case 'list':
      return Array.isArray(value)
        ? decodeList(type, value, place, findings)
        : mismatch(type, value, place, findings);
    case 'time':
    case 'microTime':
      return decodeTime(type.kind, value, place);
    case 'opaque':
      return value;
    default:
      return isOf(type.kind, value, place) ? asGoHasIt(value) : mismatch(type, value, place, findings);
  }
}

function decodeStruct(
  schema: StructSchema,
  value: JsonObject,
  { path }: Place,
  findings: Findings,
): JsonObject {
  const found = new Map<string, unknown>();
  const earlier = new Map<string, unknown>();
  for (const { key, value: last, literal } of membersOf(value)) {
    const field = Object.hasOwn(schema.fields, key) ? schema.fields[key] : undefined;
    const fieldPath = path === '' ? key : `${path}.${key}`;
    if (field === undefined) {
      findings.unknownFields.add(fieldPath);
      noteProblem('unknown', fieldPath, findings);
      continue;
    }
    if (found.has(key)) noteProblem('duplicate', fieldPath, findings);
    const place: Place = { path: fieldPath, owner: schema.name, literal };
    const before = earlier.get(key);
    // What is given again is read into what was there before.
    const given = isJsonObject(before) && isJsonObject(last) ? joined(before, last) : last;
    earlier.set(key, given);
    found.set(key, given === null ? undefined : decodeValue(field.type, given, place, findings));
  }
  const decoded: Record<string, unknown> = {};
  for (const name of Object.keys(schema.fields)) {
    const field = schema.fields[name];
    const settled = field && settleField(field, found.get(name));
    if (settled !== undefined) decoded[name] = settled;
  }
  return decoded;
}

function decodeMap(type: MapSchema, value: JsonObject, place: Place, findings: Findings): JsonObject {
  const found = new Map<string, unknown>();
  for (const { key, value: given } of membersOf(value)) {
    if (found.has(key)) noteProblem('duplicate', `${place.path}.${key}`, findings);
    const decoded = given === null ? zeroOf(type.values) : decodeValue(type.values, given, place, findings);
    found.set(key.toWellFormed(), decoded);
  }
  return sortedMap(found);
}

function decodeList(type: ListSchema, value: unknown[], place: Place, findings: Findings): unknown[] {
  return membersOf(value).map(({ key, value: item, literal }) => {
    if (item === null) return zeroOf(type.items);
    return decodeValue(type.items, item, { ...place, path: `${place.path}[${key}]`, literal }, findings);
  });
}

function decodeTime(kind: 'time' | 'microTime', value: unknown, place: Place): string | null {
  // Times are read by a reader of their own, which gives up at once and calls numbers by no name.
  if (typeof value !== 'string') throw new DecodeError(mismatchText(described(value), 'string', place));
  const moment = parseTime(value, kind);
  if ('problem' in moment) throw new DecodeError(moment.problem);
  return formatTime(moment, kind) ?? null;
}

/** JSON has a negative zero and halves of surrogate pairs; Go's integers and texts have not. */
function asGoHasIt(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  return value === 0 ? 0 : value;
}

function isOf(kind: ScalarSchema['kind'], value: unknown, { literal }: Place): boolean {
  switch (kind) {
    case 'string':
      return typeof value === 'string';
    case 'boolean':
      return typeof value === 'boolean';
    default: {
      if (typeof value !== 'number' || !Number.isInteger(value)) return false;
      if (literal !== undefined && !/^-?\d+$/.test(literal)) return false;
      const limit = kind === 'int32' ? INT32_LIMIT : INT64_LIMIT;
      return value >= -limit && value < limit;
    }
  }
}

function noteProblem(what: 'unknown' | 'duplicate', path: string, { strictProblems }: Findings): void {
  if (strictProblems.size < MOST_STRICT_PROBLEMS) strictProblems.add(`${what} field ${goQuote(path)}`);
}

function mismatch(type: TypeSchema, value: unknown, place: Place, findings: Findings): undefined {
  const isInteger = type.kind === 'int32' || type.kind === 'int64';
  const what =
    isInteger && typeof value === 'number' ? `number ${place.literal ?? String(value)}` : described(value);
  findings.mismatch ??= new DecodeError(mismatchText(what, goType(type), place));
  return undefined;
}

function mismatchText(what: string, wanted: string, { path, owner }: Place): string {
  const target = path === '' ? 'value' : `struct field ${owner}.${path.replaceAll(/\[\d+\]/g, '')}`;
  return `json: cannot unmarshal ${what} into Go ${target} of type ${wanted}`;
}

function described(value: unknown): string {
  if (typeof value === 'boolean') return 'bool';
  return Array.isArray(value) ? 'array' : typeof value;
}

function goType(type: TypeSchema): string {
  switch (type.kind) {
    case 'struct':
      return `${type.model.split('.').at(-2)}.${type.name}`;
    case 'map':
      return `map[string]${goType(type.values)}`;
    case 'list':
      return `[]${goType(type.items)}`;
    case 'boolean':
      return 'bool';
    case 'opaque':
    case 'time':
    case 'microTime':
      // These read themselves; they are named only as what a list or a map is of.
      return 'string';
    default:
      return type.goType ?? type.kind;
  }
}
