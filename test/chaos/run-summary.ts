import type { HistoryEvent, Moment } from '../invariants/history.ts';
import { keyOf, testedLeases } from './cast.ts';
import { type FaultKind, faultKinds } from './fault-plan.ts';
import type { Journaled } from './journal.ts';
import type { Verdict } from './run-check.ts';
import type { RunHistory } from './run-history.ts';

/** A run in numbers. */
export interface Summary {
  /** By kind of fault: how often it was tried, and how often it had an effect. */
  readonly faults: ReadonlyMap<FaultKind, { readonly tried: number; readonly struck: number }>;
  readonly text: string;
}

/** A time in which a Lease had no leader. */
interface Gap {
  readonly key: string;
  readonly from: Moment;
  readonly to: Moment;
}

export function summarize({ journal, events, unattributed }: RunHistory, verdict: Verdict): Summary {
  const faults = countFaults(journal);
  const endedByThemselves = journal.flatMap((entry) =>
    entry.kind === 'ended' && !entry.isOurs && entry.role !== 'candidate'
      ? [`${entry.name} (${entry.how})`]
      : [],
  );
  const writes = events.filter((event) => event.kind === 'lease');
  const given = (kind: 'coordinator' | 'builtIn') =>
    writes.filter(
      ({ writer, before, after }) =>
        writer.kind === kind && after && after.holder !== '' && after.holder !== before?.holder,
    ).length;
  const preferred = writes.filter(
    ({ writer, before, after }) =>
      writer.kind === 'coordinator' &&
      after?.preferredHolder !== undefined &&
      after.preferredHolder !== before?.preferredHolder,
  ).length;
  const gaps = gapsOf(events, journal);
  const lines = [
    'fault                          tried  struck',
    ...faultKinds.map((kind) => {
      const { tried = 0, struck = 0 } = faults.get(kind) ?? {};
      return `${kind.padEnd(30)} ${String(tried).padStart(5)} ${String(struck).padStart(7)}`;
    }),
    '',
    `Leases given by this coordinator: ${given('coordinator')}, by the built-in: ${given('builtIn')}; preferences: ${preferred}`,
    `leader changes: ${leaderChanges(events)}; writes of Leases: ${writes.length}; of unknown senders, of all: ${unattributed}`,
    `turns of coordinators: ${turns(events)}`,
    ...(endedByThemselves.length > 0 ? [`ended by themselves: ${endedByThemselves.join(', ')}`] : []),
    'longest time without a leader, by what went on meanwhile:',
    ...longestByCause(gaps, journal).map(
      ([cause, { key, from, to }]) => `  ${((to - from) / 1000).toFixed(1).padStart(6)} s  ${cause} (${key})`,
    ),
    `violations: ${verdict.violations.length}; by the built-in coordinator: ${verdict.ofBuiltIn.length}`,
    ...verdict.violations.map(({ at, what }) => `  VIOLATION at ${secondsIn(journal, at)} s: ${what}`),
    ...verdict.ofBuiltIn.map(({ at, what }) => `  (built-in) at ${secondsIn(journal, at)} s: ${what}`),
  ];
  return { faults, text: lines.join('\n') };
}

function secondsIn(journal: readonly Journaled[], at: Moment): string {
  return ((at - (journal[0]?.at ?? 0)) / 1000).toFixed(3);
}

function countFaults(journal: readonly Journaled[]): Map<FaultKind, { tried: number; struck: number }> {
  const faults = new Map<FaultKind, { tried: number; struck: number }>();
  for (const entry of journal) {
    if (entry.kind !== 'faultOver') continue;
    const counts = faults.get(entry.fault) ?? { tried: 0, struck: 0 };
    faults.set(entry.fault, counts);
    counts.tried += 1;
    counts.struck += entry.struck ? 1 : 0;
  }
  return faults;
}

