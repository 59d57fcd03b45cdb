import { preferenceIn } from '../invariants/preference-in.ts';
import { keyOf, testedLeases } from './cast.ts';
import type { ChaosCluster } from './chaos-cluster.ts';
import type { StoredObject } from './etcd-recorder.ts';
import { leads } from './sights.ts';
import { until } from './until.ts';

/**
 * Within this time after the last fault every Lease is led by its best live candidate, for good. It begins when all
 * servers are ready and all programs run. The longest way there:
 *  - 32 s until somebody coordinates: a lock that was claimed by force lasts 30 s, and is looked at every 2 s. Meanwhile,
 *    60 s until every candidate can be seen and asked: client-go tries to publish it again after as long as it has failed,
 *    and reads its watch again after 30 s, or up to twice that with its jitter;
 *  - 25 s for a better candidate to take over: 5 s for its answer, 15 s until the Lease of its predecessor has run out, 5 s
 *    until it looks;
 *  - the same again, for one that was published, or came back from its end, only after that.
 */
export const SETTLED_WITHIN_MS = 60_000 + 2 * 25_000 + 10_000;

/** For how long nothing but renewals must be written then: longer than any Lease lasts, and three times a ping's answer. */
export const QUIET_MS = 20_000;

/**
 * Resolves to how long it took until all was well, and stayed so.
 * @throws Error when it took longer than {@link SETTLED_WITHIN_MS}, with what was still wrong.
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

/** All of a Lease but what a renewal changes. */
function essence(lease: StoredObject | undefined): string {
  const { renewTime: _, ...rest } = lease?.spec ?? {};
  return JSON.stringify([lease?.metadata.uid, rest]);
}

/** A program that runs. */
export interface LiveProgram {
  readonly name: string;
  readonly emulationVersion: string;
  /** By its own words. */
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

/** Why a Lease is not in good order; undefined if it is. Only versions count: age and name evict nobody (rule 5). */
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
