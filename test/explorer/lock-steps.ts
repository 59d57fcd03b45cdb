import type { AnyStep } from './explore.ts';
import {
  BUILT_IN,
  type BuiltIn,
  decideLock,
  isActive,
  isBuiltInActive,
  isRenewed,
  type LockAnswer,
  type LockDecision,
  type LockFaults,
  type LockWorld,
  lockRules,
  makeReplica,
  nowMs,
  observeLock,
  type Replica,
  type StoredLock,
  spoilLock,
  writeLock,
} from './lock-world.ts';
import { BELIEF_TICKS, DEADLINE_TICKS, TICK_MS, withItem } from './world.ts';

type LockStep = AnyStep<LockWorld>;

/** Minimum time between claims by force that were answered by force, in ticks. */
const FORCE_BACKOFF_TICKS = 2 * BELIEF_TICKS;

/** Returns all possible next steps of the lock. A step after which two may coordinate at once breaks a promise. */
export function* lockSteps(world: LockWorld): Generator<LockStep> {
  for (const step of possibleSteps(world)) {
    const noted = noteActive(step.world);
    yield { ...step, world: noted, violation: whoCoordinate(noted) };
  }
}

function* possibleSteps(world: LockWorld): Generator<LockStep> {
  const { faults, lease } = world;
  for (const [index, replica] of world.replicas.entries()) yield* replicaSteps(world, index, replica);
  yield* builtInSteps(world);
  if (lease && faults.deletions > 0)
    yield { choice: 'a vandal deletes the lock', world: spoilLock(spend(world, 'deletions'), undefined) };
  if (lease && lease.record.holder !== '' && faults.emptyings > 0)
    yield { choice: 'a vandal empties the lock', world: spoilLock(spend(world, 'emptyings'), '') };
  yield* tick(world);
}

/** The processes that may write in this tick, including writes that they have begun in it. */
function whoCoordinate(world: LockWorld): string | undefined {
  const names = world.replicas
    .filter(({ activeTick }) => activeTick === world.tick)
    .map(({ identity }) => identity);
  if (isBuiltInActive(world.builtIn, world) && !world.builtIn.isUsurper) names.push(BUILT_IN);
  return names.length > 1 ? `${names.join(' and ')} coordinate at once` : undefined;
}

function noteActive(world: LockWorld): LockWorld {
  if (!world.replicas.some((replica) => isActive(replica, world) && replica.activeTick !== world.tick))
    return world;
  const replicas = world.replicas.map((replica) =>
    isActive(replica, world) ? { ...replica, activeTick: world.tick } : replica,
  );
  return { ...world, replicas };
}

function spend(world: LockWorld, fault: keyof LockFaults): LockWorld {
  return { ...world, faults: { ...world.faults, [fault]: world.faults[fault] - 1 } };
}

function put(world: LockWorld, index: number, replica: Replica): LockWorld {
  return { ...world, replicas: withItem(world.replicas, index, replica) };
}

function* replicaSteps(world: LockWorld, index: number, replica: Replica): Generator<LockStep> {
  const { faults } = world;
  const who = `replica ${index + 1}`;
  if (replica.life === 'down') {
    if (faults.restarts > 0)
      yield {
        choice: `${who} starts`,
        world: put(spend(world, 'restarts'), index, makeReplica(index, 'up')),
      };
    return;
  }
  if (replica.life === 'asleep') {
    yield { choice: `${who} wakes up`, world: put(world, index, { ...replica, life: 'up' }) };
    return;
  }
  yield* workSteps(world, index, replica);
  if (replica.answer && faults.losses > 0)
    yield {
      choice: `${who} never hears what came of its write`,
      world: put(spend(world, 'losses'), index, {
        ...replica,
        answer: undefined,
        isFresh: false,
        attemptedTick: world.tick,
      }),
    };
  if (faults.sleeps > 0)
    yield {
      choice: `${who} falls asleep`,
      world: put(spend(world, 'sleeps'), index, { ...replica, life: 'asleep' }),
    };
  if (faults.crashes > 0)
    yield {
      choice: `${who} crashes`,
      world: put(spend(world, 'crashes'), index, makeReplica(index, 'down')),
    };
  if (faults.stops > 0 && !replica.answer)
    yield { choice: `${who} stops, and lets go`, world: letGo(spend(world, 'stops'), index, replica) };
}

