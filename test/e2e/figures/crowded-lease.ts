import { setTimeout as sleep } from 'node:timers/promises';
import { BEST, candidateName, castOf, leaseNames } from './casts.ts';
import type { Logged, SimStage } from './contender.ts';
import { type ProcessUsage, watchUsage } from './process-usage.ts';
import type { SimProgram } from './sim-programs.ts';
import { FRESHNESS_MS, firstOf, isHeld, MAX_WAIT_MS, untilLedBy, waitBetween } from './waits.ts';

/** The size of the scenario. */
export interface CrowdedLeaseScale {
  /** Number of candidates of one Lease that never answer. */
  readonly silent: number;
  /** Number of other Leases, with three candidates each. */
  readonly others: number;
}

/** Leases whose holders released them: their times and costs. */
export interface Releases {
  /** From each release to the next holder. */
  readonly waits: readonly number[];
  /** Of the coordinator's process. */
  readonly usage: ProcessUsage;
  /** Per second, by that process. */
  readonly logged: Logged;
  /** The coordinator's requests per second. */
  readonly callsPerSecond: number;
}

/** The same Leases without and with a crowded one beside them. */
export interface CrowdedLease extends CrowdedLeaseScale {
  readonly alone: Releases;
  readonly beside: Releases;
}

const RENEW_EVERY_MS = 4_000;
/** Long enough for every ping of a round to time out while others are released. */
const RELEASES_WITHIN_MS = 6_000;

/** Makes holders release their Leases and exit, first alone, then beside a Lease without electable candidates. */
export async function measureCrowdedLease(
  stage: SimStage,
  { silent, others }: CrowdedLeaseScale,
): Promise<CrowdedLease> {
  const { programs } = stage;
  const names = leaseNames('other', others);
  await programs.start(
    names.flatMap((lease) => castOf(lease, 3)),
    RENEW_EVERY_MS,
  );
  await sleep(FRESHNESS_MS);
  const alone = await measureReleases(stage, names, BEST, async () => {});
  // A dead candidate must not affect later measurements.
  await programs.remove(names.map((lease) => candidateName(lease, BEST)));
  await sleep(FRESHNESS_MS);
  const beside = await measureReleases(stage, names, BEST + 1, () =>
    programs.start(crowd(silent), RENEW_EVERY_MS),
  );
  return { silent, others, alone, beside };
}

function crowd(count: number): readonly SimProgram[] {
  const lease = 'crowded';
  return Array.from({ length: count }, (_, index) => ({
    name: candidateName(lease, index),
    lease,
    emulationVersion: `1.${BEST + (index % 5)}.0`,
    isSilent: true,
    renewedAgoMs: 60_000,
  }));
}

/** The results of releasing all `names`, after `prepare`, whose cost is included. */
async function measureReleases(
  { contender, namespace, leases, programs }: SimStage,
  names: readonly string[],
  minor: number,
  prepare: () => Promise<void>,
): Promise<Releases> {
  await untilLedBy({ namespace, leases }, names, minor);
  const from = Date.now();
  const loggedBefore = contender.logged();
  const usageSince = await watchUsage(contender.pid);
  await prepare();
  const waits = await Promise.all(
    names.map(async (lease, index) => {
      await sleep((index / names.length) * RELEASES_WITHIN_MS);
      const holder = candidateName(lease, minor);
      const since = leases.history(namespace, lease).length;
      await programs.release(holder);
      const isReleased = ({ spec }: { spec: { holderIdentity?: string } }) => spec.holderIdentity === '';
      const released = await leases.waitFor(namespace, lease, isReleased, { since });
      const next = await firstOf(
        leases.waitFor(namespace, lease, isHeld, {
          since: leases.history(namespace, lease).indexOf(released),
          timeoutMs: MAX_WAIT_MS,
        }),
      );
      return waitBetween(released.wallMs, next);
    }),
  );
  const usage = await usageSince();
  const logged = contender.logged();
  const seconds = (Date.now() - from) / 1000;
  const calls = await contender.calls(namespace, from, Date.now());
  return {
    waits,
    usage,
    logged: {
      lines: (logged.lines - loggedBefore.lines) / seconds,
      bytes: (logged.bytes - loggedBefore.bytes) / seconds,
    },
    callsPerSecond: calls.length / seconds,
  };
}
