import { type Decision, grantIn, type PingCandidate } from '../../src/election/decision.ts';
import { observePod } from '../../src/election/holder-binding.ts';
import type { Lease, LeaseCandidate, Now } from '../../src/election/model.ts';
import { describeActions } from '../support/sim-election.ts';
import * as rules from './rules.ts';
import { type Setting, settingsOf } from './scenario.ts';
import {
  type Answer,
  answersPings,
  believers,
  type Coordinator,
  isLeaseWrite,
  type LeaseWrite,
  later,
  nowIn,
  putLease,
  type Step,
  TICK_MS,
  type World,
  withItem,
} from './world.ts';

/** How long a coordinator waits for its watch to show the result of a write, in ticks. */
const EXPECTATION_TICKS = 2;
/** How long no watch may show anything after an unseen creation: the assumption about lists, in ticks. */
const LONGEST_GAP_TICKS = 2;

/** The possible next steps of a coordinator of this project. */
export function* coordinatorSteps(world: World, index: number, setting: Setting): Generator<Step> {
  const coordinator = world.coordinators[index];
  if (!coordinator) return;
  const who = `coordinator ${index + 1}`;
  const { news, answer } = coordinator;
  const { faults } = world;
  if (answer) {
    yield { choice: `${who} hears what came of its write`, world: hear(world, index, answer) };
    if (faults.losses > 0)
      yield {
        choice: `${who} never hears what came of its write`,
        world: lose({ ...world, faults: { ...faults, losses: faults.losses - 1 } }, index, answer),
      };
  }
  if (news === undefined) {
    yield { choice: `${who} lists the Lease again`, world: listAgain(world, index, setting) };
  } else {
    if (news.length > 0)
      yield { choice: `${who} sees a change of the Lease`, world: seeNext(world, index, setting) };
    if (faults.gaps > 0)
      yield {
        choice: `the watch of ${who} breaks`,
        world: change({ ...world, faults: { ...faults, gaps: faults.gaps - 1 } }, index, { news: undefined }),
      };
  }
  if (isActive(world, index, setting)) yield* decisions(world, index, setting);
  if (faults.restarts > 0 && !answer)
    yield {
      choice: `${who} is started again, and lists`,
      world: restart(
        { ...world, unledTicks: 0, faults: { ...faults, restarts: faults.restarts - 1 } },
        index,
        setting,
      ),
    };
}

/** Whether a coordinator may write. */
function isActive({ active }: World, index: number, { scenario }: Setting): boolean {
  return active === index || (scenario.areAllActive ?? false);
}

/** The current times of a coordinator's clocks. */
function nowOf(world: World, index: number): Now {
  return nowIn(world, world.coordinators[index]?.clockTicks);
}

/** Whether a coordinator must act before time may pass. */
export function isBusy(world: World, index: number, setting: Setting): boolean {
  const coordinator = world.coordinators[index];
  if (!coordinator) return false;
  if (coordinator.answer || (coordinator.news?.length ?? 0) > 0) return true;
  const { news, listsByTick } = coordinator;
  if (news === undefined && listsByTick !== undefined && listsByTick <= world.tick) return true;
  return isActive(world, index, setting) && !decisions(world, index, setting).next().done;
}

function change(world: World, index: number, next: Partial<Coordinator>): World {
  const coordinator = world.coordinators[index];
  if (!coordinator) throw new RangeError('no such coordinator');
  return { ...world, coordinators: withItem(world.coordinators, index, { ...coordinator, ...next }) };
}

function seeNext(world: World, index: number, setting: Setting): World {
  const { known, news } = world.coordinators[index] ?? {};
  if (!known || !news) return world;
  const [first, ...rest] = news;
  const seen = setting.rules.seeLease(known, first, nowOf(world, index));
  return endWait(change(world, index, { known: seen, news: rest, listsByTick: undefined }), index);
}

function listAgain(world: World, index: number, setting: Setting): World {
  const { known } = world.coordinators[index] ?? {};
  if (!known) return world;
  const isSame = known.lease?.resourceVersion === world.lease?.resourceVersion;
  const coordinatingSince = isActive(world, index, setting)
    ? world.activeSince * TICK_MS
    : Number.POSITIVE_INFINITY;
  const next = isSame
    ? known
    : setting.rules.seeLease(known, world.lease, nowOf(world, index), coordinatingSince);
  const listed = { known: next, news: [], listsByTick: undefined, hasRelisted: true };
  return endWait(change(world, index, listed), index);
}

