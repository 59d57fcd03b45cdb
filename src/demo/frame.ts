import {
  type CandidateRow,
  type Condition,
  type DemoState,
  describeHappening,
  type Happening,
  type LeaseState,
  seconds,
  timeOfDay,
} from './demo-state.ts';

/** The size of the screen, in characters. */
export interface FrameSize {
  readonly columns: number;
  readonly rows: number;
}

/** The parts of the screen that never change. */
export interface FrameSurroundings {
  /** The URL of the status page. */
  readonly address: string;
  /** Hints for the next steps, one per line. */
  readonly hints: readonly string[];
}

const KEYS: readonly (readonly [key: string, effect: string])[] = [
  ['k', 'kill leader'],
  ['p', 'pause/go on'],
  ['o', 'add older'],
  ['c', 'conflict/end'],
  ['r', 'restart'],
  ['q', 'quit'],
];

const CONDITION_STYLES: Readonly<Record<Condition, Style | undefined>> = {
  leading: 'good',
  yielding: 'warning',
  elected: 'good',
  preferred: 'good',
  pinged: 'warning',
  fresh: undefined,
  idle: 'dim',
  paused: 'warning',
  crashed: 'bad',
};

/** Minimum lines for events. Other parts shrink for them. */
const WANTED_LOG_LINES = 6;
const MAX_BAR_LENGTH = 40;
const NAME_COLUMNS = 24;

/** Renders a state in at most `rows` lines of `columns`. The least important parts are dropped first. */
export function renderFrame(
  state: DemoState,
  surroundings: FrameSurroundings,
  size: FrameSize,
): readonly StyledLine[] {
  const head = titleOf(surroundings, size);
  const lease = leaseLines(state, size);
  const hints = surroundings.hints.flatMap((hint) =>
    wrapText(hint, size.columns).map((text) => [span(text, 'dim')]),
  );
  const keys = keyLines(size);
  const gap: StyledLine = [];
  const count = state.candidates.length + 1;

  // From the largest to the smallest layout: takes the first one that leaves enough lines for events.
  const layouts = [
    { above: [head, gap, ...lease, gap], below: [gap, ...keys, ...hints], gapAfterTable: [gap] },
    { above: [head, ...lease], below: [...keys, ...hints], gapAfterTable: [gap] },
    { above: [head, ...lease], below: keys, gapAfterTable: [] },
    { above: lease, below: keys.slice(0, 1), gapAfterTable: [] },
  ];
  const roomIn = ({ above, below, gapAfterTable }: (typeof layouts)[number]) =>
    size.rows - above.length - below.length - gapAfterTable.length;
  const layout = layouts.find((each) => roomIn(each) >= count + WANTED_LOG_LINES) ?? layouts.at(-1);
  if (!layout) return [];
  const room = Math.max(0, roomIn(layout));
  const table = tableLines(state, Math.min(count, Math.max(room - WANTED_LOG_LINES, Math.ceil(room / 2))));
  const log = logLines(state.happenings, room - table.length, size);
  return [...layout.above, ...table, ...layout.gapAfterTable, ...log, ...layout.below]
    .slice(0, size.rows)
    .map((line) => cutLine(line, size.columns));
}

/** The role of a piece of text, shown by its colour. */
export type Style = 'title' | 'strong' | 'dim' | 'good' | 'warning' | 'bad';

/** A piece of a line. */
export interface Span {
  readonly text: string;
  readonly style?: Style;
}

/** A line of the screen. Each character is one column wide. */
export type StyledLine = readonly Span[];

export function span(text: string, style?: Style): Span {
  return style === undefined ? { text } : { text, style };
}

export function textOf(line: StyledLine): string {
  return line.map(({ text }) => text).join('');
}

/** Cuts a line to `columns`, with a `~` at its end. */
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

/** Wraps text at `columns`. A longer word is split. */
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

/** Makes text from the cluster safe to print: replaces escape sequences and wide characters. */
export function harmless(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '?');
}

function titleOf(surroundings: FrameSurroundings, { columns }: FrameSize): StyledLine {
  const title = 'coordinated-leader-election: demo';
  const address = harmless(surroundings.address);
  const spaces = ' '.repeat(Math.max(2, columns - title.length - address.length));
  return [span(title, 'title'), span(spaces), span(address, 'strong')];
}

