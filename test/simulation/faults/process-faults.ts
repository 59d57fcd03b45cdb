import type { Chance } from '../chance.ts';
import type { Disturbance } from '../sim-link.ts';
import type { SimSlot } from '../sim-slot.ts';
import type { SimWorld } from '../sim-world.ts';
import { type Fault, fault, type Population } from './fault.ts';
import { deleteLease } from './object-faults.ts';

const HOUR_MS = 3_600_000;
/** Time in which all replicas have checked the lock again, in milliseconds. */
const LOCK_LOOK_MS = 10_000;
const REPLACED = {
  ms: 60_000,
  why: 'the lock expires after 15 s, or its new holder waits for 15 s; a Lease of the longest duration expires and is taken up',
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

interface BuiltInGrantArgs {
  readonly lease: number;
  readonly awayMs: number;
  /** The reason of the change. */
  readonly because: 'deleted' | 'crashes' | 'stops';
}

/** By then, our lock has expired, and the built-in controller has noticed. */
const BUILT_IN_HAS_LOCK_MS = 20_000;

/** Disturbs our requests for the lock for this long, or until the caller calls the returned function. */
function disturbLocks(world: SimWorld, ms: number, disturbance: Disturbance, then = () => {}): () => void {
  const locks = world.plan.replicas.flatMap(({ name }) => world.network.linksOf(`${name}-lock`));
  return world.during(ms, () => {
    const ends = locks.map((link) => link.disturb(disturbance));
    return () => {
      for (const end of ends) end();
      for (const link of locks) link.trouble(world.clock.now() + LOCK_LOOK_MS);
      then();
    };
  });
}

/** No other candidate has these versions, and OldestEmulationVersion prefers them. */
const BEST_VERSIONS = { binaryVersion: '1.36.0', emulationVersion: '1.33.0' };

/** Whether a Lease can have a leader although the candidate in `slot` hangs. */
function mayLeadBeside(slot: SimSlot, other: SimSlot): boolean {
  return other !== slot && other.key === slot.key && !other.isHanging && !other.plan.isPlain;
}

/** Time for the Lease of a sleeping leader to expire and be granted, in milliseconds. */
const GRANTED_WITHIN_MS = 90_000;
/** Time from a grant to the crash of the built-in controller. */
const CRASHES_AFTER_MS = 500;

/** Faults of processes. */
export const processFaults = {
  candidatePaused: fault<SlotArgs>({
    plan: planSlot(60_000),
    strike: (world, { slot, ms }) => world.slot(slot)?.pause(ms) ?? false,
    settlesWithin: REPLACED,
  }),
  /** Long enough to lose the Lease, and short enough to wake up and release the Lease of its successor (rule 8). */
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
  /** Rolls out a new version in a slot. */
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
  /** The program's candidate still answers pings. The elector hangs for a while or for ever. */
  electorHangs: fault<{ readonly slot: string; readonly forMs: number | undefined }>({
    plan: (chance, { slots }) => ({
      slot: chance.pick(slots)?.name ?? '',
      forMs: chance.is(0.7) ? chance.between(2000, 60_000) : undefined,
    }),
    strike: (world, { slot: name, forMs }) => {
      const slot = world.slot(name);
      if (!slot || slot.isHanging || !world.slots.some((other) => mayLeadBeside(slot, other))) return false;
      slot.hang(true);
      if (forMs === undefined) return true;
      world.during(forMs, () => () => slot.hang(false));
      return true;
    },
    settlesWithin: REPLACED,
  }),
  /** Rolls out a preferred version whose elector hangs for ever. */
  hangingVersionReplaces: fault<SlotArgs>({
    plan: planSlot(8000),
    strike: (world, { slot: name, ms }) => {
      const slot = world.slot(name);
      if (!slot || slot.isHanging || !world.slots.some((other) => mayLeadBeside(slot, other))) return false;
      if (!slot.replace(ms, BEST_VERSIONS)) return false;
      slot.hang(true);
      return true;
    },
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
      if (!running) return false;
      running.process.pause(ms);
      world.during(ms, () => () => running.process.resume());
      return true;
    },
    settlesWithin: REPLACED,
  }),
  replicaCrashes: fault<ReplicaArgs>({
    plan: planReplica(20_000),
    strike: (world, { replica, ms }) => !world.memory.isNeeded && world.coordinators.crash(replica, ms),
    settlesWithin: REPLACED,
  }),
  /** Crashes a replica right before or right after the server applies one of its next writes. */
  replicaCrashesAtWrite: fault<ReplicaArgs & { readonly writes: number; readonly isCarriedOut: boolean }>({
    plan: (chance, population) => ({
      ...planReplica(20_000)(chance, population),
      writes: 1 + chance.upTo(3),
      isCarriedOut: chance.is(0.5),
    }),
    strike: (world, { replica, ms, writes, isCarriedOut }) => {
      world.coordinators.crashAtWrite(replica, { ms, writes, isCarriedOut });
      return undefined;
    },
    settlesWithin: REPLACED,
  }),
  replicaStops: fault<ReplicaArgs>({
    plan: planReplica(10_000),
    strike: (world, { replica, ms }) => !world.memory.isNeeded && world.coordinators.stop(replica, ms),
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
  /**
   * The built-in controller takes the lock while our replicas cannot reach it. Afterwards their claims have uncertain
   * results.
   */
  builtInTakesOver: fault<{ readonly awayMs: number; readonly outcome: 'lost' | 'twice' }>({
    plan: (chance) => ({
      awayMs: chance.between(18_000, 35_000),
      outcome: chance.pick(['lost', 'twice'] as const),
    }),
    strike: (world, { awayMs, outcome }) => {
      const kind = 'builtInTakesOver';
      world.coordinators.startBuiltIn();
      disturbLocks(world, awayMs, { kind, outcome: 'dropped' }, () =>
        disturbLocks(world, 8000, { kind, outcome, share: 0.7 }),
      );
      return undefined;
    },
    settlesWithin: REPLACED,
  }),
  /** The built-in controller takes the lock while our replicas cannot reach it, and then has to grant a Lease. */
  builtInGrants: fault<BuiltInGrantArgs>({
    plan: (chance, { leases }) => ({
      lease: chance.upTo(leases.length),
      awayMs: chance.between(25_000, 60_000),
      because: chance.pick(['deleted', 'crashes', 'stops'] as const),
    }),
    strike: (world, { lease, awayMs, because }) => {
      const key = world.leaseKeys[lease] ?? '';
      world.coordinators.startBuiltIn();
      disturbLocks(world, awayMs, { kind: 'builtInGrants', outcome: 'dropped' });
      world.strikeAfter(BUILT_IN_HAS_LOCK_MS, () => {
        const leader = world.leaderSlot(key);
        if (because === 'deleted') deleteLease(world, key);
        else if (because === 'crashes') leader?.crash(1000);
        else leader?.stop(1000);
      });
      return undefined;
    },
    settlesWithin: REPLACED,
  }),
  /**
   * The built-in controller grants the Lease of a sleeping leader to another candidate, and crashes. The leader wakes
   * up, and releases its successor's Lease before our replicas have the lock.
   */
  leaderWakesAfterBuiltIn: fault<{ readonly lease: number; readonly afterMs: number }>({
    plan: (chance, { leases }) => ({
      lease: chance.upTo(leases.length),
      afterMs: chance.between(1000, 12_000),
    }),
    strike: (world, { lease, afterMs }) => {
      const kind = 'leaderWakesAfterBuiltIn';
      const key = world.leaseKeys[lease] ?? '';
      world.coordinators.startBuiltIn();
      const release = disturbLocks(world, GRANTED_WITHIN_MS, { kind, outcome: 'dropped' });
      world.strikeAfter(BUILT_IN_HAS_LOCK_MS, () => {
        const leader = world.leaderSlot(key);
        if (!leader?.pause(GRANTED_WITHIN_MS)) return;
        world.afterGrant('builtIn', [key], () => {
          release();
          world.strikeAfter(CRASHES_AFTER_MS, () => world.coordinators.crashBuiltIn());
          world.strikeAfter(afterMs, () => leader.resume());
        });
      });
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
