// Everything that strconv.IsPrint takes: of all kinds of space, only the plain one.
const PRINTABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u;

const ESCAPES: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\u0007': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
};

/** Text as Go's %q writes it, which most messages of the API server use. */
export function goQuote(text: string): string {
  let quoted = '';
  for (const character of text) quoted += ESCAPES[character] ?? printed(character);
  return `"${quoted}"`;
}

function printed(character: string): string {
  if (isPrintable(character)) return character;
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x80) return `\\x${hex(code, 2)}`;
  return code < 0x1_00_00 ? `\\u${hex(code, 4)}` : `\\U${hex(code, 8)}`;
}

/** Whether Go's unicode.IsPrint takes this one character. */
export function isPrintable(character: string): boolean {
  return PRINTABLE.test(character);
}

/** A value as Go's JSON encoder writes it, which is safe to put into HTML. */
export function goJson(value: unknown): string {
  const json = JSON.stringify(value) ?? 'null';
  return json.replace(/[<>&\u2028\u2029]/g, (character) => `\\u${hex(character.charCodeAt(0), 4)}`);
}

/** Text as the errors of Go's time package quote it: byte by byte. */
export function goTimeQuote(text: string): string {
  let quoted = '';
  for (const byte of Buffer.from(text)) {
    const character = String.fromCharCode(byte);
    if (character === '"' || character === '\\') quoted += `\\${character}`;
    else quoted += byte < 0x20 || byte >= 0x80 ? `\\x${hex(byte, 2)}` : character;
  }
  return `"${quoted}"`;
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, '0');
}
