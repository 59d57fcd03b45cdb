import { type Steps, sortInSteps } from '../../support/event-loop.ts';
import { badRequest } from '../errors/api-error.ts';
import { type FieldError, invalid } from '../errors/field-error.ts';
import { labelKeyProblems, labelValueProblems } from '../kinds/names.ts';
import { labelSelectorTokens, type Token } from './label-selector-tokens.ts';

type Labels = Readonly<Record<string, string>>;

type Operator = 'in' | 'notin' | '=' | '==' | '!=' | '>' | '<' | 'exists' | '!';

interface Requirement {
  readonly key: string;
  readonly operator: Operator;
  readonly values: readonly string[];
}

/**
 * Reads a label selector, equality-based (`a=b`, `a!=b`), set-based (`a in (b,c)`, `a notin (b)`, `a`, `!a`) or numeric
 * (`a>1`); all its requirements have to be met. The empty one selects everything.
 *
 * @throws {ApiError} 400 in the words of the API server.
 */
export function* parseLabelSelector(text: string): Steps<(labels: Labels) => boolean> {
  const wanted = new Map<string, LabelCondition>();
  // All of it has to be right before any of it counts.
  for (const requirement of yield* new Parser(text).parse()) {
    wanted.set(requirement.key, yield* combined(wanted.get(requirement.key), requirement));
  }
  const needed: string[] = [];
  for (const [key, { isNeeded }] of wanted) {
    yield;
    if (isNeeded) needed.push(key);
  }
  return (labels) => {
    const entries = Object.entries(labels);
    // A selector may have more requirements than an object has labels, by far.
    if (needed.length > entries.length || !needed.every((key) => Object.hasOwn(labels, key))) return false;
    return entries.every(([key, value]) => isMet(wanted.get(key), value));
  };
}

/** All that is required of one label. */
interface LabelCondition {
  readonly isNeeded: boolean;
  readonly isUnwanted: boolean;
  readonly allowed: ReadonlySet<string> | undefined;
  readonly excluded: ReadonlySet<string>;
  readonly above: bigint | undefined;
  readonly below: bigint | undefined;
}

const ANYTHING: LabelCondition = {
  isNeeded: false,
  isUnwanted: false,
  allowed: undefined,
  excluded: new Set(),
  above: undefined,
  below: undefined,
};

/** A condition, and one more requirement of the same label. */
function* combined(
  before: LabelCondition = ANYTHING,
  { operator, values }: Requirement,
): Steps<LabelCondition> {
  const needed = { ...before, isNeeded: true };
  const bound = parseInt64(values[0]) ?? 0n;
  switch (operator) {
    case 'exists':
      return needed;
    case '!':
      return { ...before, isUnwanted: true };
    case 'in':
    case '=':
    case '==':
      return { ...needed, allowed: yield* withAll(new Set(), values, before.allowed) };
    case 'notin':
    case '!=':
      return { ...before, excluded: yield* withAll(ownSet(before.excluded), values) };
    case '>':
      return { ...needed, above: before.above !== undefined && before.above > bound ? before.above : bound };
    case '<':
      return { ...needed, below: before.below !== undefined && before.below < bound ? before.below : bound };
  }
}

/** A set that is still being put together: many requirements may be about one label. */
function ownSet(set: ReadonlySet<string>): Set<string> {
  return set === ANYTHING.excluded ? new Set() : (set as Set<string>);
}

function* withAll(
  set: Set<string>,
  values: readonly string[],
  among?: ReadonlySet<string>,
): Steps<ReadonlySet<string>> {
  for (const value of values) {
    yield;
    if (among === undefined || among.has(value)) set.add(value);
  }
  return set;
}

function isMet(condition: LabelCondition | undefined, value: string): boolean {
  if (condition === undefined) return true;
  const { isUnwanted, allowed, excluded, above, below } = condition;
  if (isUnwanted || excluded.has(value) || allowed?.has(value) === false) return false;
  if (above === undefined && below === undefined) return true;
  const number = parseInt64(value);
  return (
    number !== undefined && (above === undefined || number > above) && (below === undefined || number < below)
  );
}

const MAX_INT64 = 2n ** 63n - 1n;

/** Undefined for what is no integer of 64 bits. */
function parseInt64(text: string | undefined): bigint | undefined {
  if (text === undefined || !/^[+-]?\d+$/.test(text)) return undefined;
  const number = BigInt(text.replace(/^\+/, ''));
  return number > MAX_INT64 || number < -MAX_INT64 - 1n ? undefined : number;
}

/** Recursive descent over the tokens. Its refusals are what clients of the API server are used to. */
class Parser {
  readonly #tokens: Iterator<Token, never, void>;
  /** The one after those that were taken. */
  #next: Token;

  constructor(text: string) {
    this.#tokens = labelSelectorTokens(text);
    this.#next = this.#tokens.next().value;
  }

