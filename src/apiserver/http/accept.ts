/** One clause of an Accept header: `application/json;as=Table;v=v1;q=0.9`. */
export interface AcceptClause {
  readonly type: string;
  readonly subtype: string;
  readonly quality: number;
  /** All parameters but `q`. */
  readonly parameters: readonly (readonly [name: string, value: string])[];
}

/** Sorting is quadratic. */
const MOST_CLAUSES = 100;

/** The clauses of an Accept header, the most wanted first; those that make no sense are left out. */
export function parseAccept(header: string): readonly AcceptClause[] {
  const clauses: AcceptClause[] = [];
  for (const part of header.split(',', MOST_CLAUSES)) {
    const clause = parseClause(part);
    if (clause === undefined) continue;
    // Sorted by insertion: the order is none that a sort could rely on, as a wildcard may come before what it follows.
    let index = clauses.length;
    for (let before = clauses[index - 1]; before && precedes(clause, before); before = clauses[index - 1]) {
      index -= 1;
    }
    clauses.splice(index, 0, clause);
  }
  return clauses;
}

/** Whether a header names one of `types` word for word, or any type at all; quality and parameters do not count. */
export function namesOneOf(header: string, types: readonly string[]): boolean {
  return header.split(',', MOST_CLAUSES).some((part) => {
    const type = (part.split(';', 1)[0] ?? '').trim();
    return type === '*/*' || types.includes(type);
  });
}

function parseClause(text: string): AcceptClause | undefined {
  const [range = '', ...rest] = text.split(';');
  const [type = '', subtype = type === '*' ? '*' : '', ...more] = range.split('/').map((each) => each.trim());
  if (subtype === '' || more.length > 0) return undefined;
  const parameters: (readonly [string, string])[] = [];
  let quality = 1;
  for (const parameter of rest) {
    const [name = '', value = '', ...excess] = parameter.split('=').map((each) => each.trim());
    if (value === '' || excess.length > 0) continue;
    if (name === 'q') quality = Number(value) || 0;
    else parameters.push([name, value]);
  }
  return { type, subtype, quality, parameters };
}

function precedes(one: AcceptClause, other: AcceptClause): boolean {
  if (one.quality > other.quality) return true;
  if (one.type !== '*' && other.type === '*') return true;
  return one.subtype !== '*' && other.subtype === '*';
}