function leaseLines({ leaseKey, lease, reason }: DemoState, { columns }: FrameSize): readonly StyledLine[] {
  const title = [span('Lease ', 'dim'), span(leaseKey, 'strong'), span(`  ${reason ?? 'not decided yet'}`)];
  if (!lease) return [title, [span('there is none yet', 'dim')]];
  const facts = [
    `holder ${harmless(lease.holder) || '-'}`,
    `preferred ${harmless(lease.preferredHolder) || '-'}`,
    `transitions ${lease.transitions}`,
    `strategy ${harmless(lease.strategy) || '-'}`,
  ];
  return [title, ...flow(facts, columns).map((line) => [span(line)]), barOf(lease, columns)];
}

function barOf({ holder, durationMs, remainingMs }: LeaseState, columns: number): StyledLine {
  if (holder === '') return [span('nobody holds it', 'warning')];
  if (remainingMs === 0) return [span('it has run out', 'warning')];
  const left = `${seconds(remainingMs)} of ${seconds(durationMs)} left`;
  const width = Math.min(MAX_BAR_LENGTH, columns - left.length - 4);
  if (width < 3) return [span(left)];
  const full = Math.min(width, Math.ceil((width * remainingMs) / durationMs));
  const style = remainingMs < durationMs / 3 ? 'warning' : 'good';
  return [
    span('['),
    span('#'.repeat(full), style),
    span('.'.repeat(width - full), 'dim'),
    span(`]  ${left}`),
  ];
}

/** Renders the table of candidates in at most `rows` lines, with its heading. */
function tableLines({ candidates, lease }: DemoState, rows: number): readonly StyledLine[] {
  if (rows <= 0) return [];
  const width = Math.min(NAME_COLUMNS, Math.max(9, ...candidates.map(({ name }) => name.length)));
  const versions = Math.max(7, ...candidates.map(({ binaryVersion }) => binaryVersion.length));
  const emulated = Math.max(8, ...candidates.map(({ emulationVersion }) => emulationVersion.length));
  const line = (name: string, version: string, emulates: string) =>
    `${name.slice(0, width).padEnd(width)}  ${version.padEnd(versions)}  ${emulates.padEnd(emulated)}  `;
  const heading = [span(`  ${line('CANDIDATE', 'VERSION', 'EMULATES')}STATE`, 'dim')];
  const shown = candidates.length < rows ? candidates : candidates.slice(0, rows - 2);
  const more = candidates.length - shown.length;
  return [
    heading,
    ...shown.map((row) => [
      span(markOf(row), 'strong'),
      span(harmless(line(row.name, row.binaryVersion, row.emulationVersion))),
      span(row.condition, CONDITION_STYLES[row.condition]),
      ...wishOf(row, lease),
    ]),
    ...(more > 0 ? [[span(`  and ${more} more`, 'dim')]] : []),
  ].slice(0, rows);
}

/** `*` for the holder, `>` for the preferredHolder. */
function markOf({ isHolder, isPreferred }: CandidateRow): string {
  return isHolder ? '* ' : isPreferred ? '> ' : '  ';
}

function wishOf({ strategy }: CandidateRow, lease: LeaseState | undefined): StyledLine {
  const isUsual = !lease || lease.strategy === '' || strategy === lease.strategy;
  return isUsual ? [] : [span(`, wants ${harmless(strategy)}`, 'warning')];
}

/** Renders the last events, padded to `rows` lines so that the parts below do not move. */
function logLines(
  happenings: readonly Happening[],
  rows: number,
  { columns }: FrameSize,
): readonly StyledLine[] {
  const lines: StyledLine[] = [];
  for (const happening of happenings.toReversed()) {
    const added = happeningLines(happening, columns);
    if (lines.length + added.length > rows) break;
    lines.unshift(...added);
  }
  while (lines.length < rows) lines.push([]);
  return lines;
}

function happeningLines(happening: Happening, columns: number): readonly StyledLine[] {
  const time = `${timeOfDay(happening.at)} `;
  const style = happening.isTrouble ? 'warning' : undefined;
  return wrapText(harmless(describeHappening(happening)), columns - time.length).map((text, index) => [
    index === 0 ? span(time, 'dim') : span(' '.repeat(time.length)),
    span(text, style),
  ]);
}

function keyLines({ columns }: FrameSize): readonly StyledLine[] {
  return flow(
    KEYS.map(([key, effect]) => `${key} ${effect}`),
    columns,
  ).map((line) => [span(line, 'strong')]);
}

/** Fills lines with cells, in their order. */
function flow(cells: readonly string[], columns: number): readonly string[] {
  const lines: string[] = [];
  for (const cell of cells) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 2 + cell.length <= columns)
      lines[lines.length - 1] = `${last}  ${cell}`;
    else lines.push(cell);
  }
  return lines;
}
