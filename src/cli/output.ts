import { styleText } from 'node:util';
import { Document, isScalar, Scalar, visit } from 'yaml';
import type { Environment, Host } from '../support/host.ts';
import { printable, printableJson, shortened } from '../support/text.ts';

/** Where the program writes; a terminal's width and colours are used where it has them. */
export interface TextOutput {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** How a piece of text is to stand out. */
export type Style = 'strong' | 'dim' | 'good' | 'warning' | 'bad';

/** Makes text stand out, or leaves it as it is where there are no colours. */
export type Paint = (style: Style, text: string) => string;

const FORMATS: Readonly<Record<Style, Parameters<typeof styleText>[0]>> = {
  strong: 'bold',
  dim: 'dim',
  good: 'green',
  warning: 'yellow',
  bad: 'red',
};

export const plain: Paint = (_style, text) => text;

/** Sentences are broken for a terminal only: whoever reads them from a pipe searches for them. */
export function layoutFor({ stdout, env }: Host): Layout {
  // A terminal that does not know its width has 0 columns.
  return { columns: (stdout.isTTY && stdout.columns) || undefined, paint: paintFor(stdout, env) };
}

/** A cell; text alone, or text that is to stand out. */
export type Cell = string | { readonly text: string; readonly style: Style };

/** How text is laid out. */
export interface Layout {
  /** Where sentences are broken; undefined: nowhere. Tables are as wide as they get, as kubectl's are. */
  readonly columns: number | undefined;
  readonly paint: Paint;
}

const GAP = '   ';

/** The names of a pod and of its process fit; what is longer would push the other columns off the screen. */
const WIDEST_CELL = 100;

/** More than any sentence has to say. */
const LONGEST_SENTENCE = 2000;

/**
 * Lines of left-aligned columns, the last one not padded; each is at least as wide as `widths` says. What a cell has too
 * much, it loses; the last one may be a sentence.
 */
export function tableLines(
  rows: readonly (readonly Cell[])[],
  paint: Paint,
  widths: readonly number[] = widthsOf(rows),
): readonly string[] {
  return rows.map((row) =>
    row
      .map((cell, index) => {
        const isLast = index === row.length - 1;
        const text = textOf(cell, isLast ? LONGEST_SENTENCE : WIDEST_CELL);
        const painted = typeof cell === 'string' ? text : paint(cell.style, text);
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
    Math.max(...rows.map((row) => textOf(row[index] ?? '', WIDEST_CELL).length)),
  );
}

/** Breaks text between words into lines of at most `columns`, indented alike; a longer word stands alone. */
export function wrapped(text: string, columns: number | undefined, indent: string, bullet = ''): string {
  const start = `${indent}${bullet}`;
  const said = shortened(printable(text), LONGEST_SENTENCE);
  if (columns === undefined) return `${start}${said}`;
  const width = Math.max(20, columns - start.length);
  const lines: string[] = [];
  let line = '';
  for (const word of said.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return start + [...lines, line].join(`\n${' '.repeat(start.length)}`);
}

/**
 * A value as JSON or YAML; what is undefined is left out. Text that others wrote is whole, but written so that a terminal
 * may show it.
 */
export function structured(value: object, format: 'json' | 'yaml'): string {
  const json = JSON.stringify(value, undefined, 2);
  return format === 'json' ? `${printableJson(json)}\n` : yaml(JSON.parse(json));
}

const coloured: Paint = (style, text) => styleText(FORMATS[style], text, { validateStream: false });

/** Colours for a terminal, unless NO_COLOR is set or the terminal is a dumb one. */
function paintFor(output: TextOutput, env: Environment): Paint {
  const hasColours = output.isTTY === true && !env['NO_COLOR'] && env['TERM'] !== 'dumb';
  return hasColours ? coloured : plain;
}

function textOf(cell: Cell, most: number): string {
  return shortened(printable(typeof cell === 'string' ? cell : cell.text), most);
}

function yaml(value: unknown): string {
  const document = new Document(value, { aliasDuplicateObjects: false });
  visit(document, {
    Scalar(_, node) {
      // Between these quotes, the escapes of JSON are understood.
      if (isScalar(node) && typeof node.value === 'string' && printableJson(node.value) !== node.value) {
        node.type = Scalar.QUOTE_DOUBLE;
      }
    },
  });
  return printableJson(document.toString({ lineWidth: 0 }));
}
