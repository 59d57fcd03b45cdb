/** What JSON.parse does not tell of a text. */
export interface JsonSurvey {
  /** Paths of the fields that one object has more than once, the first hundred in the order of their second appearance. */
  readonly duplicates: readonly string[];
  /** Whether some number is not written as a plain integer that a double holds exactly: `1.0`, `1e3`. */
  readonly hasOddNumbers: boolean;
}

/** An object or a list that is being read. */
interface Container {
  /** The keys that an object has had so far; undefined for a list. */
  readonly keys: Set<string> | undefined;
  /** The key or the index of what is being read in it. */
  place: string | number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const COMMA = 0x2c;
const COLON = 0x3a;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;

/** More digits than this may be more than a double holds. */
const SAFE_DIGITS = 15;

/** The real server names no more of them. */
const MOST_DUPLICATES = 100;

/** No object of the API comes near; what is deeper would exhaust the stack of whoever walks it. */
export const MAX_JSON_DEPTH = 1000;

/**
 * Surveys a text that JSON.parse has read without complaint, in one pass over its characters.
 * @throws {SyntaxError} when it is nested too deeply.
 */
export function surveyJson(text: string): JsonSurvey {
  const duplicates = new Set<string>();
  const containers: Container[] = [];
  let hasOddNumbers = false;
  let awaitsKey = false;
  let at = 0;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      const end = endOfString(text, at);
      const container = awaitsKey ? containers.at(-1) : undefined;
      if (container?.keys !== undefined) {
        container.place = keyOf(text.slice(at, end));
        const isDuplicate = container.keys.has(container.place) && duplicates.size < MOST_DUPLICATES;
        if (isDuplicate) duplicates.add(pathText(containers));
        container.keys.add(container.place);
      }
      at = end;
      continue;
    }
    if (code === MINUS || (code >= ZERO && code <= NINE)) {
      const end = endOfNumber(text, at);
      hasOddNumbers ||= isOddNumber(text.slice(at, end));
      at = end;
      continue;
    }
    if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      const isObject = code === OPEN_BRACE;
      containers.push({ keys: isObject ? new Set() : undefined, place: isObject ? '' : 0 });
      if (containers.length > MAX_JSON_DEPTH) throw new SyntaxError('exceeded max depth');
      awaitsKey = isObject;
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      containers.pop();
    } else if (code === COLON) {
      awaitsKey = false;
    } else if (code === COMMA) {
      const container = containers.at(-1);
      awaitsKey = container?.keys !== undefined;
      if (typeof container?.place === 'number') container.place += 1;
    }
    // Anything else is space or part of a literal.
    at += 1;
  }
  return { duplicates: [...duplicates], hasOddNumbers };
}

/** The text of an object's key, without its quotes. */
export function keyOf(quoted: string): string {
  return quoted.includes('\\') ? (JSON.parse(quoted) as string) : quoted.slice(1, -1);
}

/** Whether a number's text says more than its value does. */
export function isOddNumber(text: string): boolean {
  return text.length > SAFE_DIGITS || !/^-?\d+$/.test(text);
}

/** The index after the string that begins at `start`. */
export function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at + 1;
}

/** The index after the number that begins at `start`. */
export function endOfNumber(text: string, start: number): number {
  let at = start + 1;
  while (/[\d.eE+-]/.test(text.charAt(at))) at += 1;
  return at;
}

/** `spec.items[0].name` */
function pathText(containers: readonly Container[]): string {
  let shown = '';
  for (const { place } of containers) {
    if (typeof place === 'number') shown += `[${place}]`;
    else shown += shown === '' ? place : `.${place}`;
  }
  return shown;
}
