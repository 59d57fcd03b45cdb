import { MAX_JSON_DEPTH } from '../schema/json-survey.ts';

/**
 * What Go's JSON reader says of a text that JSON.parse refuses, or that is nested too deeply. Clients see these words in the Status, and match on them.
 */
export function jsonProblem(text: string): string {
  try {
    const end = value(text, skipSpace(text, 0));
    const rest = skipSpace(text, end);
    if (rest < text.length) fail(text, rest, 'after top-level value');
  } catch (error) {
    if (error instanceof JsonProblem) return error.message;
    throw error;
  }
  return 'unexpected end of JSON input';
}

class JsonProblem extends Error {}

const ESCAPES = '"\\/bfnrt';
const LITERALS = ['true', 'false', 'null'] as const;

/** What an open container waits for. */
type Expected = 'first item' | 'item' | 'comma' | 'first key' | 'key' | 'colon' | 'member' | 'pair';

const WRONG: Readonly<Record<'comma' | 'first key' | 'key' | 'colon' | 'pair', string>> = {
  comma: 'after array element',
  'first key': 'looking for beginning of object key string',
  key: 'looking for beginning of object key string',
  colon: 'after object key',
  pair: 'after object key:value pair',
};

/** Reads a value that begins at `start` and returns where it ends. What is open is kept in a list: it may be nested deeply. */
function value(text: string, start: number): number {
  const open: Expected[] = [];
  let at = start;
  do {
    at = skipSpace(text, at);
    const expected = open.at(-1);
    if (isEnd(expected, text[at])) {
      open.pop();
      at += 1;
    } else if (expected === undefined || isValueNext(expected)) {
      if (expected !== undefined) open[open.length - 1] = expected === 'member' ? 'pair' : 'comma';
      at = begin(text, at, open);
    } else {
      at = punctuation(text, at, expected, open);
    }
  } while (open.length > 0);
  return at;
}

function isEnd(expected: Expected | undefined, character: string | undefined): boolean {
  if (expected === 'first item' || expected === 'comma') return character === ']';
  return (expected === 'first key' || expected === 'pair') && character === '}';
}

function isValueNext(expected: Expected): expected is 'first item' | 'item' | 'member' {
  return expected === 'first item' || expected === 'item' || expected === 'member';
}

/** Each of these reads one thing that begins at `at` and returns where it ends. */
function begin(text: string, at: number, open: Expected[]): number {
  const first = text[at];
  if (first !== '{' && first !== '[') return scalar(text, at);
  open.push(first === '{' ? 'first key' : 'first item');
  if (open.length > MAX_JSON_DEPTH) fail(text, at, 'exceeded max depth');
  return at + 1;
}

function punctuation(text: string, at: number, expected: keyof typeof WRONG, open: Expected[]): number {
  const isKey = expected === 'key' || expected === 'first key';
  const wanted = isKey ? '"' : expected === 'colon' ? ':' : ',';
  if (text[at] !== wanted) fail(text, at, WRONG[expected]);
  if (isKey) open[open.length - 1] = 'colon';
  else if (expected === 'colon') open[open.length - 1] = 'member';
  else open[open.length - 1] = expected === 'pair' ? 'key' : 'item';
  return isKey ? string(text, at + 1) : at + 1;
}

function scalar(text: string, at: number): number {
  const first = text[at];
  if (first === '"') return string(text, at + 1);
  if (first === '-' || isDigit(first)) return number(text, at);
  const literal = LITERALS.find((each) => each[0] === first);
  if (literal === undefined) return fail(text, at, 'looking for beginning of value');
  for (let index = 1; index < literal.length; index += 1) {
    if (text[at + index] === literal[index]) continue;
    fail(text, at + index, `in literal ${literal} (expecting '${literal[index]}')`);
  }
  return at + literal.length;
}

function string(text: string, start: number): number {
  let at = start;
  while (text[at] !== '"') {
    if (at >= text.length || text.charCodeAt(at) < 0x20) fail(text, at, 'in string literal');
    if (text[at] !== '\\') {
      at += 1;
    } else if (text[at + 1] === 'u') {
      for (let index = at + 2; index < at + 6; index += 1) {
        if (!/[0-9a-fA-F]/.test(text[index] ?? '')) fail(text, index, 'in \\u hexadecimal character escape');
      }
      at += 6;
    } else {
      if (!ESCAPES.includes(text[at + 1] ?? ' ')) fail(text, at + 1, 'in string escape code');
      at += 2;
    }
  }
  return at + 1;
}

function number(text: string, start: number): number {
  let at = text[start] === '-' ? start + 1 : start;
  if (!isDigit(text[at])) fail(text, at, 'in numeric literal');
  at = text[at] === '0' ? at + 1 : skipDigits(text, at);
  if (text[at] === '.') {
    if (!isDigit(text[at + 1])) fail(text, at + 1, 'after decimal point in numeric literal');
    at = skipDigits(text, at + 1);
  }
  if (text[at] === 'e' || text[at] === 'E') {
    at += text[at + 1] === '+' || text[at + 1] === '-' ? 2 : 1;
    if (!isDigit(text[at])) fail(text, at, 'in exponent of numeric literal');
    at = skipDigits(text, at);
  }
  return at;
}

function skipDigits(text: string, start: number): number {
  let at = start;
  while (isDigit(text[at])) at += 1;
  return at;
}

function skipSpace(text: string, start: number): number {
  let at = start;
  while (at < text.length && ' \t\r\n'.includes(text[at] ?? '')) at += 1;
  return at;
}

function isDigit(character: string | undefined): boolean {
  return character !== undefined && character >= '0' && character <= '9';
}

function fail(text: string, at: number, where: string): never {
  const character = text[at];
  if (character === undefined) throw new JsonProblem('unexpected end of JSON input');
  throw new JsonProblem(`invalid character ${quoted(character)} ${where}`);
}

/** A character as Go writes it. */
function quoted(character: string): string {
  if (character === "'") return "'\\''";
  if (character === '"') return `'"'`;
  return `'${JSON.stringify(character).slice(1, -1)}'`;
}
