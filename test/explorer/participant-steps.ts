import type { Lease } from '../../src/election/model.ts';
import { leads } from './checks.ts';
import { removeCandidate } from './coordinator-steps.ts';
import {
  decideElector,
  type ElectorStep,
  edited,
  hasExpired,
  isGrant,
  isRenewedByRival,
  isTaken,
  observeSight,
} from './rules.ts';
import type { Scenario, Setting } from './scenario.ts';
import {
  BELIEF_TICKS,
  DEADLINE_TICKS,
  later,
  nowIn,
  ownTick,
  type Participant,
  type ParticipantAnswer,
  type ParticipantView,
  putLease,
  type Step,
  TICK_MS,
  type World,
  withItem,
} from './world.ts';

const timing = {
  leaseDurationMs: BELIEF_TICKS * TICK_MS,
  renewDeadlineMs: DEADLINE_TICKS * TICK_MS,
  retryPeriodMs: TICK_MS,
};

type Write = Extract<ElectorStep, { kind: 'takeUp' | 'renew' | 'release' }>;

/**
 * The possible next steps of a program with this project's elector. decideElector decides, and the steps are those of
 * elector.ts.
 */
export function* participantSteps(
  world: World,
  index: number,
  program: Participant,
  { scenario }: Setting,
): Generator<Step> {
  const { name, answer, view } = program;
  const { faults } = world;
  if (answer) {
    yield hear(world, index, program, answer, scenario);
    if (faults.losses > 0)
      yield {
        choice: `${name} never hears what came of its write`,
        world: put({ ...world, faults: { ...faults, losses: faults.losses - 1 } }, index, {
          ...program,
          answer: undefined,
        }),
      };
  }
  const isNew = !view.sight || view.sight.lease?.resourceVersion !== world.lease?.resourceVersion;
  if (isNew)
    yield {
      choice: `${name} sees the Lease`,
      world: see(world, index, program, world.lease, ownTick(world, program)),
    };
  if (view.term?.isOver) {
    const releaseDeadline = ownNow(world, program) + timing.renewDeadlineMs;
    yield {
      choice: `${name} has stopped leading`,
      world: put(world, index, { ...program, view: { ...view, term: undefined, releaseDeadline } }),
    };
  }
  yield* acts(world, index, program);
}

/** The program is asked to stop. */
export function refuse(world: World, index: number, program: Participant): World {
  const releaseDeadline = ownNow(world, program) + timing.renewDeadlineMs;
  return put(world, index, { ...program, view: { ...program.view, refusal: 'stopped', releaseDeadline } });
}

function put(world: World, index: number, program: Participant): World {
  return { ...world, programs: withItem(world.programs, index, program) };
}

function ownNow(world: World, program: Participant): number {
  return ownTick(world, program) * TICK_MS;
}

function electorView({ name, answer, view }: Participant) {
  return {
    ...view,
    identity: name,
    timing,
    isRequestInFlight: answer !== undefined,
    retryAt: Number.NEGATIVE_INFINITY,
  };
}

function see(
  world: World,
  index: number,
  program: Participant,
  lease: Lease | undefined,
  tick: number,
): World {
  const { name, view } = program;
  const sight = observeSight(view.sight, lease, tick * TICK_MS);
  let { hasRival } = view;
  if (lease?.holderIdentity !== name || isGrant(lease)) hasRival = false;
  const { term } = view;
  if (term && isTaken({ sight, identity: name }, term) && isRenewedByRival(lease, name, term.fencingToken))
    hasRival = true;
  return put(world, index, { ...program, view: { ...view, sight, hasRival } });
}

