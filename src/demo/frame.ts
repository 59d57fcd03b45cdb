import { styleText } from 'node:util';
import { printable } from '../support/text.ts';
import {
  type CandidateRow,
  type Condition,
  type DemoEvent,
  type DemoState,
  type LeaseState,
  seconds,
  timeOfDay,
} from './demo-state.ts';
import type { DemoCommands } from './sample-cast.ts';

export interface FrameSize {
  readonly columns: number;
  readonly rows: number;
}

export interface FrameSurroundings {
  readonly address: string;
  readonly hints: readonly string[];
}

export const KEYS: Readonly<Record<string, { readonly label: string; readonly command: KeyCommand }>> = {
  k: { label: 'kill leader', command: 'killLeader' },
  p: { label: 'pause/resume', command: 'pauseOrResume' },
  o: { label: 'add older', command: 'addOlder' },
  c: { label: 'conflict/end', command: 'conflictOrResolve' },
  r: { label: 'restart', command: 'restartCrashed' },
  q: { label: 'quit', command: 'quit' },
};

export type KeyCommand = keyof DemoCommands | 'quit';

type Style = Parameters<typeof styleText>[0];

const CONDITION_STYLES: Partial<Readonly<Record<Condition, Style>>> = {
  leading: 'green',
  elected: 'green',
  preferred: 'green',
  yielding: 'yellow',
  paused: 'yellow',
  awaiting: 'yellow',
  crashed: 'red',
  unresponsive: 'red',
  idle: 'dim',
};

/**
 * Wanted number of lines for events. If there is less room, the frame omits the title, the gaps and the hints. If this
 * is not enough, the frame also shortens the table, but not below half of the remaining room.
 */
const WANTED_LOG_LINES = 6;
const MAX_BAR_LENGTH = 40;
const NAME_COLUMNS = 24;

/** Renders a state with colours, in at most `rows` lines. The terminal cuts lines that are too long. */
export function renderFrame(
  state: DemoState,
  { address, hints }: FrameSurroundings,
  { columns, rows }: FrameSize,
): readonly string[] {
  const title = 'coordinated-leader-election: demo';
  const spaces = ' '.repeat(Math.max(2, columns - title.length - address.length));
  const head = `${paint(['bold', 'cyan'], title)}${spaces}${paint('bold', address)}`;
  const lease = leaseLines(state, columns);
  const labels = Object.entries(KEYS).map(([key, { label }]) => `${key} ${label}`);
  const keys = flow(labels, columns).map((line) => paint('bold', line));
  const hintLines = hints.flatMap((hint) => wrapText(hint, columns)).map((line) => paint('dim', line));

  const roomy = { above: [head, '', ...lease, ''], gap: [''], below: ['', ...keys, ...hintLines] };
  const compact = { above: lease, gap: [], below: keys };
  const roomIn = ({ above, gap, below }: typeof roomy) => rows - above.length - gap.length - below.length;
  const wanted = state.candidates.length + 1 + WANTED_LOG_LINES;
  const { above, gap, below } = roomIn(roomy) >= wanted ? roomy : compact;
  const room = Math.max(0, rows - above.length - gap.length - below.length);
  const table = tableLines(state, Math.max(room - WANTED_LOG_LINES, Math.ceil(room / 2)));
  const log = logLines(state.events, room - table.length, columns);
  return [...above, ...table, ...gap, ...log, ...below].slice(0, rows);
}

/** Wraps text at `columns`. Splits a word that is longer than a line. */
export function wrapText(text: string, columns: number): readonly string[] {
  const width = Math.max(1, columns);
  return text.match(new RegExp(`\\S.{0,${width - 1}}(?=\\s|$)|\\S{1,${width}}`, 'g')) ?? [''];
}

/**
 * Adds colours. showLive() removes them if NO_COLOR is set to any text, or if the terminal has no colours.
 * `validateStream: false` keeps styleText() from checking `process.stdout`: the demo writes to `Host.stdout`.
 */
function paint(style: Style | undefined, text: string): string {
  return style === undefined ? text : styleText(style, text, { validateStream: false });
}

function leaseLines({ leaseKey, lease, reason }: DemoState, columns: number): readonly string[] {
  const title = `${paint('dim', 'Lease')} ${paint('bold', leaseKey)}  ${reason}`;
  if (!lease) return [title, paint('dim', 'does not exist yet')];
  const facts = [
    `holder ${printable(lease.holder) || '-'}`,
    `preferred ${printable(lease.preferredHolder) || '-'}`,
    `transitions ${lease.transitions}`,
    `strategy ${printable(lease.strategy) || '-'}`,
  ];
  return [title, ...flow(facts, columns), barOf(lease, columns)];
}

