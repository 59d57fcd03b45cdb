import type { JsonObject } from '../../support/json.ts';
import { endOfNumber, endOfString, isOddNumber, keyOf, surveyJson } from './json-survey.ts';

/** One member of an object, or one item of a list, as it was written. */
export interface WrittenMember {
  readonly key: string;
  readonly value: unknown;
  /** The text of a number that is not written as a plain integer. */
  readonly literal?: string;
}

/** Where a container does not tell all that was written, what was. The values themselves stay plain JSON. */
const written = new WeakMap<object, readonly WrittenMember[]>();

/**
 * Parses JSON as JSON.parse does, and remembers what that loses: fields that were given twice and how numbers were
 * written, both of which Go's decoder looks at.
 * @throws {SyntaxError}
 */
export function readJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  const { duplicates, hasOddNumbers } = surveyJson(text);
  return duplicates.length === 0 && !hasOddNumbers ? value : readAsWritten(text);
}

/** The members of an object or the items of a list in the order in which they were written, duplicates included. */
export function membersOf(container: object): readonly WrittenMember[] {
  return written.get(container) ?? Object.entries(container).map(([key, value]) => ({ key, value }));
}

/** One object of the members of both, as Go reads an object that is given twice. */
export function joined(one: object, other: object): JsonObject {
  const members = [...membersOf(one), ...membersOf(other)];
  const result = Object.fromEntries(members.map(({ key, value }) => [key, value]));
  written.set(result, members);
  return result;
}

function readAsWritten(text: string): unknown {
  let at = 0;

  function member(key: string): WrittenMember {
    skipSpace();
    const first = text.charAt(at);
    if (first === '{') return { key, value: object() };
    if (first === '[') return { key, value: array() };
    const start = at;
    if (first === '"') at = endOfString(text, at);
    else if (/[-\d]/.test(first)) at = endOfNumber(text, at);
    else at += first === 'f' ? 5 : 4;
    const source = text.slice(start, at);
    const value: unknown = JSON.parse(source);
    return typeof value === 'number' && isOddNumber(source)
      ? { key, value, literal: source }
      : { key, value };
  }

  function object(): object {
    const members: WrittenMember[] = [];
    at += 1;
    skipSpace();
    while (text.charAt(at) !== '}') {
      const end = endOfString(text, at);
      const key = keyOf(text.slice(at, end));
      at = end;
      skipSpace();
      at += 1; // the colon
      members.push(member(key));
      skipPunctuation();
    }
    at += 1;
    const result = Object.fromEntries(members.map(({ key, value }) => [key, value]));
    written.set(result, members);
    return result;
  }

  function array(): unknown[] {
    const items: WrittenMember[] = [];
    at += 1;
    skipSpace();
    while (text.charAt(at) !== ']') {
      items.push(member(String(items.length)));
      skipPunctuation();
    }
    at += 1;
    const result = items.map(({ value }) => value);
    written.set(result, items);
    return result;
  }

  /** The space around a comma, and the comma. */
  function skipPunctuation(): void {
    skipSpace();
    if (text.charAt(at) === ',') at += 1;
    skipSpace();
  }

  function skipSpace(): void {
    while (at < text.length && text.charCodeAt(at) <= 0x20) at += 1;
  }

  return member('').value;
}