function* acts(world: World, index: number, program: Participant): Generator<Step> {
  const { name, view } = program;
  const now = ownNow(world, program);
  const hasRival = view.sight && hasExpired(view.sight, now) ? false : view.hasRival;
  const current: Participant = { ...program, view: { ...view, hasRival } };
  const step = decideElector(electorView(current), now);
  switch (step.kind) {
    case 'await':
      if (hasRival !== view.hasRival)
        yield { choice: `${name} meets its rival no more`, world: put(world, index, current) };
      return;
    case 'takeUp':
    case 'renew':
    case 'release':
      yield { choice: `${name} writes the Lease`, note: step.kind, world: send(world, index, current, step) };
      return;
    case 'end':
      yield {
        choice: `${name} ends its term`,
        note: step.why,
        world: put(world, index, { ...current, view: ended(current.view) }),
      };
      return;
    case 'rest':
      yield { choice: `${name} exits`, world: down(world, index, current) };
  }
}

function ended(view: ParticipantView): ParticipantView {
  return { ...view, term: view.term && { ...view.term, isOver: true } };
}

export function down(world: World, index: number, program: Participant): World {
  const view = {
    sight: undefined,
    term: undefined,
    hasRival: false,
    refusal: undefined,
    releaseDeadline: Number.POSITIVE_INFINITY,
  };
  const ended = put(world, index, { ...program, life: 'down', view, answer: undefined });
  return removeCandidate(ended, program.name);
}

function send(world: World, index: number, program: Participant, step: Write): World {
  const { lease } = world;
  const number = step.kind === 'release' ? step.lease.leaseTransitions : step.fencingToken;
  const answered = (world: World, written: Lease | undefined): World =>
    put(world, index, {
      ...program,
      answer: { kind: step.kind, number, sentTick: ownTick(world, program), lease: written },
    });
  if (!lease || lease.resourceVersion !== step.lease.resourceVersion) return answered(world, undefined);
  const next = later(world);
  const { wall: renewTime } = nowIn(next, program.clockTicks);
  const isRelease = step.kind === 'release';
  const written = edited(
    lease,
    isRelease
      ? { holderIdentity: '', leaseDurationSeconds: 1, renewTime }
      : {
          holderIdentity: program.name,
          leaseDurationSeconds: timing.leaseDurationMs / 1000,
          leaseTransitions: number,
          renewTime,
        },
  );
  const stored = putLease(next, written, 'participant', isRelease ? undefined : world.grantor);
  return answered(stored, stored.lease);
}

function hear(
  world: World,
  index: number,
  program: Participant,
  answer: ParticipantAnswer,
  scenario: Scenario,
): Step {
  const { name } = program;
  const choice = `${name} hears what came of its write`;
  const heard: Participant = { ...program, answer: undefined };
  // After a conflict, it reads the Lease.
  if (!answer.lease)
    return {
      choice,
      note: 'a conflict',
      world: see(world, index, heard, world.lease, ownTick(world, heard)),
    };
  const isNew = isNewer(answer.lease, program.view.sight?.lease);
  const told = isNew ? see(world, index, heard, answer.lease, answer.sentTick) : put(world, index, heard);
  const informed = told.programs[index];
  if (informed?.kind !== 'participant' || answer.kind === 'release') return { choice, world: told };
  const { view } = informed;
  const renewedAt = answer.sentTick * TICK_MS;
  if (answer.kind === 'renew') {
    const term = view.term && { ...view.term, renewedAt };
    return { choice, world: put(told, index, { ...informed, view: { ...view, term } }) };
  }
  const term = { fencingToken: answer.number, renewedAt, isOver: false };
  const leading: Participant = { ...informed, view: { ...view, term } };
  // The answer is too late, or no longer wanted: it has never led.
  if (decideElector(electorView(leading), ownNow(world, program)).kind === 'end')
    return { choice, world: told };
  const past = { uid: answer.lease.uid, number: answer.number, who: name };
  return { choice, ...leads(put(told, index, leading), leading, past, scenario) };
}

/** The watch may already have shown its write, or even a later one. */
function isNewer(lease: Lease, than: Lease | undefined): boolean {
  return Number(lease.resourceVersion.slice(1)) > Number(than?.resourceVersion.slice(1) ?? 0);
}
