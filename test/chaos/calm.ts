import { preferenceIn } from '../invariants/preference-in.ts';
import { keyOf, testedLeases } from './cast.ts';
import type { ChaosCluster } from './chaos-cluster.ts';
import type { StoredObject } from './etcd-recorder.ts';
import { leads } from './sights.ts';
import { until } from './until.ts';

/**
 * Within this time after the last fault, every Lease has its best live candidate as its leader, permanently. The time
 * begins when all servers are ready and all programs run. The longest sequence:
 *  - 32 s until a coordinator is active: a lock that was claimed by force lasts 30 s, and is read every 2 s. Meanwhile,
 *    60 s until every candidate is visible and answers: client-go retries the creation after as long as it has failed,
 *    and its watch after 30 s, or up to twice that with jitter;
 *  - 25 s for a better candidate to take over: 5 s for its answer, 15 s until its predecessor's Lease has expired, 5 s
 *    until it reads the Lease;
 *  - the same again, for a candidate that was published or restarted only after that.
 */
export const SETTLED_WITHIN_MS = 60_000 + 2 * 25_000 + 10_000;

/** How long only renewals may be written afterwards: longer than any Lease, and three times a ping's timeout. */
export const QUIET_MS = 20_000;

/**
 * Resolves to the time until all Leases were settled, and stayed so.
 * @throws Error with the problems if it takes longer than {@link SETTLED_WITHIN_MS}
 */
export async function untilSettled(cluster: ChaosCluster, signal: AbortSignal): Promise<number> {
  const begun = performance.now();
  let settledAt = begun;
  let state = '';
  let trouble = '';
  await until(
    () => {
      const now = performance.now();
      const troubles = testedLeases.map(keyOf).flatMap((key) => {
        const lease = cluster.recorder.lease(key);
        const spec = lease && { ...lease.spec, ...preferenceIn(lease) };
        const what = troubleOf(spec, livePrograms(cluster, key));
        return what === undefined ? [] : [`${key} is ${what}`];
      });
      const next = testedLeases.map((lease) => essence(cluster.recorder.lease(keyOf(lease)))).join('\n');
      if (troubles.length > 0 || next !== state) {
        settledAt = now;
        trouble = troubles.join('; ');
      }
      state = next;
      if (settledAt - begun > SETTLED_WITHIN_MS) {
        throw new Error(
          `not settled within ${SETTLED_WITHIN_MS / 1000} s: ${trouble || 'Leases still change'}`,
        );
      }
      return now - settledAt >= QUIET_MS;
    },
    SETTLED_WITHIN_MS + QUIET_MS + 1_000,
    signal,
    `every Lease is led by its best candidate: ${trouble}`,
  );
  return settledAt - begun;
}

/** All fields of a Lease that a renewal does not change. */
function essence(lease: StoredObject | undefined): string {
  const { renewTime: _, ...rest } = lease?.spec ?? {};
  return JSON.stringify([lease?.metadata.uid, rest]);
}

/** A running program. */
export interface LiveProgram {
  readonly name: string;
  readonly emulationVersion: string;
  /** According to its own output. */
  readonly leads: boolean;
}

function livePrograms(cluster: ChaosCluster, key: string): readonly LiveProgram[] {
  return cluster.programs
    .filter(({ lease, process }) => keyOf(lease) === key && process.isRunning)
    .map((program) => ({
      name: program.process.name,
      emulationVersion: program.emulationVersion(),
      leads: leads(program),
    }));
}

/**
 * Returns why a Lease is not settled; undefined if it is. Only versions count: age and name never replace a holder
 * (rule 5).
 */
export function troubleOf(
  spec: StoredObject['spec'] | undefined,
  programs: readonly LiveProgram[],
): string | undefined {
  const { holderIdentity: holder = '', preferredHolder } = spec ?? {};
  const leader = programs.find(({ name }) => name === holder);
  if (leader === undefined) return `held by "${holder}", which does not run`;
  if (preferredHolder !== undefined) return `to go to ${preferredHolder}`;
  if (!leader.leads) return `held by ${holder}, which does not lead`;
  const better = programs.find(({ emulationVersion }) => emulationVersion < leader.emulationVersion);
  return better && `led by ${holder}, though ${better.name} is better`;
}
