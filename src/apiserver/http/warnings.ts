const MAX_CHARACTERS = 4096;
const MAX_CHARACTERS_EACH = 256;
/** What a header cannot hold. */
const CONTROL = /\p{Cc}/u;

/**
 * Warning headers, names and values in turn. Each text is told once. Where there is too much of it, every text is cut, and
 * those that then exceed the limit are left out.
 */
export function warningHeaders(texts: readonly string[]): string[] {
  const told = [...new Set(texts)].filter((text) => text !== '' && !CONTROL.test(text));
  if (total(told) <= MAX_CHARACTERS) return told.flatMap(header);
  const headers: string[] = [];
  let written = 0;
  for (const text of told) {
    if (written >= MAX_CHARACTERS) break;
    const characters = [...text].slice(0, MAX_CHARACTERS_EACH);
    written += characters.length;
    headers.push(...header(characters.join('')));
  }
  return headers;
}

function total(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + [...text].length, 0);
}

function header(text: string): string[] {
  const quoted = `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
  // Headers are written byte by byte: this makes them the bytes of UTF-8.
  return ['Warning', Buffer.from(`299 - ${quoted}`, 'utf8').toString('latin1')];
}