function barOf({ holder, durationMs, remainingMs }: LeaseState, columns: number): string {
  if (holder === '') return paint('yellow', 'no candidate holds it');
  if (remainingMs === 0) return paint('yellow', 'it has expired');
  const left = `${seconds(remainingMs)} of ${seconds(durationMs)} left`;
  const width = Math.max(0, Math.min(MAX_BAR_LENGTH, columns - left.length - 4));
  const full = Math.min(width, Math.ceil((width * remainingMs) / durationMs));
  const style = remainingMs < durationMs / 3 ? 'yellow' : 'green';
  return `[${paint(style, '#'.repeat(full))}${paint('dim', '.'.repeat(width - full))}]  ${left}`;
}

/** Renders the table of candidates with its heading, in at most `rows` lines. */
function tableLines({ candidates, lease }: DemoState, rows: number): readonly string[] {
  const widest = (texts: readonly string[]) => Math.max(...texts.map(({ length }) => length));
  const width = Math.min(NAME_COLUMNS, widest(['CANDIDATE', ...candidates.map(({ name }) => name)]));
  const versions = widest(['VERSION', ...candidates.map(({ binaryVersion }) => binaryVersion)]);
  const emulated = widest(['EMULATES', ...candidates.map(({ emulationVersion }) => emulationVersion)]);
  const line = (name: string, version: string, emulates: string) =>
    `${name.slice(0, width).padEnd(width)}  ${version.padEnd(versions)}  ${emulates.padEnd(emulated)}  `;
  const shown = candidates.length < rows ? candidates : candidates.slice(0, Math.max(0, rows - 2));
  const more = candidates.length - shown.length;
  return [
    paint('dim', `  ${line('CANDIDATE', 'VERSION', 'EMULATES')}STATE`),
    ...shown.map((row) => {
      const { name, binaryVersion, emulationVersion, condition } = row;
      const facts = printable(line(name, binaryVersion, emulationVersion));
      const state = paint(CONDITION_STYLES[condition], condition);
      return `${markOf(row, lease)}${facts}${state}${preferenceOf(row, lease)}`;
    }),
    ...(more > 0 ? [paint('dim', `  and ${more} more`)] : []),
  ].slice(0, rows);
}

/** Returns the mark before a candidate: `*` for the holder, `>` for the preferredHolder. */
function markOf({ name }: CandidateRow, lease: LeaseState | undefined): string {
  if (lease?.holder === name) return paint('bold', '* ');
  return lease?.preferredHolder === name ? paint('bold', '> ') : '  ';
}

function preferenceOf({ strategy }: CandidateRow, lease: LeaseState | undefined): string {
  const isUsual = !lease || lease.strategy === '' || strategy === lease.strategy;
  return isUsual ? '' : paint('yellow', `, wants ${printable(strategy)}`);
}

/** Renders the last events. Adds empty lines up to `rows` lines, so that the parts below do not move. */
function logLines(events: readonly DemoEvent[], rows: number, columns: number): readonly string[] {
  const lines: string[] = [];
  for (const event of events.toReversed()) {
    const added = eventLines(event, columns);
    if (lines.length + added.length > rows) break;
    lines.unshift(...added);
  }
  return [...lines, ...Array.from({ length: rows - lines.length }, () => '')];
}

function eventLines({ at, who, text, isTrouble }: DemoEvent, columns: number): readonly string[] {
  const time = `${timeOfDay(at)} `;
  return wrapText(printable(`${who} ${text}`), columns - time.length).map((line, index) => {
    const start = index === 0 ? paint('dim', time) : ' '.repeat(time.length);
    return `${start}${paint(isTrouble ? 'yellow' : undefined, line)}`;
  });
}

/** Joins cells into lines and starts a new line when a cell does not fit. */
function flow(cells: readonly string[], columns: number): readonly string[] {
  const lines: string[] = [];
  for (const cell of cells) {
    const longer = [...lines.slice(-1), cell].join('  ');
    if (lines.length > 0 && longer.length <= columns) lines[lines.length - 1] = longer;
    else lines.push(cell);
  }
  return lines;
}
