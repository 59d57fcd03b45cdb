import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { leasePath } from '../control-plane/cluster-objects.ts';
import type { Electors, Pausable } from '../control-plane/electors.ts';
import { leadershipsOf, overlapsOf, RELEASE_REPORTED_LATE_MS } from '../control-plane/leaderships.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { type CoordinatedCluster, startCoordinatedCluster } from './coordinated-cluster.ts';
import { type Coordinator, eventually, startCoordinator } from './coordinator.ts';

/** How long the chaos lasts; CHAOS_SECONDS=1800 for a night of it, at most 3000 as the coordinator's token ends then. */
const CHAOS_MS = 1000 * Number(process.env['CHAOS_SECONDS'] ?? 30);
/** What is done to whom and when follows from it; what comes of it depends on the machine as well. */
const SEED = Number(process.env['CHAOS_SEED'] ?? Date.now() % 1_000_000);
/** By when every Lease must be led again once the chaos is over. */
const SETTLED_WITHIN_MS = 60_000;

const NAMESPACE = 'default';
const LEASES = 10;
const PROGRAMS_PER_LEASE = 3;

type Random = () => number;

const between = (random: Random, min: number, max: number) => min + random() * (max - min);

function oneOf<T>(random: Random, first: T, ...others: readonly T[]): T {
  return [first, ...others][Math.floor(random() * (others.length + 1))] ?? first;
}

/**
 * Releasing Leases have programs that empty the Lease when they end. That release is client-go's own way to two leaders
 * when it comes late: it reads the Lease afresh and empties it even when another holds it by then. So nothing is done to
 * these that makes a leader lose its Lease without knowing. All that is done to the others, which never release.
 */
interface TestedLease {
  readonly name: string;
  readonly isReleasing: boolean;
  readonly programs: readonly Program[];
}

/** One program of a Lease, through all its lives. */
interface Program {
  readonly lease: string;
  readonly isReleasing: boolean;
  readonly random: Random;
  /** The id of the life that it leads now, or led last. */
  id: string;
}

