/**
 * Text that others wrote, safe for a terminal and on one line: a holderIdentity may be anything at all. Control
 * characters are shown as kubectl shows them, `^[` for an escape.
 */
export function printable(text: string): string {
  return text.replace(/\p{Cc}/gu, (character) => {
    const code = character.charCodeAt(0);
    return code < 0x80 ? `^${String.fromCharCode(code ^ 0x40)}` : `\\x${code.toString(16)}`;
  });
}
