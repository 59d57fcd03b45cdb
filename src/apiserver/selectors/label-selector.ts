import { badRequest } from '../errors/api-error.ts';
import { labelKeyProblems, labelValueProblems } from '../kinds/validation.ts';

/** Whether an object with these labels is selected. */
export type LabelMatcher = (labels: Readonly<Record<string, string>>) => boolean;

type Operator = '=' | '!=' | '>' | '<' | 'exists' | '!';

interface Requirement {
  readonly key: string;
  readonly operator: Operator;
  readonly values: readonly string[];
}

/**
 * Parses a label selector: equality-based (`a=b`, `a!=b`), set-based (`a in (b,c)`, `a notin (b)`, `a`, `!a`) and numeric
 * (`a>1`). An object must meet all requirements. The empty selector selects everything.
 * @throws {ApiError} 400
 */
export function parseLabelSelector(text: string): LabelMatcher {
  const byLabel = Map.groupBy(joined(parseRequirements(text)), ({ key }) => key);
  const matchers = new Map([...byLabel].map(([key, requirements]) => [key, requirements.map(matcherOf)]));
  const required = [...byLabel]
    .filter(([, requirements]) => requirements.some(({ operator }) => operator !== '!' && operator !== '!='))
    .map(([key]) => key);
  return (labels) => {
    const entries = Object.entries(labels);
    // Loop over the labels: a selector may have thousands of requirements, but an object has few labels.
    if (required.length > entries.length || !required.every((key) => Object.hasOwn(labels, key)))
      return false;
    return entries.every(([key, value]) => matchers.get(key)?.every((matches) => matches(value)) ?? true);
  };
}

/** Merges the excluded values of each label into one requirement. */
function joined(requirements: readonly Requirement[]): readonly Requirement[] {
  const others = requirements.filter(({ operator }) => operator !== '!=');
  const excluded = Map.groupBy(
    requirements.filter(({ operator }) => operator === '!='),
    ({ key }) => key,
  );
  return [
    ...others,
    ...[...excluded].map(([key, each]): Requirement => {
      return { key, operator: '!=', values: each.flatMap(({ values }) => values) };
    }),
  ];
}

const TOKEN = /!=|==|[=!(),<>]|[^ \t\r\n=!(),<>]+/g;
const OPERATORS: Readonly<Record<string, Operator>> = {
  '=': '=',
  '==': '=',
  '!=': '!=',
  '>': '>',
  '<': '<',
  in: '=',
  notin: '!=',
};

function parseRequirements(text: string): readonly Requirement[] {
  const tokens = text.match(TOKEN) ?? [];
  let next = 0;
  const peek = () => tokens[next] ?? '';
  const take = () => tokens[next++] ?? '';
  const isEnd = () => peek() === '' || peek() === ',';
  const isWord = () => peek() !== '' && !/^[=!(),<>]/.test(peek());
  const unexpected = (expected: string) =>
    badRequest(`cannot parse the label selector: expected ${expected}, found ${JSON.stringify(peek())}`);
  const word = (what: string) => {
    if (!isWord()) throw unexpected(what);
    return take();
  };

  /** Reads a set of values: `(a,b)`. Empty values are allowed. */
  function set(): readonly string[] {
    if (peek() !== '(') throw unexpected("'('");
    const values: string[] = [];
    do {
      take();
      values.push(isWord() ? take() : '');
    } while (peek() === ',');
    if (take() !== ')') throw unexpected("',' or ')'");
    return values;
  }

  function requirement(): Requirement {
    const isNegated = peek() === '!';
    if (isNegated) take();
    const key = word('a label');
    if (isNegated || isEnd()) return { key, operator: isNegated ? '!' : 'exists', values: [] };
    const sign = peek();
    const operator = Object.hasOwn(OPERATORS, sign) ? OPERATORS[sign] : undefined;
    if (operator === undefined) throw unexpected('in, notin, =, ==, !=, < or >');
    take();
    if (sign === 'in' || sign === 'notin') return { key, operator, values: set() };
    return { key, operator, values: [isEnd() ? '' : word('a value')] };
  }

  const requirements: Requirement[] = [];
  while (next < tokens.length) {
    requirements.push(checked(requirement()));
    if (!isEnd()) throw unexpected("','");
    if (take() === ',' && peek() === '') throw unexpected('a label');
  }
  return requirements;
}

/** @throws {ApiError} 400 for an invalid label or value. */
function checked(requirement: Requirement): Requirement {
  const { key, operator, values } = requirement;
  const [bound = ''] = values;
  const problems = [
    ...labelKeyProblems(key).map((problem) => `${JSON.stringify(key)}: ${problem}`),
    ...((operator === '>' || operator === '<') && parseInt64(bound) === undefined
      ? [`${JSON.stringify(bound)}: the value of < and > must be an integer`]
      : []),
    ...values.flatMap((value) =>
      labelValueProblems(value).map((problem) => `${JSON.stringify(value)}: ${problem}`),
    ),
  ];
  if (problems.length === 0) return requirement;
  throw badRequest(`the label selector is not valid: ${problems[0]}`);
}

/** Returns the check for the values of a label. */
function matcherOf({ operator, values }: Requirement): (value: string) => boolean {
  const among = new Set(values);
  const bound = parseInt64(values[0] ?? '') ?? 0n;
  return (value) => {
    switch (operator) {
      case 'exists':
        return true;
      case '!':
        return false;
      case '=':
        return among.has(value);
      case '!=':
        return !among.has(value);
      default: {
        const number = parseInt64(value);
        return number !== undefined && (operator === '>' ? number > bound : number < bound);
      }
    }
  };
}

/** Returns undefined for a text that is not a 64-bit integer. */
function parseInt64(text: string): bigint | undefined {
  if (!/^[+-]?\d{1,20}$/.test(text)) return undefined;
  const number = BigInt(text.replace(/^\+/, ''));
  return BigInt.asIntN(64, number) === number ? number : undefined;
}
