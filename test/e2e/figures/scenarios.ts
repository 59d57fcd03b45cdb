import { setTimeout as sleep } from 'node:timers/promises';
import { candidatePath } from '../../control-plane/cluster-objects.ts';
import type { ElectorSpec } from '../../control-plane/electors.ts';
import { findOverlaps, type Overlap } from '../../control-plane/leaderships.ts';
import type { Change, WatchedLease } from '../../control-plane/watched-objects.ts';
import { candidateName, electorOf, leaseNames, leaseOf } from './casts.ts';
import type { ElectorStage } from './contender.ts';
import { FRESHNESS_MS, firstOf, isHeld, MAX_WAIT_MS, waitBetween } from './waits.ts';

/** The times and costs of several elections. */
export interface Elections {
  /** One for each Lease, in milliseconds; Infinity if it had no leader at the end of the wait. */
  readonly waits: readonly number[];
  /** The coordinator's API calls per election. */
  readonly callsPerElection: number;
  /** How often candidates had to answer pings, per election. */
  readonly acksPerElection: number;
}

/** The results of Leases that changed hands in every possible way. */
export interface HandOvers {
  readonly leases: number;
  /** The program that led has ended. Its LeaseCandidate stays, and answers no more. */
  readonly afterRelease: Elections;
  /** The same, but its LeaseCandidate was deleted as well. */
  readonly afterWithdrawal: Elections;
  /** From a better candidate's creation until it was the preferredHolder. */
  readonly untilPreferred: readonly number[];
  /** From the expiry of the Lease that the old holder then stopped renewing. */
  readonly afterYielding: readonly number[];
  readonly afterExpiry: Elections;
  /** The coordinator's API calls per Lease and minute while its dead former leader is still a candidate. */
  readonly callsBesideDeadPerMinute: number;
  readonly overlaps: readonly Overlap[];
}

/** From the first candidate of each of `count` new Leases to its first holder. */
export async function measureFirstElections(stage: ElectorStage, count: number): Promise<readonly number[]> {
  const { electors, namespace, leases, candidates } = stage;
  const names = leaseNames('first', count);
  const waits = names.map(async (lease) => {
    const held = await firstOf(
      leases.waitFor(namespace, lease, isHeld, { timeoutMs: MAX_WAIT_MS + (count * 1000) / 20 }),
    );
    const firstSeenAt = Math.min(
      ...[34, 35, 36].map(
        (minor) =>
          candidates.history(namespace, candidateName(lease, minor))[0]?.wallMs ?? Number.POSITIVE_INFINITY,
      ),
    );
    return held === undefined ? Number.POSITIVE_INFINITY : Math.max(0, held.wallMs - firstSeenAt);
  });
  const starts = names.flatMap((lease) =>
    [34, 35, 36].map((minor) => electors.start(electorOf(stage, lease, minor))),
  );
  await Promise.all(starts);
  return Promise.all(waits);
}

/**
 * Makes each of `count` Leases with three candidates or more released, taken over by a better one, and lost by a
 * crash.
 */
export async function measureHandOvers(stage: ElectorStage, count: number): Promise<HandOvers> {
  const { electors, contender, namespace } = stage;
  const names = leaseNames('handed', count);
  await startLeaders(stage, names, 34, { releaseOnCancel: true });
  await startSpares(stage, names, [35, 36, 37], (minor) => ({ releaseOnCancel: minor === 35 }));

  const afterWithdrawal = await countElections(stage, count, () =>
    measureReleases(stage, names, 34, 'delete'),
  );
  await untilLeading(stage, names, 35);
  await sleep(FRESHNESS_MS);
  const afterRelease = await countElections(stage, count, () => measureReleases(stage, names, 35, 'stop'));
  await untilLeading(stage, names, 36);
  // A dead candidate must not affect later measurements.
  await Promise.all(
    names.map((lease) =>
      contender.plane.request('DELETE', candidatePath({ namespace, name: candidateName(lease, 35) })),
    ),
  );
  const { untilPreferred, afterYielding } = await measureYields(stage, names);
  await untilLeading(stage, names, 33);
  const afterExpiry = await countElections(stage, count, () => measureCrashes(stage, names, 33));

  const from = Date.now();
  await sleep(12_000);
  const calls = await contender.calls(namespace, from, from + 12_000);
  return {
    leases: count,
    afterRelease,
    afterWithdrawal,
    untilPreferred,
    afterYielding,
    afterExpiry,
    callsBesideDeadPerMinute: (calls.length * 5) / count,
    overlaps: findOverlaps(electors.events, leaseOf),
  };
}

async function startLeaders(
  stage: ElectorStage,
  names: readonly string[],
  minor: number,
  spec: Partial<ElectorSpec> = {},
): Promise<void> {
  await Promise.all(names.map((lease) => stage.electors.start(electorOf(stage, lease, minor, spec))));
  await untilLeading(stage, names, minor);
}

