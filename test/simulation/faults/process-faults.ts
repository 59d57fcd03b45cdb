import type { Chance } from '../chance.ts';
import { type Fault, fault, type Population } from './fault.ts';

const HOUR_MS = 3_600_000;
/** For everybody to have looked at the lock again, in milliseconds. */
const LOCK_LOOK_MS = 10_000;
const REPLACED = {
  ms: 60_000,
  why: 'the lock expires after 15 s, or settles for 15 s; a Lease of the longest duration expires, and is taken up',
};

interface SlotArgs {
  readonly slot: string;
  readonly ms: number;
}

const planSlot =
  (longestMs: number): Fault<SlotArgs>['plan'] =>
  (chance: Chance, { slots }: Population) => ({
    slot: chance.pick(slots)?.name ?? '',
    ms: chance.between(1000, longestMs),
  });

interface ReplicaArgs {
  readonly replica: string;
  readonly ms: number;
}

const planReplica =
  (longestMs: number): Fault<ReplicaArgs>['plan'] =>
  (chance: Chance, { replicas }: Population) => ({
    replica: chance.pick(replicas)?.name ?? '',
    ms: chance.between(1000, longestMs),
  });

/** What may happen to processes. */
export const processFaults = {
  candidatePaused: fault<SlotArgs>({
    plan: planSlot(60_000),
    strike: (world, { slot, ms }) => world.slot(slot)?.pause(ms) ?? false,
    settlesWithin: REPLACED,
  }),
  /** Long enough to lose the Lease, short enough to wake up and release what is another's by then (rule 8). */
  leaderPaused: fault<{ readonly lease: number; readonly ms: number }>({
    plan: (chance, { leases }) => ({ lease: chance.upTo(leases.length), ms: chance.between(15_000, 25_000) }),
    strike: (world, { lease, ms }) => {
      const leader = world.leaderSlot(world.leaseKeys[lease] ?? '');
      return leader?.pause(ms) ?? false;
    },
    settlesWithin: REPLACED,
  }),
  candidateCrashes: fault<SlotArgs>({
    plan: planSlot(8000),
    strike: (world, { slot, ms }) => world.slot(slot)?.crash(ms) ?? false,
    settlesWithin: REPLACED,
  }),
  leaderCrashes: fault<{ readonly lease: number; readonly ms: number }>({
    plan: (chance, { leases }) => ({ lease: chance.upTo(leases.length), ms: chance.between(1000, 40_000) }),
    strike: (world, { lease, ms }) => world.leaderSlot(world.leaseKeys[lease] ?? '')?.crash(ms) ?? false,
    settlesWithin: REPLACED,
  }),
  candidateStops: fault<SlotArgs>({
    plan: planSlot(8000),
    strike: (world, { slot, ms }) => world.slot(slot)?.stop(ms) ?? false,
    settlesWithin: REPLACED,
  }),
  /** A new version is rolled out in a slot. */
  candidateReplaced: fault<SlotArgs & { readonly binaryVersion: string; readonly emulationVersion: string }>({
    plan: (chance, population) => {
      const minor = chance.between(34, 39);
      return {
        ...planSlot(8000)(chance, population),
        binaryVersion: `1.${minor}.0`,
        emulationVersion: `1.${minor - chance.upTo(2)}.0`,
      };
    },
    strike: (world, { slot, ms, binaryVersion, emulationVersion }) =>
      world.slot(slot)?.replace(ms, { binaryVersion, emulationVersion }) ?? false,
    settlesWithin: REPLACED,
  }),
  candidateClockJumps: fault<SlotArgs & { readonly byMs: number }>({
    plan: (chance, population) => ({
      ...planSlot(2000)(chance, population),
      byMs: chance.upTo(HOUR_MS) - HOUR_MS / 2,
    }),
    strike: (world, { slot, byMs }) => world.slot(slot)?.jumpWallClock(byMs) ?? false,
    settlesWithin: REPLACED,
  }),
  replicaPaused: fault<ReplicaArgs>({
    plan: planReplica(60_000),
    strike: (world, { replica, ms }) => {
      const running = world.coordinators.in(replica);
      if (!running || world.truce.isOn) return false;
      running.process.pause(ms);
      world.during(ms, () => () => running.process.resume());
      return true;
    },
    settlesWithin: REPLACED,
  }),
  replicaCrashes: fault<ReplicaArgs>({
    plan: planReplica(20_000),
    strike: (world, { replica, ms }) => !world.truce.isOn && world.coordinators.crash(replica, ms),
    settlesWithin: REPLACED,
  }),
  /** Right when one of its next writes has been carried out, or is about to be. */
  replicaCrashesAtWrite: fault<ReplicaArgs & { readonly writes: number; readonly isCarriedOut: boolean }>({
    plan: (chance, population) => ({
      ...planReplica(20_000)(chance, population),
      writes: 1 + chance.upTo(3),
      isCarriedOut: chance.is(0.5),
    }),
    strike: (world, { replica, ms, writes, isCarriedOut }) => {
      if (world.truce.isOn) return false;
      world.coordinators.crashAtWrite(replica, { ms, writes, isCarriedOut });
      return undefined;
    },
    settlesWithin: REPLACED,
  }),
  replicaStops: fault<ReplicaArgs>({
    plan: planReplica(10_000),
    strike: (world, { replica, ms }) => !world.truce.isOn && world.coordinators.stop(replica, ms),
    settlesWithin: REPLACED,
  }),
  replicaClockJumps: fault<ReplicaArgs & { readonly byMs: number }>({
    plan: (chance, population) => ({
      ...planReplica(2000)(chance, population),
      byMs: chance.upTo(6 * HOUR_MS) - 3 * HOUR_MS,
    }),
    strike: (world, { replica, byMs }) => {
      const running = world.coordinators.in(replica);
      running?.process.jumpWallClock(byMs);
      return running !== undefined;
    },
    settlesWithin: REPLACED,
  }),
  builtInStarts: fault<null>({
    plan: () => null,
    strike: (world) => {
      world.coordinators.startBuiltIn();
      return true;
    },
    settlesWithin: REPLACED,
  }),
  /** It takes the lock while ours cannot reach theirs, and what becomes of their claims is then uncertain. */
  builtInTakesOver: fault<{ readonly awayMs: number; readonly outcome: 'lost' | 'twice' }>({
    plan: (chance) => ({
      awayMs: chance.between(18_000, 35_000),
      outcome: chance.pick(['lost', 'twice'] as const),
    }),
    strike: (world, { awayMs, outcome }) => {
      const kind = 'builtInTakesOver';
      const locks = world.plan.replicas.flatMap(({ name }) => world.network.linksOf(`${name}-lock`));
      const disturb = (ms: number, how: 'dropped' | 'lost' | 'twice', share: number, then: () => void) =>
        world.during(ms, () => {
          const ends = locks.map((link) => link.disturb({ kind, outcome: how, share }));
          return () => {
            for (const end of ends) end();
            for (const link of locks) link.trouble(world.clock.now() + LOCK_LOOK_MS);
            then();
          };
        });
      world.coordinators.startBuiltIn();
      disturb(awayMs, 'dropped', 1, () => disturb(8000, outcome, 0.7, () => {}));
      return undefined;
    },
    settlesWithin: REPLACED,
  }),
  builtInCrashes: fault<null>({
    plan: () => null,
    strike: (world) => world.coordinators.crashBuiltIn(),
    settlesWithin: REPLACED,
  }),
} satisfies Record<string, Fault<unknown>>;
