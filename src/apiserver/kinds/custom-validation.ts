import { createRequire } from 'node:module';
import type { Environment } from '@marcbachmann/cel-js';
import { isJsonObject, type JsonObject } from '../../support/json.ts';
import { type FieldError, invalid, required, tooLong, typeInvalid } from '../errors/field-error.ts';
import type { ApiObject } from '../schema/api-object.ts';
import type { FieldSchema, StructSchema } from '../schema/schema.ts';

/** The parts of a schema property that rules need. */
export interface RuledProperty {
  readonly properties?: Readonly<Record<string, RuledProperty>>;
  readonly 'x-kubernetes-validations'?: readonly ValidationRule[];
}

/** A CEL rule. */
export interface ValidationRule {
  readonly rule: string;
  readonly message: string;
  /** The field that the rule is about: `.emulationVersion`. */
  readonly fieldPath?: string;
}

/** Returns the problems of an object that breaks rules. `old` is the object before an update. */
export type Rules = (object: ApiObject, old?: ApiObject) => readonly FieldError[];

/** Problems that prevent the evaluation of rules: a rule needs values of the right types and lengths. */
const BLOCKING: readonly FieldError['reason'][] = [
  'FieldValueRequired',
  'FieldValueTypeInvalid',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueNotSupported',
];

/** The field of a problem that concerns the whole object. */
const NO_FIELD = '<nil>';
const INT32_LIMIT = 2 ** 31;
const INT64_LIMIT = 2 ** 63;

/**
 * Checks a struct of a custom resource against its schema. Reports missing fields, wrong types and texts that are too
 * long.
 */
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

/** Returns all problems. The rules are evaluated only if no other problem prevents it. */
export function withRules(
  problems: readonly FieldError[],
  broken: () => readonly FieldError[],
): readonly FieldError[] {
  if (!problems.some(({ reason }) => BLOCKING.includes(reason))) return [...problems, ...broken()];
  return [...problems, invalid(NO_FIELD, null, 'the rules were not checked, because of the other problems')];
}

function validateValue(
  { type, maxLength }: FieldSchema,
  value: unknown,
  place: string,
): readonly FieldError[] {
  switch (type.kind) {
    case 'struct':
      // The decoder has checked the types in metadata.
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

/** kube-apiserver reports a number out of range as a problem of the object. */
function validateInteger(value: unknown, place: string): readonly FieldError[] {
  if (typeof value !== 'number') return [typeInvalid(place, typeOf(value), 'integer')];
  const outOfRange = invalid(NO_FIELD, value, `${place} must be a whole number of 32 bits`);
  if (!Number.isInteger(value) || Math.abs(value) >= INT64_LIMIT) {
    return [typeInvalid(place, typeOf(value), 'integer'), outOfRange];
  }
  return value >= -INT32_LIMIT && value < INT32_LIMIT ? [] : [outOfRange];
}

function typeOf(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
}

interface CompiledRule {
  /** The path to the value that the rule checks. */
  readonly path: readonly string[];
  /** The field in the reported problem. */
  readonly field: string;
  readonly message: string;
  readonly usesOld: boolean;
  readonly holds: (variables: JsonObject) => unknown;
}

/** Compiles the rules of a schema at the first validation, so that they do not delay the start. */
export function compileRules(schema: RuledProperty): Rules {
  let compiled: readonly CompiledRule[] | undefined;
  return (object, old) => {
    compiled ??= rulesOf(schema, celEnvironment(), []);
    return compiled
      .filter((rule) => !isKept(rule, object, old))
      .map(({ path, field, message }) => invalid(field, valueAt(object, path), message));
  };
}

/** Creates a CEL environment with the functions of Kubernetes. Loads the library late: loading takes about 20 ms. */
function celEnvironment(): Environment {
  const cel = createRequire(import.meta.url)('@marcbachmann/cel-js') as typeof import('@marcbachmann/cel-js');
  return new cel.Environment({ unlistedVariablesAreDyn: true })
    .registerFunction('string.find(string): string', (text: string, pattern: string) => {
      return new RegExp(pattern, 'u').exec(text)?.[0] ?? '';
    })
    .registerFunction('string.replace(string, string, int): string', replaceSome);
}

function replaceSome(text: string, from: string, to: string, most: bigint): string {
  const parts = text.split(from);
  const replaced = parts.slice(0, Number(most) + 1).join(to);
  return [replaced, ...parts.slice(Number(most) + 1)].join(from);
}

function rulesOf(property: RuledProperty, environment: Environment, path: readonly string[]): CompiledRule[] {
  const { properties = {}, 'x-kubernetes-validations': own = [] } = property;
  const compiled = own.map(({ rule, message, fieldPath = '' }) => ({
    path,
    field: `${path.join('.')}${fieldPath}`,
    message,
    usesOld: /\boldSelf\b/.test(rule),
    holds: environment.parse(rule) as CompiledRule['holds'],
  }));
  const below = Object.entries(properties).flatMap(([name, child]) =>
    rulesOf(child, environment, [...path, name]),
  );
  return [...compiled, ...below];
}

/** Whether an object satisfies a rule. A rule about a change is satisfied if there is no old value. */
function isKept({ path, usesOld, holds }: CompiledRule, object: ApiObject, old?: ApiObject): boolean {
  const self = celValue(valueAt(object, path));
  const oldSelf = old === undefined ? undefined : celValue(valueAt(old, path));
  if (self === undefined || (usesOld && oldSelf === undefined)) return true;
  try {
    return holds({ self, oldSelf }) === true;
  } catch {
    // kube-apiserver also rejects a value whose rule cannot be evaluated.
    return false;
  }
}

/** Converts a JSON value for CEL, in which integers are a separate type. */
function celValue(value: unknown): unknown {
  if (typeof value === 'number') return Number.isInteger(value) ? BigInt(value) : value;
  if (Array.isArray(value)) return value.map(celValue);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, celValue(each)]));
}

function valueAt(object: JsonObject, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, field) => (isJsonObject(value) ? value[field] : undefined), object);
}
