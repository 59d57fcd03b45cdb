import { isJsonObject, type JsonObject } from '../../support/json.ts';
import type { ScalarSchema, StructSchema, TypeSchema } from '../schema/schema.ts';
import { parseTime } from '../schema/time-text.ts';
import { goKind, goType, jsonType } from './go-notation.ts';

/** A value is not of the type that its field has; the message is the real server's. */
export class ConversionError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ConversionError';
  }
}

/**
 * Reads an object that was merged as plain JSON into its type, as the real server does after a strategic merge patch or an
 * apply: not as strictly as JSON is read, and with other messages. A number that does not fit loses its upper bits.
 * @throws {ConversionError} at the first value of a wrong type.
 */
export function fromUnstructured(schema: StructSchema, object: JsonObject): JsonObject {
  const result: Record<string, unknown> = { ...object };
  for (const [name, { type }] of Object.entries(schema.fields)) {
    if (Object.hasOwn(object, name)) result[name] = convert(type, object[name]);
  }
  return result;
}

function convert(type: TypeSchema, value: unknown): unknown {
  if (value === null) return value;
  switch (type.kind) {
    case 'struct':
      if (!isJsonObject(value)) throw new ConversionError(`cannot restore struct from: ${goKind(value)}`);
      return fromUnstructured(type, value);
    case 'map':
      if (!isJsonObject(value)) throw new ConversionError(`cannot restore map from ${goKind(value)}`);
      return Object.fromEntries(
        Object.entries(value).map(([key, each]) => [key, convert(type.values, each)]),
      );
    case 'list':
      if (!Array.isArray(value)) throw new ConversionError(`cannot restore slice from ${goKind(value)}`);
      return value.map((each) => convert(type.items, each));
    case 'opaque':
      return value;
    case 'time':
    case 'microTime':
      return checkTime(type.kind, value);
    default:
      return convertScalar(type, value);
  }
}

function checkTime(kind: 'time' | 'microTime', value: unknown): unknown {
  if (typeof value !== 'string') {
    throw new ConversionError(`json: cannot unmarshal ${jsonType(value)} into Go value of type string`);
  }
  const moment = parseTime(value, kind);
  if ('problem' in moment) throw new ConversionError(moment.problem);
  return value;
}

function convertScalar({ kind, goType: name = kind }: ScalarSchema, value: unknown): unknown {
  if (typeof value === kind) return value;
  if (kind !== 'int32' && kind !== 'int64') {
    // Go could make a character of a whole number, so that this one is refused in other words.
    const isWhole = kind === 'string' && goType(value) === 'int64';
    throw new ConversionError(
      isWhole
        ? `cannot convert int64 to ${name}`
        : `unrecognized type: ${kind === 'boolean' ? 'bool' : kind}`,
    );
  }
  if (typeof value !== 'number') throw new ConversionError(`unrecognized type: ${kind}`);
  if (!Number.isInteger(value)) throw new ConversionError(`cannot convert float64 to ${name}`);
  return Number(BigInt.asIntN(kind === 'int32' ? 32 : 64, BigInt(value)));
}
