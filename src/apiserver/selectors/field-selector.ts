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
 * `,` and `=` in values. The empty one selects everything. `supported`: the fields that this kind can be selected by.
 *
 * @throws {ApiError} 400 in the words of the API server.
 */
export function parseFieldSelector(text: string, supported: readonly string[]): FieldSelector {
  return fieldSelector(supportedRequirements(parseFieldRequirements(text), supported));
}

/**
 * The first half of {@link parseFieldSelector}: what is written is right, but not whether this kind has such fields. The
 * API server complains of other parameters in between.
 *
 * @throws {ApiError} 400
 */
export function parseFieldRequirements(text: string): readonly FieldRequirement[] {
  // The order decides which of several faults is told.
  return terms(text)
    .toSorted()
    .filter((term) => term !== '')
    .map((term) => {
      const parts = /^(?<field>.*?)(?<operator>!=|==|=)(?<value>.*)$/s.exec(term)?.groups;
      if (!parts) throw badRequest(`invalid selector: '${text}'; can't understand '${term}'`);
      const { field = '', operator, value = '' } = parts;
      return { field, operator: operator === '!=' ? '!=' : '=', value: unescaped(value) };
    });
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

function fieldSelector(requirements: readonly FieldRequirement[]): FieldSelector {
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

/** Cuts at commas, but not at those that a backslash makes part of a value. */
function terms(text: string): readonly string[] {
  if (!text.includes('\\')) return text.split(',');
  const found = [''];
  for (const [piece] of text.matchAll(/\\.|\\$|[^\\]/gsu)) {
    if (piece === ',') found.push('');
    else found.push(`${found.pop() ?? ''}${piece}`);
  }
  return found;
}

function unescaped(value: string): string {
  if (!/[\\,=]/.test(value)) return value;
  return value.replaceAll(/\\(.?)|[,=]/gsu, (piece, escaped?: string) => {
    if (escaped === undefined) {
      throw badRequest(`invalid field selector: unescaped character in value: ${piece.codePointAt(0)}`);
    }
    if (escaped === '' || !'\\,='.includes(escaped)) {
      throw badRequest(`invalid field selector: invalid escape sequence: ${piece}`);
    }
    return escaped;
  });
}
