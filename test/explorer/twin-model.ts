import { ElectionRecords } from '../../src/controller/election-records.ts';
import { recordDecision, recordSending, recordSuccess } from '../../src/controller/write-outcomes.ts';
import { leaseKey } from '../../src/coordination/lease-key.ts';
import type { Action } from '../../src/election/decision.ts';
import type { CandidateSource, Lease, LeaseCandidate, Now } from '../../src/election/model.ts';
import type { AnyStep, Model } from './explore.ts';
import { plain, type Sink } from './normalize.ts';
import { makeCandidate, realRules, written } from './rules.ts';
import { settingsOf } from './scenario.ts';
import { BELIEF_TICKS, isLeaseWrite, TICK_MS } from './world.ts';

/**
 * A program that moves from one group of LeaseCandidates to the other, and leaves its former candidate behind (rule
 * 13). The records of the controller decide which candidate counts. They are rebuilt from their history for each
 * state.
 */
export interface TwinWorld {
  readonly tick: number;
  readonly serial: number;
  readonly lease: Lease | undefined;
  readonly candidates: Readonly<Partial<Record<CandidateSource, LeaseCandidate>>>;
  /** Whether the program of that candidate runs. */
  readonly isUp: Readonly<Record<CandidateSource, boolean>>;
  readonly unledTicks: number;
  /** The reason of the last decision. */
  readonly reason: string;
  readonly history: readonly Event[];
  readonly choices: readonly string[];
}

type Event = (records: ElectionRecords) => void;

const NAME = 'a';
const settings = settingsOf({});
const KEY = leaseKey('default', 'election');
/** Time for a Lease to expire and for the pings to both candidates to time out. */
const LED_WITHIN_TICKS = BELIEF_TICKS + 2;
const MAX_TICKS = 10;
const WALL_START = BigInt(Date.UTC(2026, 0, 1)) * 1000n;

function nowIn({ tick, serial }: TwinWorld): Now {
  return { monotonic: tick * TICK_MS, wall: WALL_START + BigInt(tick * TICK_MS * 1000 + serial) };
}

function record(world: TwinWorld, event: Event): TwinWorld {
  return { ...world, serial: world.serial + 1, history: [...world.history, event] };
}

function putCandidate(world: TwinWorld, candidate: LeaseCandidate): TwinWorld {
  const now = nowIn(world);
  const candidates = { ...world.candidates, [candidate.source]: candidate };
  return record({ ...world, candidates }, (records) => void records.seeCandidate(candidate, now));
}

function putLease(world: TwinWorld, lease: Lease): TwinWorld {
  const now = nowIn(world);
  const stored = { ...lease, resourceVersion: `v${world.serial}` };
  return record({ ...world, lease: stored }, (records) => records.seeLease(KEY, stored, now));
}

function start(world: TwinWorld, source: CandidateSource): TwinWorld {
  const made = { ...makeCandidate(NAME, '1.36.0', nowIn(world).wall), source, uid: `uid-${source}` };
  return putCandidate({ ...world, isUp: { ...world.isUp, [source]: true } }, made);
}

function isRunning({ isUp }: TwinWorld): boolean {
  return isUp.native || isUp.custom;
}

/** Whether the program leads: it runs, and holds a valid Lease. It renews the Lease in each tick. */
export function isLed(world: TwinWorld): boolean {
  const { renewTime, leaseDurationSeconds = 0, holderIdentity } = world.lease ?? {};
  if (!isRunning(world) || holderIdentity !== NAME || renewTime === undefined) return false;
  return Number(nowIn(world).wall - renewTime) / 1000 < leaseDurationSeconds * 1000;
}

function renewLease(world: TwinWorld): TwinWorld {
  if (!world.lease || !isLed(world)) return world;
  const renewTime = nowIn(world).wall;
  return putLease(world, {
    ...world.lease,
    renewTime,
    leaseDurationSeconds: (BELIEF_TICKS * TICK_MS) / 1000,
  });
}

/** The coordinator performs all pending actions. A pinged candidate answers if its program runs. */
function work(before: TwinWorld): TwinWorld {
  let world = before;
  for (let count = 0; count < 20; count++) {
    const records = new ElectionRecords(settings);
    for (const event of world.history) event(records);
    const now = nowIn(world);
    const decision = realRules.decide(records.gather(KEY), now);
    world = record(world, (records) => recordDecision(records, KEY, decision, now.monotonic));
    world = { ...world, reason: decision.reason };
    if (decision.actions.length === 0) return world;
    for (const action of decision.actions) world = carryOut(world, action);
  }
  throw new Error('the coordinator never comes to rest');
}

function carryOut(before: TwinWorld, action: Action): TwinWorld {
  const at = before.tick * TICK_MS;
  let world = record(before, (records) => recordSending(records, KEY, action, at));
  if (isLeaseWrite(action)) {
    world = putLease(world, written(action, world.lease, `u${world.serial}`));
    const { lease } = world;
    world = record(world, (records) =>
      recordSuccess(records, KEY, action, at, at, lease && { before: before.lease, after: lease }),
    );
    return renewLease(world);
  }
  if (action.kind !== 'PingCandidate') throw new Error('nothing is to be collected so early');
  const candidate = world.candidates[action.source];
  if (!candidate) return world;
  const pinged = { ...candidate, pingTime: action.pingTime };
  world = record(putCandidate(world, pinged), (records) => recordSuccess(records, KEY, action, at, at));
  const { wall } = nowIn(world);
  const renewTime = action.pingTime >= wall ? action.pingTime + 1n : wall;
  return world.isUp[action.source] ? putCandidate(world, { ...pinged, renewTime }) : world;
}

function* steps(world: TwinWorld): Generator<AnyStep<TwinWorld>> {
  const chosen = (choice: string, next: TwinWorld): AnyStep<TwinWorld> => {
    const done = { ...work(next), choices: [...world.choices, choice] };
    const isUnled = !isLed(done) && isRunning(done) && choice === TICK;
    const unledTicks = isUnled
      ? world.unledTicks + 1
      : isLed(done) || !isRunning(done)
        ? 0
        : world.unledTicks;
    const violation =
      unledTicks > LED_WITHIN_TICKS
        ? `nobody has led for ${unledTicks} ticks although ${NAME} can`
        : undefined;
    return { choice, world: { ...done, unledTicks }, violation };
  };
  if (!world.candidates.custom)
    yield chosen('a starts with a candidate of our own group', start(world, 'custom'));
  if (world.isUp.native)
    yield chosen('a with the native candidate ends', { ...world, isUp: { ...world.isUp, native: false } });
  if (world.tick < MAX_TICKS) yield chosen(TICK, renewLease({ ...world, tick: world.tick + 1 }));
}

const TICK = 'a tick passes';

export const twinScenario = {
  name: 'twins',
  about:
    'a program moves from native candidates to those of our own group, and leaves its former candidate behind',
} as const;

/** Returns every order in which a program with a custom candidate can replace one with a native candidate. */
export function twinModel(): Model<TwinWorld> {
  const empty: TwinWorld = {
    tick: 0,
    serial: 0,
    lease: undefined,
    candidates: {},
    isUp: { native: false, custom: false },
    unledTicks: 0,
    reason: '',
    history: [],
    choices: [],
  };
  return { initial: work(start(empty, 'native')), steps, write };
}

/** Each order is a separate state, because the records may depend on it. */
function write({ choices }: TwinWorld, sink: Sink): void {
  sink.begin(0, 0);
  for (const choice of choices) plain(choice, sink);
}
