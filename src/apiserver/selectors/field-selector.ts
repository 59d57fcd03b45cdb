import { type Steps, sortInSteps } from '../../support/event-loop.ts';
import { badRequest } from '../errors/api-error.ts';
import { goQuote } from '../schema/go-text.ts';

/** What a field of an object has to be, or not to be. */
export interface FieldRequirement {
  /** As the client wrote it: `metadata.name`. */
  readonly field: string;
  readonly operator: '=' | '!=';
  readonly value: string;
}

/** Which objects are meant, by the values of some of their fields: those that meet all requirements. */
export interface FieldSelector {
  readonly requirements: readonly FieldRequirement[];
  /** Takes the object's selectable fields. One that is missing counts as ''. */
  matches(fields: Readonly<Record<string, string>>): boolean;
  /** The value that a field has to have, where that is required. */
  exact(field: string): string | undefined;
}

/** The fields that can be selected by in every kind that says nothing about it. */
const defaultFields = ['metadata.name', 'metadata.namespace'];

/**
 * Reads a field selector: `field=value`, `field==value` or `field!=value`, several separated by commas; `\` before `\`,
 * `,` and `=` in values. The empty one selects everything. What is written is right then, but perhaps not such that this
 * kind has the fields ({@link fieldSelector}): the API server complains of other parameters in between.
 *
 * @throws {ApiError} 400 in the words of the API server.
 */
export function* parseFieldRequirements(text: string): Steps<readonly FieldRequirement[]> {
  const requirements: FieldRequirement[] = [];
  // The order decides which of several faults is told.
  for (const term of yield* sortInSteps(yield* terms(text))) {
    yield;
    const parts = /^(?<field>.*?)(?<operator>!=|==|=)(?<value>.*)$/s.exec(term)?.groups;
    if (!parts) throw badRequest(`invalid selector: '${text}'; can't understand '${term}'`);
    const { field = '', operator, value = '' } = parts;
    requirements.push({ field, operator: operator === '!=' ? '!=' : '=', value: unescaped(value) });
  }
  return requirements;
}

/** A selector for a kind that can be selected by these fields. @throws {ApiError} 400 */
export function fieldSelector(
  requirements: readonly FieldRequirement[],
  supported: readonly string[],
): FieldSelector {
  return selectorOf(supportedRequirements(requirements, supported));
}

function supportedRequirements(
  requirements: readonly FieldRequirement[],
  supported: readonly string[],
): readonly FieldRequirement[] {
  const named = requirements.filter(({ field, value }) => field !== '' || value !== '');
  const unknown = named.find(({ field }) => !supported.includes(field));
  if (unknown) throw badRequest(unsupported(unknown.field, supported));
  return named;
}

function selectorOf(requirements: readonly FieldRequirement[]): FieldSelector {
  const values = new Map<string, { readonly equal: Set<string>; readonly other: Set<string> }>();
  for (const { field, operator, value } of requirements) {
    const { equal, other } = values.get(field) ?? { equal: new Set(), other: new Set() };
    (operator === '=' ? equal : other).add(value);
    values.set(field, { equal, other });
  }
  return {
    requirements,
    matches: (fields) =>
      [...values].every(([field, { equal, other }]) => {
        const actual = Object.hasOwn(fields, field) ? (fields[field] ?? '') : '';
        return !other.has(actual) && equal.size < 2 && (equal.size === 0 || equal.has(actual));
      }),
    exact: (wanted) =>
      requirements.find(({ field, operator }) => field === wanted && operator === '=')?.value,
  };
}

/** Kinds with a list of their own are worded otherwise than those without. */
function unsupported(field: string, supported: readonly string[]): string {
  const isDefault =
    supported.length === defaultFields.length && defaultFields.every((each) => supported.includes(each));
  if (!isDefault) return `field label not supported: ${field}`;
  return `${goQuote(field)} is not a known field selector: only ${defaultFields.map(goQuote).join(', ')}`;
}

/** So many characters are looked at in one step. */
const AT_ONCE = 4096;

/** Cuts at commas, but not at those that a backslash makes part of a value. What is empty is left out. */
function* terms(text: string): Steps<readonly string[]> {
  const found: string[] = [];
  let start = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (at % AT_ONCE === 0) yield;
    if (text[at] === '\\') at += 1;
    else if (text[at] === ',') {
      if (at > start) found.push(text.slice(start, at));
      start = at + 1;
    }
  }
  if (start < text.length) found.push(text.slice(start));
  return found;
}

function unescaped(value: string): string {
  if (!/[\\,=]/.test(value)) return value;
  const pieces: string[] = [];
  let start = 0;
  for (let at = 0; at < value.length; at += 1) {
    const character = value[at];
    if (character === ',' || character === '=') {
      throw badRequest(`invalid field selector: unescaped character in value: ${value.codePointAt(at)}`);
    }
    if (character !== '\\') continue;
    const escaped = value.codePointAt(at + 1);
    const text = escaped === undefined ? '' : String.fromCodePoint(escaped);
    if (text === '' || !'\\,='.includes(text)) {
      throw badRequest(`invalid field selector: invalid escape sequence: \\${text}`);
    }
    pieces.push(value.slice(start, at), text);
    at += 1;
    start = at + 1;
  }
  return `${pieces.join('')}${value.slice(start)}`;
}
