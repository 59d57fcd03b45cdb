import { isJsonObject, type JsonObject } from '../../support/json.ts';
import { type FieldError, invalid, required, tooLong, typeInvalid } from '../errors/field-error.ts';
import type { FieldSchema, StructSchema } from '../schema/schema.ts';

/** What rules need that look at values: that there are any, of the right types, and not too long. */
const BLOCKING: readonly FieldError['reason'][] = [
  'FieldValueRequired',
  'FieldValueTypeInvalid',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueNotSupported',
];

const NO_FIELD = '<nil>';
const NOT_CHECKED =
  'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation';

const INT32_LIMIT = 2 ** 31;
const INT64_LIMIT = 2 ** 63;

/** What is wrong with a struct of a custom resource by its schema: what is absent, of another type, or too long. */
export function validateStructure(
  { fields }: StructSchema,
  object: JsonObject,
  path = '',
): readonly FieldError[] {
  return Object.entries(fields).flatMap(([name, field]) => {
    const place = path === '' ? name : `${path}.${name}`;
    const value = object[name];
    if (value === undefined) return field.isRequired ? [required(place)] : [];
    return validateValue(field, value, place);
  });
}

/** Everything that is wrong: rules are looked at only where nothing else keeps them from it. */
export function withRules(
  problems: readonly FieldError[],
  rules: () => readonly FieldError[],
): readonly FieldError[] {
  const isBlocked = problems.some(({ reason }) => BLOCKING.includes(reason));
  return [...problems, ...(isBlocked ? [invalid(NO_FIELD, null, NOT_CHECKED)] : rules())];
}

function validateValue(
  { type, maxLength }: FieldSchema,
  value: unknown,
  place: string,
): readonly FieldError[] {
  switch (type.kind) {
    case 'struct':
      // Metadata has been read by its types.
      if (!type.isStructural) return [];
      return isJsonObject(value)
        ? validateStructure(type, value, place)
        : [typeInvalid(place, typeOf(value), 'object')];
    case 'int32':
      return validateInteger(value, place);
    default:
      if (typeof value !== 'string') return [typeInvalid(place, typeOf(value), 'string')];
      return maxLength !== undefined && [...value].length > maxLength ? [tooLong(place, maxLength)] : [];
  }
}

/** What the real server says of numbers has little to do with the types that it was given. */
function validateInteger(value: unknown, place: string): readonly FieldError[] {
  if (typeof value !== 'number') {
    const isNamed = typeof value === 'string' || value === null || Array.isArray(value);
    return [isNamed ? typeInvalid(place, typeOf(value), 'integer') : typeInvalid(place, '', 'int32')];
  }
  const outOfRange = invalid(
    NO_FIELD,
    '',
    `Checked value must be of type integer with format int32 in ${place}`,
  );
  if (!Number.isInteger(value) || Math.abs(value) >= INT64_LIMIT) {
    return [typeInvalid(place, 'float64', 'int32'), outOfRange];
  }
  return value >= -INT32_LIMIT && value < INT32_LIMIT ? [] : [outOfRange];
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return Array.isArray(value) ? 'array' : typeof value;
}
