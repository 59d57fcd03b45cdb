/** A range of a file; lines and columns count from 0. */
export interface Span {
  readonly start: Place;
  readonly end: Place;
}

interface Place {
  readonly line: number;
  readonly column: number;
}

export function codeAt(source: string, { start, end }: Span): string {
  return source.slice(offsetOf(source, start), offsetOf(source, end));
}

/** Returns the file with a replacement for that range. */
export function withCodeAt(source: string, { start, end }: Span, code: string): string {
  return source.slice(0, offsetOf(source, start)) + code + source.slice(offsetOf(source, end));
}

function offsetOf(source: string, { line, column }: Place): number {
  const before = source.split('\n').slice(0, line);
  return before.reduce((length, text) => length + text.length + 1, 0) + column;
}
