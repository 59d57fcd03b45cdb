/** An object or a list that the scan has entered. */
interface Container {
  /** The keys of an object read so far; undefined for a list. */
  readonly keys: Set<string> | undefined;
  /** The current key or index. */
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

/** Maximum number of duplicates in one report, as in kube-apiserver. */
const MAX_DUPLICATES = 100;

/** Maximum nesting depth. No API object is so deep. A deeper value would exhaust the stack of recursive code. */
export const MAX_JSON_DEPTH = 1000;

/** The duplicate fields of each document, by its root value. The root value itself stays plain JSON. */
const duplicates = new WeakMap<object, readonly string[]>();

/** Parses JSON like JSON.parse, and remembers duplicate fields. @throws {SyntaxError} also for too deep nesting */
export function readJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  const found = duplicateFields(text);
  if (typeof value === 'object' && value !== null && found.length > 0) duplicates.set(value, found);
  return value;
}

/** Returns the duplicate fields of a value from {@link readJson}. */
export function duplicatesOf(value: object): readonly string[] {
  return duplicates.get(value) ?? [];
}

/**
 * Returns the paths (`metadata.labels.app`, `spec.items[0].name`) of duplicate fields in a JSON text, of which JSON.parse
 * keeps only the last. Reads each character once. The text must be valid JSON.
 * @throws {SyntaxError} if the text is nested too deeply.
 */
export function duplicateFields(text: string): readonly string[] {
  const found = new Set<string>();
  const containers: Container[] = [];
  let awaitsKey = false;
  let at = 0;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      const end = endOfString(text, at);
      const container = awaitsKey ? containers.at(-1) : undefined;
      if (container?.keys !== undefined) {
        container.place = keyOf(text.slice(at, end));
        if (container.keys.has(container.place) && found.size < MAX_DUPLICATES)
          found.add(pathText(containers));
        container.keys.add(container.place);
      }
      at = end;
      continue;
    }
    if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      awaitsKey = code === OPEN_BRACE;
      containers.push({ keys: awaitsKey ? new Set() : undefined, place: awaitsKey ? '' : 0 });
      if (containers.length > MAX_JSON_DEPTH)
        throw new SyntaxError(`nested more than ${MAX_JSON_DEPTH} levels deep`);
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      containers.pop();
    } else if (code === COLON) {
      awaitsKey = false;
    } else if (code === COMMA) {
      const container = containers.at(-1);
      awaitsKey = container?.keys !== undefined;
      if (typeof container?.place === 'number') container.place += 1;
    }
    // Skip all other characters: white space and literals.
    at += 1;
  }
  return [...found];
}

/** Returns the key of an object without its quotes. */
function keyOf(quoted: string): string {
  return quoted.includes('\\') ? (JSON.parse(quoted) as string) : quoted.slice(1, -1);
}

/** Returns the index after the string that begins at `start`. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at + 1;
}

/** Formats a path: `spec.items[0].name`. */
function pathText(containers: readonly Container[]): string {
  let shown = '';
  for (const { place } of containers) {
    if (typeof place === 'number') shown += `[${place}]`;
    else shown += shown === '' ? place : `.${place}`;
  }
  return shown;
}