/** Returns the own steps of a replica, like those of coordinator-lock.ts around decideLock. */
function* workSteps(world: LockWorld, index: number, replica: Replica): Generator<LockStep> {
  const who = `replica ${index + 1}`;
  const { answer } = replica;
  if (answer)
    yield {
      choice: `${who} hears what came of its write`,
      world: put(world, index, hear(world, replica, answer)),
    };
  if (replica.seen?.version !== world.lease?.version)
    yield { choice: `${who} sees the lock`, world: put(world, index, watch(world, replica)) };
  if (answer || replica.attemptedTick >= world.tick) return;
  if (!replica.isFresh || !replica.observation) {
    yield { choice: `${who} reads the lock`, world: put(world, index, see(world, replica, world.lease)) };
    return;
  }
  const decision = decideLock(replica.observation, lockRules(replica), nowMs(world), replica.forceNotBefore);
  yield {
    choice: `${who} attempts to hold the lock`,
    note: decision.kind,
    world: attempt(world, index, replica, decision),
  };
}

function see(world: LockWorld, replica: Replica, lease: StoredLock | undefined): Replica {
  const record = lease?.record;
  const observation = observeLock(replica.observation, record, nowMs(world));
  const seen = { ...replica, seen: lease, observation, isFresh: true, actFromIfRefused: undefined };
  if (record?.holder === replica.identity) return seen;
  const isForced = isRenewed(replica, world) && record?.holder === BUILT_IN;
  return {
    ...seen,
    actFrom: replica.actFromIfRefused ?? replica.actFrom,
    renewedTick: undefined,
    forceNotBefore: isForced ? nowMs(world) + FORCE_BACKOFF_TICKS * TICK_MS : replica.forceNotBefore,
  };
}

function watch(world: LockWorld, replica: Replica): Replica {
  const seen = see(world, replica, world.lease);
  if (world.lease?.record.holder === replica.identity) return seen;
  // It reads the lock again at once.
  return {
    ...seen,
    isContested: true,
    attemptedTick: replica.attemptedTick === world.tick ? world.tick - 1 : replica.attemptedTick,
  };
}

function attempt(world: LockWorld, index: number, replica: Replica, decision: LockDecision): LockWorld {
  const { tick } = world;
  if (decision.kind === 'wait') return put(world, index, { ...replica, isFresh: false, attemptedTick: tick });
  const formerActFrom = replica.actFrom;
  const actFrom = decision.kind === 'renew' ? formerActFrom : Math.max(formerActFrom, decision.actFrom);
  const leaseDurationMs = Math.max(BELIEF_TICKS * TICK_MS, actFrom - nowMs(world));
  const isAllowed = replica.seen?.version === world.lease?.version;
  const written = isAllowed ? writeLock(world, replica.identity, leaseDurationMs) : world;
  const answer: LockAnswer = {
    kind: decision.kind,
    sentTick: tick,
    formerActFrom,
    lease: isAllowed ? written.lease : undefined,
  };
  return put(written, index, { ...replica, actFrom, isContested: false, answer });
}

function hear(world: LockWorld, replica: Replica, { sentTick, formerActFrom, lease }: LockAnswer): Replica {
  const heard = { ...replica, answer: undefined };
  // After a conflict, it reads the lock again at once.
  if (!lease) return { ...heard, actFromIfRefused: formerActFrom, isFresh: false };
  if (replica.isContested) return { ...heard, isFresh: false, attemptedTick: world.tick };
  return { ...see(world, heard, lease), renewedTick: sentTick, attemptedTick: world.tick };
}

/** The writes that it had begun have ended by then. It does not touch a record that is no longer its own. */
function letGo(world: LockWorld, index: number, replica: Replica): LockWorld {
  const settlingMs = replica.actFrom - nowMs(world);
  const isOwn = world.lease?.record.holder === replica.identity;
  const ended = put(world, index, makeReplica(index, 'down'));
  if (!isOwn) return ended;
  return settlingMs > 0
    ? writeLock(ended, replica.identity, settlingMs)
    : writeLock(ended, '', 1000, 'replica');
}

