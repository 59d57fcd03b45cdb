import { setTimeout as sleep } from 'node:timers/promises';
import { PRIORITY_ANNOTATION } from '../../../../src/coordination/candidate-priority.ts';
import { NOTES } from '../../../../src/coordination/lease.ts';
import { FENCE } from '../../../../src/election/model.ts';
import type { Change, WatchedLease } from '../../../control-plane/watched-objects.ts';
import { FRESHNESS_MS } from '../waits.ts';
import type { Cast } from './cast.ts';
import type { ProgramProcess } from './programs.ts';

/**
 * A hand-over of one Lease; all times in milliseconds since the Unix epoch, undefined for events that did not happen.
 */
export interface HandOver {
  /** SIGTERM, SIGKILL, the start of a better program, or the annotation that makes one better. */
  readonly causedAt: number;
  /** When another candidate was first seen to be preferred, by field or by annotation. */
  readonly toldAt: number | undefined;
  /** When the Lease was first seen released. */
  readonly releasedAt: number | undefined;
  /** When the record before the next holder's expired, including a fence's. */
  readonly expiredAt: number | undefined;
  /** When the next holder was first seen in the Lease. */
  readonly heldAt: number | undefined;
  /** When the next holder's work began. */
  readonly workedAt: number | undefined;
}

/** The place of a cast's programs: each Lease has one in each process. */
export interface Ranks {
  readonly leases: readonly string[];
  /** The time over which the causes are spread, in milliseconds; it is the same for all casts. */
  readonly spreadMs: number;
  readonly processes: ProgramProcess[];
}

/**
 * Starts a program of each Lease in each of three processes. Resolves when the best ones lead, and no program needs a
 * ping any more.
 */
export async function startRanks(cast: Cast, leases: readonly string[], spreadMs: number): Promise<Ranks> {
  const from = Date.now();
  const processes = await Promise.all([1, 2, 3].map(() => cast.startProcess()));
  for (const [index, place] of processes.entries()) {
    await Promise.all(leases.map((lease) => cast.start(place, lease, 40 + index)));
    if (index === 0) await Promise.all(leases.map((lease) => cast.works.next(lease, from)));
  }
  await sleep(FRESHNESS_MS);
  return { leases, processes, spreadMs };
}

/** SIGTERM for each leader, or SIGKILL if each has its own process. */
export async function measureStops(
  cast: Cast,
  ranks: Ranks,
  random: () => number,
  signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM',
) {
  const former: string[] = [];
  const handOvers = await spread(ranks, random, (lease) => {
    const leader = cast.holder(lease);
    former.push(leader);
    return handOver(cast, lease, leader, () => cast.stop(leader, signal));
  });
  await replace(cast, ranks, former, signal === 'SIGTERM' ? 50 : 60);
  return handOvers;
}

/** A better program starts, in a process that then has all leaders. */
export async function measurePreemptions(cast: Cast, ranks: Ranks, random: () => number) {
  const place = await cast.startProcess();
  const handOvers = await spread(ranks, random, (lease) =>
    handOver(cast, lease, cast.holder(lease), async () => {
      await cast.start(place, lease, 30);
    }),
  );
  const surplus = ranks.leases.map((lease) => cast.programsOf(lease).at(-1) ?? '');
  await Promise.all(surplus.map((name) => cast.stop(name)));
  await sleep(FRESHNESS_MS);
  await cast.site.remove(cast.namespace, surplus);
  ranks.processes.push(place);
  return handOvers;
}

/** SIGKILL for the process with all leaders, which all crash at once. */
export async function measureKills(cast: Cast, ranks: Ranks, afterMs: number) {
  await sleep(afterMs);
  const leaders = ranks.leases.map((lease) => cast.holder(lease));
  const index = ranks.processes.findIndex((each) =>
    leaders.every((name) => cast.programsIn(each).includes(name)),
  );
  const [place] = index >= 0 ? ranks.processes.splice(index, 1) : [];
  if (!place) throw new Error('there is no process in which all leaders run');
  const causedAt = Date.now();
  const former = cast.programsIn(place);
  const [handOvers] = await Promise.all([
    Promise.all(
      ranks.leases.map((lease) => handOver(cast, lease, cast.holder(lease), async () => {}, causedAt)),
    ),
    cast.kill(place),
  ]);
  await replace(cast, ranks, former, 60);
  return handOvers;
}