describe('candidates, Leases and coordinators in chaos', () => {
  let cluster: CoordinatedCluster;
  let electors: Electors;
  const replicas: Coordinator[] = [];
  const everyReplica: Coordinator[] = [];
  const chronicle: { readonly at: number; readonly lease: string; readonly what: string }[] = [];
  let isChaos = true;
  let isOver = false;

  beforeAll(async () => {
    cluster = await startCoordinatedCluster('1.36.3');
    electors = await cluster.plane.startElectors();
    replicas.push(cluster.coordinator, await startCoordinator(cluster.kubeconfig));
    everyReplica.push(...replicas);
  });
  afterAll(async () => {
    isOver = true;
    await electors?.stop();
    for (const replica of replicas) {
      replica.signal('SIGCONT');
      await replica.kill();
    }
    await cluster?.stop();
  });

  const tell = (lease: string, what: string) => chronicle.push({ at: Date.now(), lease, what });

  /** Lives one life after another, as under a kubelet: whenever the program ends, it comes back. */
  async function live(program: Program, index: number): Promise<void> {
    const { random, lease } = program;
    let name = '';
    let emulationVersion = '';
    for (let life = 1; !isOver; life++) {
      // Some programs come back under their old name, as a StatefulSet's pods do, others under a new one.
      if (life === 1 || random() < 0.5) {
        name = `${lease}-${index}-${life}`;
        emulationVersion = oneOf(random, '1.34.0', '1.35.0', '1.36.0');
      }
      program.id = `${lease}/${index}#${life}`;
      await electors.start({
        id: program.id,
        namespace: NAMESPACE,
        lease,
        name,
        emulationVersion,
        releaseOnCancel: program.isReleasing,
      });
      await electors.waitFor({ id: program.id, event: 'ended' }, { timeoutMs: 2 ** 31 - 1 });
      await sleep(between(random, 200, 6_000));
    }
  }

  async function pauseFor(program: Program, what: Pausable, random: Random): Promise<void> {
    const { id, lease } = program;
    const manner = oneOf(random, 'hang', 'fail');
    const durationMs = between(random, 1_000, 20_000);
    tell(lease, `${id}: ${what} ${manner}s for ${Math.round(durationMs)} ms`);
    await electors.pause(id, what, manner);
    const end = performance.now() + durationMs;
    while (isChaos && performance.now() < end) await sleep(100);
    await electors.resume(id, what);
    tell(lease, `${id}: ${what} resumed`);
  }

  async function vandalise(lease: string, random: Random): Promise<void> {
    const empty = { holderIdentity: '' };
    const path = leasePath({ namespace: NAMESPACE, name: lease });
    const how = oneOf(random, 'deleted', 'emptied', 'stripped');
    tell(lease, `the Lease is ${how}`);
    if (how === 'deleted') await cluster.plane.request('DELETE', path);
    else if (how === 'emptied') await cluster.plane.request('PATCH', path, { spec: empty });
    else
      await cluster.plane.request('PATCH', path, { spec: { ...empty, renewTime: null, acquireTime: null } });
  }

  /** Does one thing to a Lease or to one of its programs; those done to whoever leads are the ones that matter most. */
  async function strike({ name, isReleasing, programs }: TestedLease, random: Random): Promise<void> {
    const [first, ...others] = programs;
    if (!first) return;
    const leading = new Set(electors.leading());
    const leader = programs.find(({ id }) => leading.has(id));
    const anybody = oneOf(random, first, ...others);
    const program = random() < 0.6 ? (leader ?? anybody) : anybody;
    const common = ['crash', 'crash', 'candidate'] as const;
    const what = isReleasing
      ? oneOf(random, ...common, 'release', 'release')
      : oneOf(random, ...common, 'release', 'lease', 'everything', 'vandal', 'ambush', 'ambush', 'ambush');
    switch (what) {
      case 'crash':
        tell(name, `${program.id} is killed`);
        return electors.crash(program.id);
      case 'release': {
        const fate = oneOf(random, 'stop', 'delete');
        tell(name, `${program.id} ends in good order, its candidate is to ${fate}`);
        return electors.release(program.id, fate);
      }
      case 'vandal':
        return vandalise(name, random);
      case 'ambush': {
        // The holder cannot say that it is still there, nor learn in time what becomes of its Lease.
        // Followed from the start: the pause may be refused while nobody has come to the vandal yet.
        await Promise.all([
          pauseFor(program, oneOf(random, 'candidate', 'everything', 'everything'), random),
          sleep(between(random, 0, 3_000)).then(() => vandalise(name, random)),
        ]);
        return;
      }
      default:
        return pauseFor(program, what, random);
    }
  }

  async function strikeAgainAndAgain(lease: TestedLease, random: Random): Promise<number> {
    let strikes = 0;
    while (isChaos) {
      await sleep(between(random, 500, 7_000));
      if (!isChaos) break;
      // Refused where the program has just ended or the Lease has gone: then there is nothing to strike.
      await strike(lease, random).then(
        () => strikes++,
        (error: Error) => tell(lease.name, `refused: ${error.message}`),
      );
    }
    return strikes;
  }

  /** Kills or freezes one of the two replicas, mostly the active one; a frozen one wakes and may think that all is as it was. */
  async function strikeCoordinators(random: Random): Promise<number> {
    // The first comes early, or a short chaos could end without any.
    let pause = between(random, 5_000, 15_000);
    for (let strikes = 0; ; strikes++) {
      for (const end = performance.now() + pause; isChaos && performance.now() < end; ) await sleep(100);
      if (!isChaos) return strikes;
      const isActive = ({ log }: Coordinator) =>
        log.findLast(({ msg }) => msg === 'The coordinator lock changed')?.state === 'active';
      const active = replicas.findIndex(isActive);
      const victim = random() < 0.6 && active !== -1 ? active : Math.floor(random() * replicas.length);
      const isFreeze = random() < 0.3;
      const outage = between(random, 500, isFreeze ? 25_000 : 5_000);
      tell(
        '*',
        `replica ${replicas[victim]?.pid} is ${isFreeze ? 'frozen' : 'killed'} for ${Math.round(outage)} ms`,
      );
      if (isFreeze) replicas[victim]?.signal('SIGSTOP');
      else await replicas[victim]?.kill();
      for (const end = performance.now() + outage; isChaos && performance.now() < end; ) await sleep(100);
      if (isFreeze) {
        replicas[victim]?.signal('SIGCONT');
      } else {
        replicas[victim] = await startCoordinator(cluster.kubeconfig);
        everyReplica.push(replicas[victim]);
      }
      tell('*', `replica ${replicas[victim]?.pid} is back`);
      // Whoever takes over from a dead replica waits for up to 30 s: there must be some elections in between.
      pause = between(random, 20_000, 40_000);
    }
  }

  /** What happened to a Lease, in order, as seen by everybody who saw any of it. */
  function transcriptOf({ name, programs }: TestedLease): string {
    const entries = [
      ...chronicle.filter(({ lease }) => lease === name || lease === '*'),
      ...electors.events
        .filter(
          ({ id, event }) => isOf(id, programs) && event !== 'candidateRenewed' && event !== 'newLeader',
        )
        .map(({ id, event, wallMicros, message = '' }) => ({
          at: wallMicros / 1000,
          what: `${id}: ${event} ${message}`,
        })),
      ...cluster.leases.history(NAMESPACE, name).map(({ type, object, wallMs }) => ({
        at: wallMs,
        what: `Lease ${type} ${JSON.stringify(object.spec)}`,
      })),
      ...everyReplica.flatMap(({ pid, log }) =>
        log
          .filter(
            ({ lease, msg }) => lease === `${NAMESPACE}/${name}` || msg === 'The coordinator lock changed',
          )
          .map(({ time, msg, reason = '', actions = '', state = '' }) => ({
            at: Date.parse(time),
            what: `replica ${pid}: ${msg} ${reason}${state} ${JSON.stringify(actions)}`,
          })),
      ),
    ];
    entries.sort((a, b) => a.at - b.at);
    return entries.map(({ at, what }) => `${new Date(at).toISOString()} ${what}`).join('\n');
  }

  const isOf = (id: string, [program]: readonly Program[]) => id.startsWith(`${program?.lease}/`);

  test('never have two leaders of one Lease, and have one of each soon after it is over', {
    timeout: CHAOS_MS + SETTLED_WITHIN_MS + 120_000,
  }, async ({ annotate }) => {
    console.info(`CHAOS_SEED=${SEED} CHAOS_SECONDS=${CHAOS_MS / 1000}`);
    const random = seededRandom(SEED);
    const leases: readonly TestedLease[] = Array.from({ length: LEASES }, (_, index) => {
      const isReleasing = index % 2 === 0;
      const name = `${isReleasing ? 'releasing' : 'vandalised'}-${index}`;
      const programs = Array.from({ length: PROGRAMS_PER_LEASE }, () => ({
        lease: name,
        isReleasing,
        random: seededRandom(random() * 2 ** 32),
        id: '',
      }));
      return { name, isReleasing, programs };
    });
    const lives = leases.flatMap(({ programs }) => programs.map((program, index) => live(program, index)));
    // They go on until the electors' process ends, and end with it.
    for (const each of lives)
      each.catch((error: Error) => isOver || tell('*', `a program gave up: ${error}`));

    const chaos = [
      strikeCoordinators(seededRandom(random() * 2 ** 32)),
      ...leases.map((lease) => strikeAgainAndAgain(lease, seededRandom(random() * 2 ** 32))),
    ];
    await sleep(CHAOS_MS);
    isChaos = false;
    const [coordinatorStrikes = 0, ...strikes] = await Promise.all(chaos);
    tell('*', 'the chaos is over');
    const overAt = performance.now();

    const led = (lease: TestedLease) => electors.leading().filter((id) => isOf(id, lease.programs));
    const unsettled = () => leases.filter((lease) => led(lease).length !== 1);
    await eventually(
      () => unsettled().length === 0 || undefined,
      'every Lease has exactly one leader',
      SETTLED_WITHIN_MS,
    ).catch((error: Error) => {
      const [lease] = unsettled();
      throw new Error(`${error.message}\n${lease ? transcriptOf(lease) : ''}`, { cause: error });
    });
    const settledMs = Math.round(performance.now() - overAt);

    let leaderships = 0;
    for (const lease of leases) {
      const ofLease = leadershipsOf(electors.events, (id) => isOf(id, lease.programs));
      const overlaps = overlapsOf(ofLease, lease.isReleasing ? RELEASE_REPORTED_LATE_MS : 0);
      expect(overlaps, `${overlaps.join('\n')}\n${transcriptOf(lease)}`).toEqual([]);
      leaderships += ofLease.length;
    }
    const summary = `${strikes.reduce((sum, each) => sum + each, 0)} strikes at Leases and candidates, ${coordinatorStrikes} at coordinators, ${leaderships} leaderships, all settled ${settledMs} ms after the last`;
    await annotate(summary);
    console.info(summary);
    // A chaos in which nothing happens would prove nothing.
    expect(coordinatorStrikes).toBeGreaterThan(0);
    expect(leaderships).toBeGreaterThan(LEASES);
  });
});
