import { badRequest } from '../errors/api-error.ts';

/** A value that a field must have or must not have. */
export interface FieldRequirement {
  /** `metadata.name` */
  readonly field: string;
  readonly operator: '=' | '!=';
  readonly value: string;
}

/** Selects objects by some of their fields. An object must meet all requirements. */
export interface FieldSelector {
  /** Takes the selectable fields of an object. A missing field counts as ''. */
  matches(fields: Readonly<Record<string, string>>): boolean;
  /** Returns the required value of a field, if any. */
  exact(field: string): string | undefined;
}

/**
 * Parses a field selector: `field=value`, `field==value` and `field!=value`, separated by commas. In a value, `\` escapes
 * `\`, `,` and `=`. The empty selector selects everything. Does not check the names of the fields.
 * @throws {ApiError} 400
 */
export function parseFieldRequirements(text: string): readonly FieldRequirement[] {
  const terms = text.match(/(?:\\.|[^,])+/gs) ?? [];
  return terms.map((term) => {
    const parts = /^(?<field>.*?)(?<operator>!=|==|=)(?<value>.*)$/s.exec(term)?.groups;
    if (!parts) throw badRequest(`cannot parse ${JSON.stringify(term)} in the field selector`);
    const { field = '', operator, value = '' } = parts;
    return { field, operator: operator === '!=' ? '!=' : '=', value: unescaped(value) };
  });
}

/** Makes a selector for a resource with these selectable fields. @throws {ApiError} 400 for any other field. */
export function fieldSelector(
  requirements: readonly FieldRequirement[],
  supported: readonly string[],
): FieldSelector {
  const named = requirements.filter(({ field, value }) => field !== '' || value !== '');
  const unknown = named.find(({ field }) => !supported.includes(field));
  if (unknown) {
    throw badRequest(
      `the field ${JSON.stringify(unknown.field)} cannot be selected, only ${supported.join(', ')} can`,
    );
  }
  const equal = named.filter(({ operator }) => operator === '=');
  const others = named.filter(({ operator }) => operator === '!=');
  // Grouped, because a selector may exclude thousands of values of one field.
  const excluded = [...Map.groupBy(others, ({ field }) => field)].map(
    ([field, each]) => [field, new Set(each.map(({ value }) => value))] as const,
  );
  return {
    matches(fields) {
      const actual = (field: string) => (Object.hasOwn(fields, field) ? (fields[field] ?? '') : '');
      return (
        equal.every(({ field, value }) => actual(field) === value) &&
        excluded.every(([field, values]) => !values.has(actual(field)))
      );
    },
    exact: (wanted) => equal.find(({ field }) => field === wanted)?.value,
  };
}

/** @throws {ApiError} 400 */
function unescaped(value: string): string {
  const wrong = /\\(?![\\,=])|(?<!\\)=/.exec(value.replaceAll('\\\\', ''));
  if (wrong)
    throw badRequest(`${JSON.stringify(value)} in the field selector: '\\', ',' and '=' need a '\\'`);
  return value.replaceAll(/\\(.)/gs, '$1');
}