/** The annotation of the `transfer` command, for the worst candidate. */
export function measureTransfers(cast: Cast, ranks: Ranks, random: () => number) {
  return spread(ranks, random, (lease) => {
    const target = cast.programsOf(lease).at(-1) ?? '';
    return handOver(cast, lease, cast.holder(lease), () =>
      cast.site.patch(cast.namespace, target, { metadata: { annotations: { [PRIORITY_ANNOTATION]: '1' } } }),
    );
  });
}

/** SIGKILL for leaders with their own processes, which restart at once with the same identity. */
export async function measureRestarts(
  cast: Cast,
  ranks: Ranks,
  { leases, rounds }: { readonly leases: readonly string[]; readonly rounds: number },
): Promise<readonly HandOver[]> {
  const from = Date.now();
  const places = await Promise.all(
    leases.map(async (lease) => {
      const place = await cast.startProcess();
      await cast.start(place, lease, 30);
      await cast.works.next(lease, from);
      await Promise.all(
        ranks.processes.slice(0, 2).map((rank, index) => cast.start(rank, lease, 40 + index)),
      );
      return place;
    }),
  );
  await sleep(FRESHNESS_MS);
  const handOvers: HandOver[] = [];
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, lease] of leases.entries()) {
      const place = places[index];
      if (!place) continue;
      handOvers.push(
        await handOver(cast, lease, undefined, async () => {
          await cast.kill(place);
          places[index] = await cast.startProcess();
          await cast.start(places[index], lease, 30);
        }),
      );
    }
  }
  return handOvers;
}

/** Programs that have exited leave a candidate behind if they do not delete it. A new program replaces each. */
async function replace(cast: Cast, { leases, processes }: Ranks, former: readonly string[], minor: number) {
  await cast.site.remove(cast.namespace, former);
  const place = await cast.startProcess();
  processes.push(place);
  await Promise.all(leases.map((lease) => cast.start(place, lease, minor)));
  await sleep(FRESHNESS_MS);
}

function spread<T>(
  { leases, spreadMs }: Ranks,
  random: () => number,
  measure: (lease: string) => Promise<T>,
): Promise<readonly T[]> {
  return Promise.all(
    leases.map(async (lease) => {
      await sleep(random() * spreadMs);
      return measure(lease);
    }),
  );
}

/** Observes a Lease from `cause` on, until another program than `former` works. */
async function handOver(
  cast: Cast,
  lease: string,
  former: string | undefined,
  cause: () => Promise<void>,
  causedAt = Date.now(),
): Promise<HandOver> {
  const { leases } = cast.site;
  const since = leases.history(cast.namespace, lease).length;
  const [work] = await Promise.all([cast.works.next(lease, causedAt, former), cause()]);
  const history = leases.history(cast.namespace, lease);
  const told = history.slice(since).find(({ object }) => preferredIn(object));
  const released = history.slice(since).find(({ object }) => object.spec.holderIdentity === '');
  const heldIndex = history.findIndex(
    ({ object: { spec } }, index) =>
      index >= since && ![former, '', FENCE].includes(spec.holderIdentity ?? ''),
  );
  return {
    causedAt,
    toldAt: told?.wallMs,
    releasedAt: released?.wallMs,
    expiredAt: heldIndex > 0 ? expiryOf(history[heldIndex - 1]) : undefined,
    heldAt: history[heldIndex]?.wallMs,
    workedAt: work?.at,
  };
}

function preferredIn({ metadata, spec }: WatchedLease): boolean {
  const annotations = metadata['annotations'] as Readonly<Record<string, string>> | undefined;
  return Boolean(spec.preferredHolder || annotations?.[NOTES.preferredHolder]);
}

function expiryOf(change: Change<WatchedLease> | undefined): number | undefined {
  const { renewTime, leaseDurationSeconds, holderIdentity } = change?.object.spec ?? {};
  if (!renewTime || !leaseDurationSeconds || !holderIdentity) return undefined;
  return Date.parse(renewTime) + leaseDurationSeconds * 1000;
}