/** After a newer version is seen, the wait is over. */
function endWait(world: World, index: number): World {
  const { known, expected } = world.coordinators[index] ?? {};
  const isSeen = expected && known?.lease?.resourceVersion !== expected.baseVersion;
  return isSeen ? change(world, index, { expected: undefined }) : world;
}

function restart(world: World, index: number, setting: Setting): World {
  const now = nowOf(world, index);
  return change(world, index, {
    known: rules.list(setting.rules, settingsOf(setting.scenario), world.lease, world.candidates, now),
    pods: world.pods.map(({ reported }) => observePod(undefined, reported, now.monotonic)),
    news: [],
    answer: undefined,
    expected: undefined,
    listsByTick: undefined,
    hasRelisted: false,
  });
}

/**
 * The lock passes to a coordinator. If that coordinator has watched all along, it has seen all writes of the former
 * one.
 */
export function takeOver(world: World, index: number, setting: Setting): World {
  const { known, news, hasRelisted } = world.coordinators[index] ?? {};
  if (!known) return world;
  const hasSeenAll = news?.length === 0 && !hasRelisted;
  if (hasSeenAll) return { ...world, active: index };
  const begun = setting.rules.begin(known, 'takeOver', nowOf(world, index));
  return { ...change(world, index, { known: begun }), active: index };
}

function hear(world: World, index: number, { action, sentTick, outcome, lease, hasDropped }: Answer): World {
  const { known } = world.coordinators[index] ?? {};
  if (!known) return world;
  const now = nowOf(world, index);
  const sentAt = sentTick * TICK_MS;
  const baseVersion = action.kind === 'CreateLease' ? undefined : action.resourceVersion;
  const next =
    outcome === 'done' && lease
      ? rules.noteWritten(known, action, sentAt, now, lease, hasDropped)
      : rules.noteFailed(known, action, sentAt, now, outcome !== 'done');
  const untilTick = world.tick + (outcome === 'notFound' ? 1 : EXPECTATION_TICKS);
  return endWait(
    change(world, index, { known: next, answer: undefined, expected: { baseVersion, untilTick } }),
    index,
  );
}

function lose(world: World, index: number, { action, sentTick }: Answer): World {
  const { known } = world.coordinators[index] ?? {};
  if (!known) return world;
  const next = rules.noteFailed(known, action, sentTick * TICK_MS, nowOf(world, index), false);
  const mustList = action.kind === 'CreateLease';
  return change(world, index, { known: next, answer: undefined, ...(mustList && listingBy(world)) });
}

function listingBy({ tick }: World): Pick<Coordinator, 'listsByTick'> {
  return { listsByTick: tick + LONGEST_GAP_TICKS };
}

/** Decides, unless the coordinator has to wait for the result of its last write. */
function* decisions(world: World, index: number, setting: Setting): Generator<Step> {
  const { known, answer, expected, news } = world.coordinators[index] ?? {};
  if (!known || answer || (news && news.length > 0)) return;
  const isUnseen = expected && known.lease?.resourceVersion === expected.baseVersion;
  if (isUnseen && world.tick < expected.untilTick) return;
  const now = nowOf(world, index);
  const isNeverSeen = isUnseen && !known.lease;
  const current = isNeverSeen ? rules.noteUnseen(known, now) : known;
  const { pods = [] } = world.coordinators[index] ?? {};
  const decision = setting.rules.decide(
    pods.length > 0 ? { ...current, holderPods: { pods } } : current,
    now,
  );
  const noted = rules.noteDecision(current, decision, now);
  if (decision.actions.length === 0 && noted.memory === known.memory) return;
  yield carryOut(
    later(change(world, index, { known: noted, expected: undefined, ...(isNeverSeen && listingBy(world)) })),
    index,
    decision,
    setting,
  );
}