  *parse(): Steps<readonly Requirement[]> {
    const requirements: Requirement[] = [];
    if (this.#next.kind === 'end') return requirements;
    if (!this.#isAtRequirement())
      throw unexpected(this.#next, `, expected: !, identifier, or 'end of string'`);
    for (;;) {
      requirements.push(yield* this.#requirement());
      const after = this.#take();
      if (after.kind === 'end') return requirements;
      if (after.kind !== ',') throw unexpected(after, `, expected: ',' or 'end of string'`);
      if (!this.#isAtRequirement()) throw unexpected(this.#next, `, expected: identifier after ','`);
    }
  }

  #take(): Token {
    const token = this.#next;
    this.#next = this.#tokens.next().value;
    return token;
  }

  #isAtRequirement(): boolean {
    return this.#next.kind === 'word' || this.#next.kind === '!';
  }

  *#requirement(): Steps<Requirement> {
    yield;
    const isNegated = this.#next.kind === '!';
    if (isNegated) this.#take();
    const word = this.#take();
    if (word.kind !== 'word') throw unparseable(`found '${word.text}', expected: identifier`);
    const problems = labelKeyProblems(word.text);
    if (problems.length > 0) throw unparseable(shown([invalid('<nil>', word.text, problems.join('; '))]));
    if (isNegated) return { key: word.text, operator: '!', values: [] };
    if (this.#isAtEndOfRequirement()) return { key: word.text, operator: 'exists', values: [] };

    const operator = this.#operator();
    const values = operator === 'in' || operator === 'notin' ? yield* this.#values() : [this.#value()];
    const requirement = { key: word.text, operator, values };
    const invalidValues = yield* valueProblems(requirement);
    if (invalidValues.length > 0) throw unparseable(shown(invalidValues));
    return requirement;
  }

  #isAtEndOfRequirement(): boolean {
    return this.#next.kind === 'end' || this.#next.kind === ',';
  }

  #operator(): Operator {
    const { kind, text } = this.#take();
    const isWord = kind === 'word' && (text === 'in' || text === 'notin');
    if (isWord) return text;
    if (kind === '=' || kind === '==' || kind === '!=' || kind === '>' || kind === '<') return kind;
    throw unparseable(`found '${text}', expected: in, notin, =, ==, !=, gt, lt`);
  }

  #value(): string {
    if (this.#isAtEndOfRequirement()) return '';
    const { kind, text } = this.#take();
    if (kind !== 'word') throw unparseable(`found '${text}', expected: identifier`);
    return text;
  }

  /** `(a,b)`: a word, or nothing, between commas. */
  *#values(): Steps<readonly string[]> {
    const opening = this.#take();
    if (opening.kind !== '(') throw unparseable(`found '${opening.text}' expected: '('`);
    const { kind, text } = this.#next;
    if (kind !== 'word' && kind !== ',' && kind !== ')') {
      throw unparseable(`found '${text}', expected: ',', ')' or identifier`);
    }
    const values: string[] = [];
    for (;;) {
      yield;
      values.push(this.#next.kind === 'word' ? this.#take().text : '');
      const after = this.#take();
      if (after.kind === ')') return values;
      if (after.kind !== ',') {
        const hasWord = values.at(-1) !== '';
        throw unparseable(
          `found '${after.text}', expected: ${hasWord ? "',' or ')'" : "',', or identifier"}`,
        );
      }
    }
  }
}

/** More than anybody reads. */
const MOST_PROBLEMS = 100;

function* valueProblems({ key, operator, values }: Requirement): Steps<readonly FieldError[]> {
  const [first = ''] = values;
  const problems: FieldError[] = [];
  if ((operator === '>' || operator === '<') && parseInt64(first) === undefined) {
    problems.push(invalid('values[0]', first, "for 'Gt', 'Lt' operators, the value must be an integer"));
  }
  const wrong = new Set<string>();
  for (const value of values) {
    yield;
    if (labelValueProblems(value).length > 0) wrong.add(value);
  }
  if (wrong.size === 0) return problems;
  // They are counted in their order, each once.
  let index = 0;
  let previous: string | undefined;
  for (const value of yield* sortInSteps(values)) {
    yield;
    if (problems.length === MOST_PROBLEMS) break;
    if (value === previous) continue;
    if (wrong.has(value)) {
      problems.push(invalid(`values[${index}][${key}]`, value, labelValueProblems(value).join('; ')));
    }
    index += 1;
    previous = value;
  }
  return problems;
}

function shown(errors: readonly FieldError[]): string {
  const said = errors.map(({ field, message }) => `${field}: ${message}`);
  return said.length === 1 ? said.join() : `[${said.join(', ')}]`;
}

function unexpected(token: Token, expectation: string): Error {
  return badRequest(`found '${token.text}'${expectation}`);
}

function unparseable(problem: string): Error {
  return badRequest(`unable to parse requirement: ${problem}`);
}
