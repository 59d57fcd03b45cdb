import type { AnyStep, Model } from './explore.ts';
import { lockSteps } from './lock-steps.ts';
import { type LockFaults, type LockWorld, makeReplica } from './lock-world.ts';
import {
  ignored,
  instant,
  type Kind,
  listOf,
  plain,
  type Sink,
  shape,
  token,
  transitions,
} from './normalize.ts';
import { areAllWritesCompareAndSwap } from './rules.ts';
import { TICK_MS } from './world.ts';

/** Two replicas and the built-in coordinator, which holds the lock at first or does not. */
export interface LockScenario {
  readonly name: string;
  readonly about: string;
  /** Number of replicas that run at first; the others may start later. */
  readonly running: number;
  readonly hasBuiltIn: boolean;
  readonly faults: Partial<LockFaults>;
  /**
   * True: a replica cannot know who held the lock before it started. Then two replicas may coordinate, as long as the
   * server refuses all their outdated writes.
   */
  readonly isUnknowable?: true;
}

const NO_FAULTS: LockFaults = {
  deletions: 0,
  emptyings: 0,
  losses: 0,
  crashes: 0,
  restarts: 0,
  stops: 0,
  sleeps: 0,
  lags: 0,
};

const recently = instant(4 * TICK_MS);
const until = instant(0);
const inTicks =
  (memoryTicks: number): Kind<number | undefined> =>
  (value, sink) =>
    instant(memoryTicks * TICK_MS)(value === undefined ? value : value * TICK_MS, sink);

const record = shape({
  holder: plain,
  leaseDurationMs: plain,
  renewTime: token,
  leaseTransitions: transitions,
  isWrittenByOurs: plain,
});
const lease = shape({ object: ignored, record, version: token });
const replica = shape({
  identity: ignored,
  life: plain,
  seen: lease,
  observation: shape({ record, seenAt: recently, formerHolderUntil: until, doubtedUntil: until }),
  isFresh: plain,
  renewedTick: inTicks(4),
  actFrom: until,
  actFromIfRefused: until,
  isContested: plain,
  forceNotBefore: until,
  attemptedTick: inTicks(0),
  answer: shape({ kind: plain, sentTick: inTicks(4), formerActFrom: until, lease }),
  activeTick: inTicks(0),
});
const builtIn = shape({
  life: plain,
  observed: shape({ record, sinceTick: inTicks(4) }),
  renewedTick: inTicks(8),
  isReleasing: plain,
  lostTick: inTicks(7),
  isUsurper: plain,
});
const faults = shape(Object.fromEntries(Object.keys(NO_FAULTS).map((fault) => [fault, plain])));
const world = shape({ tick: ignored, serial: ignored, lease, replicas: listOf(replica), builtIn, faults });

function write(value: LockWorld, sink: Sink): void {
  sink.begin(value.tick * TICK_MS, value.lease?.record.leaseTransitions ?? 0);
  world(value, sink);
}

/** Returns a scenario about the lock as a system to explore. */
export function lockModelOf({ running, hasBuiltIn, faults, isUnknowable }: LockScenario): Model<LockWorld> {
  const initial: LockWorld = {
    tick: 0,
    serial: 0,
    lease: undefined,
    replicas: [0, 1].map((index) => makeReplica(index, index < running ? 'up' : 'down')),
    builtIn: {
      life: hasBuiltIn ? 'up' : 'down',
      observed: undefined,
      renewedTick: undefined,
      isReleasing: false,
      lostTick: undefined,
      isUsurper: false,
    },
    faults: NO_FAULTS,
  };
  return {
    initial: { ...settle(initial), faults: { ...NO_FAULTS, ...faults } },
    steps: isUnknowable && areAllWritesCompareAndSwap() ? withoutViolations : lockSteps,
    write,
  };
}

function* withoutViolations(world: LockWorld): Generator<AnyStep<LockWorld>> {
  for (const { choice, note, world: next } of lockSteps(world)) yield { choice, note, world: next };
}

/** A process holds the lock: the built-in coordinator, if there is one. The replicas have not read the lock yet. */
function settle(world: LockWorld): LockWorld {
  let next = world;
  for (;;) {
    const steps = [...lockSteps(next)];
    const taking = steps.find(({ choice }) => choice.startsWith('the built-in takes'));
    if (taking) return taking.world;
    const [step] = steps;
    if (!step || step.choice === 'a tick passes') return next;
    next = step.world;
  }
}