function carryOut(world: World, index: number, decision: Decision, setting: Setting): Step {
  const choice = `coordinator ${index + 1} decides`;
  const note = `${decision.reason}${decision.actions.length > 0 ? `: ${describeActions(decision.actions)}` : ''}`;
  const write = decision.actions.find(isLeaseWrite);
  // The other actions of the decision wait until the result of the write is known.
  if (write) return { choice, note, ...send(world, index, write, setting) };
  let next = world;
  for (const action of decision.actions) {
    if (action.kind !== 'PingCandidate')
      throw new Error(`nothing here is to be collected, but ${action.kind}`);
    next = ping(next, index, action);
  }
  return { choice, note, world: next };
}

/** The server applies a write at once. Its answer arrives later. */
function send(
  world: World,
  index: number,
  action: LeaseWrite,
  setting: Setting,
): Pick<Step, 'world' | 'violation'> {
  const { known } = world.coordinators[index] ?? {};
  if (!known) return { world };
  const sending = change(world, index, { known: rules.noteSending(known, action, nowOf(world, index)) });
  const answered = (world: World, outcome: Answer['outcome'], after: Lease | undefined) => {
    const hasDropped = after && rules.hasDroppedFields(action, { before: known.lease, after });
    return change(world, index, {
      answer: { action, sentTick: world.tick, outcome, lease: after, hasDropped },
    });
  };
  const { lease } = world;
  if (!rules.isCompareAndSwap(action))
    return { world: sending, violation: `a write names no version: ${action.kind}` };
  if (setting.rules.isOutdated(action, lease)) return { world: answered(sending, 'conflict', undefined) };
  if (action.kind === 'UpdateLease' && !lease) return { world: answered(sending, 'notFound', undefined) };
  const made = rules.written(action, lease, `u${world.serial}`, setting.scenario.dropsFields);
  const grant = grantIn(action);
  const stored = putLease(sending, made, 'coordinator', grant ? 'coordinator' : world.grantor);
  const others = grant ? believers(world).filter((name) => name !== grant.holder) : [];
  return {
    world: answered(stored, 'done', stored.lease),
    violation:
      others.length > 0
        ? `the Lease is given to ${grant?.holder} while ${others.join(' and ')} leads`
        : undefined,
  };
}

/** In one step: a ping is delivered, a running program answers it, and the coordinator sees the answer. */
function ping(world: World, index: number, action: PingCandidate): World {
  const candidate = world.candidates.find(({ name }) => name === action.name);
  const { known } = world.coordinators[index] ?? {};
  if (!candidate || !known) return world;
  const sent = later(change(world, index, { known: rules.noteSending(known, action, nowOf(world, index)) }));
  const pinged = putCandidate(sent, { ...candidate, pingTime: action.pingTime });
  const { known: delivered } = pinged.coordinators[index] ?? {};
  if (!delivered) return pinged;
  const noted = change(pinged, index, { known: rules.notePinged(delivered, action, nowOf(pinged, index)) });
  return world.programs.some((program) => program.name === action.name && answersPings(program))
    ? renewCandidate(noted, action.name)
    : noted;
}

/** All coordinators see a change of a candidate at once. */
export function putCandidate(world: World, candidate: LeaseCandidate): World {
  const isKnown = world.candidates.some(({ name }) => name === candidate.name);
  return later(world, {
    candidates: isKnown
      ? world.candidates.map((other) => (other.name === candidate.name ? candidate : other))
      : [...world.candidates, candidate],
    coordinators: world.coordinators.map((coordinator) => ({
      ...coordinator,
      known: rules.seeCandidate(coordinator.known, candidate, nowIn(world, coordinator.clockTicks), !isKnown),
    })),
  });
}

export function removeCandidate(world: World, name: string): World {
  return later(world, {
    candidates: world.candidates.filter((candidate) => candidate.name !== name),
    coordinators: world.coordinators.map((coordinator) => ({
      ...coordinator,
      known: rules.dropCandidate(coordinator.known, name),
    })),
  });
}

/** A candidate's program renews it, by its own clock, but at least to a time that answers the last ping. */
export function renewCandidate(world: World, name: string): World {
  const candidate = world.candidates.find((candidate) => candidate.name === name);
  if (!candidate) return world;
  const { clockTicks } = world.programs.find((program) => program.name === name) ?? {};
  const { wall } = nowIn(world, clockTicks);
  const { pingTime } = candidate;
  const renewTime = pingTime !== undefined && pingTime >= wall ? pingTime + 1n : wall;
  return putCandidate(world, { ...candidate, renewTime });
}