async function startSpares(
  stage: ElectorStage,
  names: readonly string[],
  minors: readonly number[],
  specOf: (minor: number) => Partial<ElectorSpec> = () => ({}),
): Promise<void> {
  const { electors } = stage;
  const specs = names.flatMap((lease) =>
    minors.map((minor) => electorOf(stage, lease, minor, specOf(minor))),
  );
  await Promise.all(specs.map((spec) => electors.start(spec)));
  await Promise.all(
    specs.map(({ id }) => electors.waitFor({ id, event: 'candidateCreated' }, { timeoutMs: 120_000 })),
  );
  await sleep(FRESHNESS_MS);
}

/** Waits until each leads and has renewed, so that its Lease lasts the 15 s of client-go from now on. */
async function untilLeading(
  { electors, namespace, leases }: ElectorStage,
  names: readonly string[],
  minor: number,
): Promise<void> {
  const timeoutMs = 240_000;
  await Promise.all(
    names.map(async (lease) => {
      const id = candidateName(lease, minor);
      await electors.waitFor({ id, event: 'startedLeading' }, { timeoutMs });
      const isRenewed = ({ spec }: WatchedLease) =>
        spec.holderIdentity === id && spec.leaseDurationSeconds === 15;
      await leases.waitFor(namespace, lease, isRenewed, { timeoutMs });
    }),
  );
}

/** From a clean release to the next holder. */
function measureReleases(
  { electors, namespace, leases }: ElectorStage,
  names: readonly string[],
  minor: number,
  fate: 'stop' | 'delete',
): Promise<number[]> {
  return Promise.all(
    names.map(async (lease) => {
      const since = leases.history(namespace, lease).length;
      await electors.release(candidateName(lease, minor), fate);
      const isReleased = ({ spec }: WatchedLease) => spec.holderIdentity === '';
      const released = await leases.waitFor(namespace, lease, isReleased, { since, timeoutMs: 30_000 });
      const from = leases.history(namespace, lease).indexOf(released);
      const next = await firstOf(
        leases.waitFor(namespace, lease, isHeld, { since: from, timeoutMs: MAX_WAIT_MS }),
      );
      return waitBetween(released.wallMs, next);
    }),
  );
}

/** A better candidate appears: until it is preferred, and from the expiry of the old holder's Lease until it leads. */
async function measureYields(stage: ElectorStage, names: readonly string[]) {
  const { electors, namespace, leases, candidates } = stage;
  const yields = await Promise.all(
    names.map(async (lease) => {
      const better = candidateName(lease, 33);
      const since = leases.history(namespace, lease).length;
      await electors.start(electorOf(stage, lease, 33));
      const appeared = await candidates.waitFor(namespace, better, () => true, { timeoutMs: 30_000 });
      const preferred = await firstOf(
        leases.waitFor(namespace, lease, ({ spec }) => spec.preferredHolder === better, {
          since,
          timeoutMs: MAX_WAIT_MS,
        }),
      );
      const held = await firstOf(
        leases.waitFor(namespace, lease, ({ spec }) => spec.holderIdentity === better, {
          since,
          timeoutMs: MAX_WAIT_MS,
        }),
      );
      return {
        untilPreferred: waitBetween(appeared.wallMs, preferred),
        afterYielding: waitSinceExpiry(leases.history(namespace, lease), held),
      };
    }),
  );
  return {
    untilPreferred: yields.map(({ untilPreferred }) => untilPreferred),
    afterYielding: yields.map(({ afterYielding }) => afterYielding),
  };
}

/** From the expiry of a crashed leader's Lease to its next holder. */
function measureCrashes(
  { electors, namespace, leases }: ElectorStage,
  names: readonly string[],
  minor: number,
): Promise<number[]> {
  return Promise.all(
    names.map(async (lease) => {
      const dead = candidateName(lease, minor);
      const since = leases.history(namespace, lease).length;
      await electors.crash(dead);
      const isNext = (next: WatchedLease, type: string) =>
        isHeld(next, type) && next.spec.holderIdentity !== dead;
      const next = await firstOf(
        leases.waitFor(namespace, lease, isNext, { since, timeoutMs: 15_000 + MAX_WAIT_MS }),
      );
      return waitSinceExpiry(leases.history(namespace, lease), next);
    }),
  );
}

/** How long after the expiry of the previous record, by its holder's renewTime, `next` was written. */
function waitSinceExpiry(
  history: readonly Change<WatchedLease>[],
  next: Change<WatchedLease> | undefined,
): number {
  if (!next) return Number.POSITIVE_INFINITY;
  const { renewTime = '', leaseDurationSeconds = Number.NaN } =
    history[history.indexOf(next) - 1]?.object.spec ?? {};
  return next.wallMs - (Date.parse(renewTime) + leaseDurationSeconds * 1000);
}

/** The cost of elections for the API server, from their cause until the last of them is over. */
async function countElections(
  { contender, electors, namespace }: ElectorStage,
  count: number,
  elect: () => Promise<readonly number[]>,
): Promise<Elections> {
  const mark = electors.events.length;
  const from = Date.now();
  const waits = await elect();
  const to = Date.now();
  const acks = electors.events.slice(mark).filter(({ event }) => event === 'candidateRenewed');
  return {
    waits,
    callsPerElection: (await contender.calls(namespace, from, to)).length / count,
    acksPerElection: acks.length / count,
  };
}