function leaderChanges(events: readonly HistoryEvent[]): number {
  const leaders = new Map<string, string>();
  let changes = 0;
  for (const event of events) {
    if (event.kind !== 'leads' || leaders.get(event.key) === event.who) continue;
    leaders.set(event.key, event.who);
    changes += 1;
  }
  return changes;
}

function turns(events: readonly HistoryEvent[]): string {
  const counts = new Map<string, number>();
  let last = '';
  for (const event of events) {
    if (event.kind !== 'coordinates' || event.who === last) continue;
    last = event.who;
    counts.set(last, (counts.get(last) ?? 0) + 1);
  }
  return [...counts].map(([who, count]) => `${who} ${count}`).join(', ');
}

function gapsOf(events: readonly HistoryEvent[], journal: readonly Journaled[]): readonly Gap[] {
  const end = journal.find(({ kind }) => kind === 'settled' || kind === 'end')?.at ?? events.at(-1)?.at ?? 0;
  return testedLeases.map(keyOf).flatMap((key) => {
    const gaps: Gap[] = [];
    const leaders = new Map<string, Moment>();
    // Time before the first leader does not count.
    let freeFrom: Moment | undefined;
    for (const event of events) {
      if (event.at > end || !('key' in event) || event.key !== key) continue;
      if (event.kind !== 'leads' && event.kind !== 'follows') continue;
      for (const [who, until] of leaders) {
        if (until > event.at) continue;
        leaders.delete(who);
        if (leaders.size === 0) freeFrom = until;
      }
      if (event.kind === 'follows') {
        if (leaders.delete(event.who) && leaders.size === 0) freeFrom = event.at;
        continue;
      }
      if (event.until <= event.at) continue;
      if (leaders.size === 0 && freeFrom !== undefined) gaps.push({ key, from: freeFrom, to: event.at });
      leaders.set(event.who, event.until);
    }
    if (leaders.size === 0 && freeFrom !== undefined && freeFrom < end)
      gaps.push({ key, from: freeFrom, to: end });
    return gaps;
  });
}

/** A fault has effects after its end: locks and Leases must expire, and programs restart. */
const AFTERMATH_MS = 20_000;

/** The likeliest causes, most far-reaching first, because many faults overlap. */
const causes: readonly (readonly [cause: string, pattern: RegExp])[] = [
  ['all coordinators away', /^coordinators away/],
  ['gate off', /^gate/],
  ['etcd', /^etcd/],
  ['API server', /^API server/],
  ['coordinator', /^coordinator/],
  ['Lease or LeaseCandidate by a third hand', /^Lease/],
  ['candidate', /^candidate/],
];

function longestByCause(
  gaps: readonly Gap[],
  journal: readonly Journaled[],
): readonly (readonly [string, Gap])[] {
  const spans = faultSpans(journal);
  const longest = new Map<string, Gap>();
  for (const gap of gaps) {
    const during = spans.filter(({ from, to }) => from < gap.to && to + AFTERMATH_MS > gap.from);
    const cause =
      causes.find(([, pattern]) => during.some(({ fault }) => pattern.test(fault)))?.[0] ?? 'none';
    const known = longest.get(cause);
    if (known === undefined || gap.to - gap.from > known.to - known.from) longest.set(cause, gap);
  }
  return [...longest].toSorted(([, a], [, b]) => b.to - b.from - (a.to - a.from));
}

function faultSpans(journal: readonly Journaled[]) {
  const spans: { readonly fault: FaultKind; readonly victim: string; readonly from: Moment; to: Moment }[] =
    [];
  for (const entry of journal) {
    if (entry.kind === 'fault') {
      const { fault, victim, at } = entry;
      spans.push({ fault, victim, from: at, to: Number.POSITIVE_INFINITY });
    } else if (entry.kind === 'faultOver') {
      const open = spans.find(
        ({ fault, victim, to }) =>
          fault === entry.fault && victim === entry.victim && to === Number.POSITIVE_INFINITY,
      );
      if (open) open.to = entry.at;
    }
  }
  return spans;
}
