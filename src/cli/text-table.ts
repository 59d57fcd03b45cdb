import type { Paint, Style } from './paint.ts';
import { printable } from './printable.ts';

/** A cell; text alone, or text that is to stand out. */
export type Cell = string | { readonly text: string; readonly style: Style };

/** How text is laid out. */
export interface Layout {
  /** Where sentences are broken; undefined: nowhere. Tables are as wide as they get, as kubectl's are. */
  readonly columns: number | undefined;
  readonly paint: Paint;
}

const GAP = '   ';

/** Lines of left-aligned columns, the last one not padded; each is at least as wide as `widths` says. */
export function tableLines(
  rows: readonly (readonly Cell[])[],
  paint: Paint,
  widths: readonly number[] = widthsOf(rows),
): readonly string[] {
  return rows.map((row) =>
    row
      .map((cell, index) => {
        const text = textOf(cell);
        const painted = typeof cell === 'string' ? text : paint(cell.style, text);
        const isLast = index === row.length - 1;
        return isLast
          ? painted
          : `${painted}${' '.repeat(Math.max(0, (widths[index] ?? 0) - text.length))}${GAP}`;
      })
      .join('')
      .trimEnd(),
  );
}

/** How wide each column has to be. */
export function widthsOf(rows: readonly (readonly Cell[])[]): readonly number[] {
  const count = Math.max(0, ...rows.map(({ length }) => length));
  return Array.from({ length: count }, (_, index) =>
    Math.max(...rows.map((row) => textOf(row[index] ?? '').length)),
  );
}

/** Breaks text between words into lines of at most `columns`, indented alike; a longer word stands alone. */
export function wrapped(text: string, columns: number | undefined, indent: string, bullet = ''): string {
  const start = `${indent}${bullet}`;
  if (columns === undefined) return `${start}${printable(text)}`;
  const width = Math.max(20, columns - start.length);
  const lines: string[] = [];
  let line = '';
  for (const word of printable(text).split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return start + [...lines, line].join(`\n${' '.repeat(start.length)}`);
}

function textOf(cell: Cell): string {
  return printable(typeof cell === 'string' ? cell : cell.text);
}
