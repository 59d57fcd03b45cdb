import { styleText } from 'node:util';
import { Document, Scalar, visit } from 'yaml';
import type { Finding, Severity } from '../inspection/findings.ts';
import type { LeaseStatus } from '../inspection/lease-status.ts';
import { counted } from '../inspection/wording.ts';
import type { Host } from '../support/host.ts';
import { printable, printableJson, shortened } from '../support/text.ts';

/** An output stream of the program. `columns` is the width of a terminal. */
export interface TextOutput {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

const FORMATS = { strong: 'bold', dim: 'dim', good: 'green', warning: 'yellow', bad: 'red' } as const;

/** The role of a piece of text. The role determines whether the text is coloured, bold or dim. */
export type Style = keyof typeof FORMATS;

/** Formats text by its style, for a terminal. If the output has no colours, returns the text unchanged. */
export type Paint = (style: Style, text: string) => string;

export const plain: Paint = (_style, text) => text;

const coloured: Paint = (style, text) => styleText(FORMATS[style], text, { validateStream: false });

export interface Layout {
  /** The width at which sentences are wrapped; undefined for no wrapping. Tables are never wrapped, as in kubectl. */
  readonly columns: number | undefined;
  readonly paint: Paint;
}

/**
 * Returns the layout of the standard output. Sentences are wrapped only in a terminal, so that grep finds whole
 * sentences. Text is coloured only in a terminal, and not with NO_COLOR or TERM=dumb.
 */
export function layoutFor({ stdout, env }: Host): Layout {
  const hasColours = stdout.isTTY && !env['NO_COLOR'] && env['TERM'] !== 'dumb';
  // Node reports an unknown width as 0.
  return { columns: (stdout.isTTY && stdout.columns) || undefined, paint: hasColours ? coloured : plain };
}

export type Cell = string | { readonly text: string; readonly style: Style };

export type Column<T> = readonly [title: string, cell: (item: T) => Cell, isShown?: boolean];

/** Returns the rows of a table: the titles, then one row for each item. */
export function rowsFor<T>(columns: readonly Column<T>[], items: readonly T[]): readonly (readonly Cell[])[] {
  const shown = columns.filter(([, , isShown = true]) => isShown);
  return [shown.map(([title]) => title), ...items.map((item) => shown.map(([, cell]) => cell(item)))];
}

const GAP = '   ';
/** Maximum characters of a cell, except in the last column. Enough for a hostname (63), `_` and a uuid (36). */
const MAX_CELL_LENGTH = 100;
const MAX_SENTENCE_LENGTH = 2000;

/**
 * Formats a table with left-aligned columns. Cuts long cells, and pads cells to the width in `widths`. The last column
 * may contain sentences: it may be longer, and is not padded.
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
        const text = textOf(cell, isLast ? MAX_SENTENCE_LENGTH : MAX_CELL_LENGTH);
        const painted = typeof cell === 'string' ? text : paint(cell.style, text);
        const padding = ' '.repeat(Math.max(0, (widths[index] ?? 0) - text.length));
        return isLast ? painted : `${painted}${padding}`;
      })
      .join(GAP)
      .trimEnd(),
  );
}

export function widthsOf(rows: readonly (readonly Cell[])[]): readonly number[] {
  const count = Math.max(0, ...rows.map(({ length }) => length));
  return Array.from({ length: count }, (_, index) =>
    Math.max(...rows.map((row) => textOf(row[index] ?? '', MAX_CELL_LENGTH).length)),
  );
}

/** Wraps text at the width `columns`, if set, and indents all lines. A word longer than a line gets its own line. */
export function wrapped(text: string, columns: number | undefined, indent: string, bullet = ''): string {
  const start = `${indent}${bullet}`;
  const said = shortened(printable(text), MAX_SENTENCE_LENGTH);
  if (columns === undefined) return `${start}${said}`;
  const width = Math.max(20, columns - start.length);
  const lines = said.match(new RegExp(`\\S.{0,${width - 1}}(?=\\s|$)|\\S+`, 'g')) ?? [];
  return start + lines.join(`\n${' '.repeat(start.length)}`);
}

export const severityStyles: Readonly<Record<Severity, Style>> = {
  ok: 'good',
  warning: 'warning',
  error: 'bad',
};

export function leaseStyle({ isHeld, waitingFor }: Pick<LeaseStatus, 'isHeld' | 'waitingFor'>): Style {
  if (!isHeld) return 'bad';
  return waitingFor === undefined ? 'good' : 'warning';
}

/** kubectl's text for an unset field. */
export const NONE = '<none>';

export function noneFound(what: string, namespace: string): string {
  if (namespace === '') return `No ${what} found.`;
  return `No ${what} found in ${namespace} namespace; -A looks into all of them.`;
}

/** The indent of the text below the heading of a finding: as wide as the severity and the gap after it. */
export const FINDING_INDENT = ' '.repeat(9);

/** A finding of `audit` or `doctor`, in the form in which it is printed. */
interface PrintedFinding extends Omit<Finding, 'what'> {
  readonly name: string;
  readonly what: readonly string[];
}

export function findingLines(finding: PrintedFinding, { paint, columns }: Layout): readonly string[] {
  const { severity, name, what, meaning, advice, runbook } = finding;
  const lines = (bullet: string, texts: readonly (string | undefined)[]) =>
    texts.flatMap((text) => (text === undefined ? [] : [wrapped(text, columns, FINDING_INDENT, bullet)]));
  return [
    `${paint(severityStyles[severity], severity.toUpperCase().padEnd(7))}  ${paint('strong', name)}`,
    ...lines('', [...what, meaning]),
    ...lines('-> ', [advice, runbook && `Runbook: ${runbook}`]),
  ];
}

/** Formats a value as JSON or YAML. Leaves out undefined fields, and escapes characters that could harm a terminal. */
export function structured(value: object, format: 'json' | 'yaml'): string {
  const json = JSON.stringify(value, undefined, 2);
  return format === 'json' ? `${printableJson(json)}\n` : yaml(JSON.parse(json));
}

/** Prints `value` as JSON or YAML. With another format, prints `lines` instead. */
export function print(
  value: object,
  format: 'table' | 'wide' | 'json' | 'yaml',
  host: Host,
  lines: (layout: Layout) => readonly string[],
): void {
  if (format === 'json' || format === 'yaml') host.stdout.write(structured(value, format));
  else printLines(lines(layoutFor(host)), host);
}

export function printLines(lines: readonly string[], { stdout }: Host): void {
  stdout.write(lines.map((line) => `${line}\n`).join(''));
}

/** Returns a text such as `1 error, 2 warnings`. */
export function countedProblems(findings: readonly { readonly severity: Severity }[]): string {
  const { error = [], warning = [] } = Object.groupBy(findings, ({ severity }) => severity);
  return `${counted(error.length, 'error')}, ${counted(warning.length, 'warning')}`;
}

function textOf(cell: Cell, most: number): string {
  return shortened(printable(typeof cell === 'string' ? cell : cell.text), most);
}

function yaml(value: unknown): string {
  const document = new Document(value, { aliasDuplicateObjects: false });
  visit(document, {
    Scalar(_, node) {
      // `printableJson` writes the escapes of JSON. YAML supports these escapes only in double quotes.
      if (typeof node.value === 'string' && printableJson(node.value) !== node.value)
        node.type = Scalar.QUOTE_DOUBLE;
    },
  });
  return printableJson(document.toString({ lineWidth: 0 }));
}
