import { setTimeout as sleep } from 'node:timers/promises';
import type { ElectorEvent } from '../../control-plane/electors.ts';
import { findOverlaps, type Overlap } from '../../control-plane/leaderships.ts';
import { seededRandom } from '../../support/seeded-random.ts';
import { isWrite } from '../audit-log.ts';
import { BEST, candidateName, electorOf, leaseNames, leaseOf } from './casts.ts';
import type { ElectorStage } from './contender.ts';
import { firstOf, MAX_WAIT_MS } from './waits.ts';

/** The first start of components whose candidates appeared one after the other. */
export interface FirstStart {
  readonly leases: number;
  readonly candidates: number;
  /** For each Lease, the time from its first candidate's creation until the best one led; Infinity if it never did. */
  readonly untilBestLeads: readonly number[];
  /** For each Lease, the coordinator's accepted writes until then. */
  readonly writes: readonly number[];
  /** For each Lease, how often its holder was asked to yield until then. */
  readonly yields: readonly number[];
  readonly overlaps: readonly Overlap[];
}

/** Number of components, and of programs of each. */
export type FirstStartScale = Pick<FirstStart, 'leases' | 'candidates'>;

/** The time over which the candidates of a Lease appear. */
const ARRIVAL_MS = 2_000;

/** Starts components whose programs appear over two seconds, with the best one not first. */
export async function measureFirstStart(
  stage: ElectorStage,
  { leases: count, candidates }: FirstStartScale,
): Promise<FirstStart> {
  const { electors, contender, namespace, leases } = stage;
  const names = leaseNames('started', count);
  const minors = Array.from({ length: candidates }, (_, index) => BEST + index);
  const random = seededRandom(count);
  const from = Date.now();
  const ends = await Promise.all(
    names.map(async (lease) => {
      await Promise.all(
        arrivals(minors, random).map(async ({ minor, afterMs }) => {
          await sleep(afterMs);
          await electors.start(electorOf(stage, lease, minor));
        }),
      );
      const best = { id: candidateName(lease, BEST), event: 'startedLeading' } as const;
      const led = await firstOf(electors.waitFor(best, { timeoutMs: MAX_WAIT_MS }));
      return { lease, endedAt: led ? msOf(led) : Number.POSITIVE_INFINITY };
    }),
  );
  const calls = (await contender.calls(namespace, from, Date.now())).filter(
    (call) => call.resource === 'leases' && isWrite(call) && call.status < 300,
  );
  return {
    leases: count,
    candidates,
    untilBestLeads: ends.map(({ lease, endedAt }) => endedAt - firstCreation(electors.events, lease)),
    writes: ends.map(
      ({ lease, endedAt }) =>
        calls.filter(({ name, receivedAt }) => name === lease && receivedAt < endedAt).length,
    ),
    yields: ends.map(({ lease, endedAt }) => {
      const preferred = leases
        .history(namespace, lease)
        .filter(({ wallMs }) => wallMs < endedAt)
        .map(({ object }) => object.spec.preferredHolder ?? '');
      return preferred.filter((name, index) => name !== '' && name !== preferred[index - 1]).length;
    }),
    overlaps: findOverlaps(electors.events, leaseOf),
  };
}

/**
 * The start times of `minors`: in random order at random times within two seconds, but the best one is not the first.
 */
export function arrivals(
  minors: readonly number[],
  random: () => number,
): readonly { readonly afterMs: number; readonly minor: number }[] {
  const best = Math.min(...minors);
  const [first = best, ...others] = shuffled(
    minors.filter((minor) => minor !== best),
    random,
  );
  const times = minors.map(() => random() * ARRIVAL_MS).sort((a, b) => a - b);
  return [first, ...shuffled([best, ...others], random)].map((minor, index) => ({
    afterMs: times[index] ?? ARRIVAL_MS,
    minor,
  }));
}

function shuffled<T>(items: readonly T[], random: () => number): readonly T[] {
  return items
    .map((item) => ({ item, rank: random() }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ item }) => item);
}

function firstCreation(events: readonly ElectorEvent[], lease: string): number {
  const first = events.find(({ id, event }) => event === 'candidateCreated' && leaseOf(id) === lease);
  return first ? msOf(first) : Number.NaN;
}

function msOf({ wallMicros }: ElectorEvent): number {
  return wallMicros / 1000;
}
