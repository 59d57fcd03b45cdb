import { setTimeout as sleep } from 'node:timers/promises';
import { seededRandom } from '../../support/seeded-random.ts';
import { BEST, candidateName, castOf, leaseNames } from './casts.ts';
import type { SimStage } from './contender.ts';
import type { Elections } from './scenarios.ts';
import { FRESHNESS_MS, firstOf, isHeld, MAX_WAIT_MS, untilLedBy, waitBetween } from './waits.ts';

/** Leases that lost their holders, all within ten seconds. */
export interface MassDeath {
  readonly leases: number;
  readonly candidates: number;
  readonly renewEveryMs: number;
  /** From each Lease's expiry to its new holder. */
  readonly afterExpiry: Elections;
}

/** The targets of the crashes. */
export type MassDeathScale = Pick<MassDeath, 'leases' | 'candidates' | 'renewEveryMs'>;

const DEATHS_WITHIN_MS = 10_000;

/**
 * Crashes the holders of all Leases within ten seconds. Each was its Lease's best candidate, and the others continue.
 */
export async function measureMassDeath(
  { contender, namespace, leases, programs }: SimStage,
  { leases: count, candidates, renewEveryMs }: MassDeathScale,
): Promise<MassDeath> {
  const names = leaseNames('bereft', count);
  await programs.start(
    names.flatMap((lease) => castOf(lease, candidates)),
    renewEveryMs,
  );
  await untilLedBy({ namespace, leases }, names, BEST);
  // Until the holders renew at different times, and all others would need a ping before an election.
  await sleep(Math.max(FRESHNESS_MS, renewEveryMs));

  const random = seededRandom(count);
  const acksBefore = await programs.countAcks();
  const from = Date.now();
  const waits = await Promise.all(
    names.map(async (lease) => {
      await sleep(random() * DEATHS_WITHIN_MS);
      const dead = candidateName(lease, BEST);
      const since = leases.history(namespace, lease).length;
      const expiresAt = await programs.crash(dead);
      const next = await firstOf(
        leases.waitFor(
          namespace,
          lease,
          (object, type) => isHeld(object, type) && object.spec.holderIdentity !== dead,
          { since, timeoutMs: expiresAt - Date.now() + MAX_WAIT_MS },
        ),
      );
      return waitBetween(expiresAt, next);
    }),
  );
  const calls = await contender.calls(namespace, from, Date.now());
  return {
    leases: count,
    candidates,
    renewEveryMs,
    afterExpiry: {
      waits,
      callsPerElection: calls.length / count,
      acksPerElection: ((await programs.countAcks()) - acksBefore) / count,
    },
  };
}
