/**
 * What a terminal, a log or a page must not get as it is: it moves the cursor, hides text, turns it around, or is seen by
 * nobody. Such are control characters, marks of direction, characters without width, and halves of characters.
 */
const HARMFUL = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;
const HARMFUL_IN_JSON = new RegExp(HARMFUL.source.replace('\\p{Cc}', '\\x7f-\\x9f'), 'gu');

/**
 * Text that others wrote, safe for a terminal and on one line: a holderIdentity may be anything at all. Control characters
 * are shown as kubectl shows them, `^[` for an escape, and all else that is harmful by its number, `\u202e`.
 */
export function printable(text: string): string {
  return text.replace(HARMFUL, (character) => {
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x80) return `^${String.fromCharCode(code ^ 0x40)}`;
    return code < 0x100 ? `\\x${code.toString(16)}` : numbered(character);
  });
}

/** The same of a text that may have several lines, and shortened. */
export function printableLines(text: string, most: number): string {
  return shortened(text.split('\n').map(printable).join('\n'), most);
}

/** JSON that says the same in characters that are all harmless. */
export function printableJson(json: string): string {
  return json.replace(HARMFUL_IN_JSON, numbered);
}

/** A text of at most so many characters, of which the last says that there were more. */
export function shortened(text: string, most: number): string {
  if (text.length <= most) return text;
  // Half of a character is none.
  return `${text.slice(0, most - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

function numbered(character: string): string {
  let shown = '';
  for (let index = 0; index < character.length; index += 1) {
    shown += `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`;
  }
  return shown;
}
