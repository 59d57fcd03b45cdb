/** How a piece of text is to stand out. */
export type Style = 'title' | 'strong' | 'dim' | 'good' | 'warning' | 'bad';

/** A piece of a line. */
export interface Span {
  readonly text: string;
  readonly style?: Style;
}

/** One line of the screen, every character of it one column wide. */
export type StyledLine = readonly Span[];

export function span(text: string, style?: Style): Span {
  return style === undefined ? { text } : { text, style };
}

/** The line without its styles. */
export function textOf(line: StyledLine): string {
  return line.map(({ text }) => text).join('');
}

/** The line, no longer than `columns`; a `~` at its end says that there was more. */
export function cutLine(line: StyledLine, columns: number): StyledLine {
  if (textOf(line).length <= columns) return line;
  const kept: Span[] = [];
  let left = columns - 1;
  for (const piece of line) {
    const text = piece.text.slice(0, Math.max(0, left));
    left -= text.length;
    if (text !== '') kept.push({ ...piece, text });
  }
  return columns > 0 ? [...kept, span('~', 'dim')] : [];
}

/** Breaks text between words into lines of at most `columns`; a word longer than that is broken too. */
export function wrapText(text: string, columns: number): readonly string[] {
  const width = Math.max(1, columns);
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ').flatMap((each) => each.match(new RegExp(`.{1,${width}}`, 'g')) ?? [])) {
    if (line === '') line = word;
    else if (line.length + 1 + word.length <= width) line += ` ${word}`;
    else {
      lines.push(line);
      line = word;
    }
  }
  return [...lines, line];
}

/** Text from elsewhere as a terminal may show it: whatever could be an escape sequence, or wider than it is long, is not. */
export function harmless(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '?');
}