function* builtInSteps(world: LockWorld): Generator<LockStep> {
  const { builtIn, faults } = world;
  const { life, renewedTick } = builtIn;
  if (life === 'down') return;
  if (life === 'asleep') {
    yield { choice: 'the built-in wakes up', world: { ...world, builtIn: { ...builtIn, life: 'up' } } };
    return;
  }
  yield* builtInWork(world);
  if (faults.sleeps > 0)
    yield {
      choice: 'the built-in falls asleep',
      world: { ...spend(world, 'sleeps'), builtIn: { ...builtIn, life: 'asleep' } },
    };
  if (faults.stops > 0 && renewedTick !== undefined)
    yield {
      choice: 'the built-in is asked to stop',
      world: { ...spend(world, 'stops'), builtIn: stopLeading(builtIn) },
    };
}

function stopLeading(builtIn: BuiltIn): BuiltIn {
  const { renewedTick, observed } = builtIn;
  const isHolder = observed?.record.holder === BUILT_IN;
  const isReleasing = isHolder && renewedTick !== undefined;
  return { ...builtIn, renewedTick: undefined, observed: undefined, isReleasing };
}

function* builtInWork(world: LockWorld): Generator<LockStep> {
  const { builtIn, lease, tick } = world;
  const { renewedTick, observed, isReleasing } = builtIn;
  if (isReleasing) {
    const free = { ...builtIn, isReleasing: false, lostTick: undefined };
    const released = lease ? writeLock(world, '', 1000, 'other') : world;
    yield { choice: 'the built-in releases the lock, as it finds it', world: { ...released, builtIn: free } };
    return;
  }
  if (renewedTick !== undefined && tick >= renewedTick + DEADLINE_TICKS)
    yield { choice: 'the built-in gives up', world: { ...world, builtIn: stopLeading(builtIn) } };
  if (renewedTick === tick) return;
  const record = lease?.record;
  const isSame =
    observed &&
    record &&
    observed.record.renewTime === record.renewTime &&
    observed.record.holder === record.holder;
  const sinceTick = isSame ? observed.sinceTick : tick;
  const isValid =
    record !== undefined && tick * TICK_MS < sinceTick * TICK_MS + (record.leaseDurationMs ?? 0);
  const isAnothers = record !== undefined && record.holder !== '' && record.holder !== BUILT_IN && isValid;
  if (isAnothers) {
    if (!isSame)
      yield {
        choice: 'the built-in reads the lock',
        world: { ...world, builtIn: { ...builtIn, observed: { record, sinceTick } } },
      };
    return;
  }
  // A process that has released or deleted another's lock is responsible for the results.
  const isUsurper = renewedTick === undefined ? (record?.holder ?? '') === '' : builtIn.isUsurper;
  const written = writeLock(world, BUILT_IN, BELIEF_TICKS * TICK_MS);
  const own = written.lease && { record: written.lease.record, sinceTick: tick };
  yield {
    choice: 'the built-in takes or renews the lock',
    world: {
      ...written,
      builtIn: { ...builtIn, observed: own, renewedTick: tick, isUsurper, lostTick: undefined },
    },
  };
}

/** Time passes after all awake processes have acted. */
function* tick(world: LockWorld): Generator<LockStep> {
  const isBusy =
    world.replicas.some(
      (replica, index) => replica.life === 'up' && !workSteps(world, index, replica).next().done,
    ) ||
    (world.builtIn.life === 'up' && !builtInWork(world).next().done);
  if (isBusy && world.faults.lags === 0) return;
  const paid = isBusy ? spend(world, 'lags') : world;
  const next = { ...paid, tick: world.tick + 1 };
  const { lostTick, renewedTick, isReleasing } = next.builtIn;
  // The promises do not cover a sleep that lasts for two durations after the loss.
  const mayRelease = isReleasing || renewedTick !== undefined;
  const isOver = mayRelease && lostTick !== undefined && next.tick >= lostTick + 2 * BELIEF_TICKS;
  const builtIn: BuiltIn = isOver
    ? {
        life: 'up',
        observed: undefined,
        renewedTick: undefined,
        isReleasing: false,
        lostTick: undefined,
        isUsurper: false,
      }
    : next.builtIn;
  yield { choice: 'a tick passes', world: { ...next, builtIn } };
}
