import { observePod } from '../../src/election/holder-binding.ts';
import { coordinatorSteps, isBusy, putCandidate, renewCandidate, takeOver } from './coordinator-steps.ts';
import * as clientGo from './elector-steps.ts';
import { endContainer, kubeletSteps, podUid, startedPod } from './kubelet-steps.ts';
import * as participant from './participant-steps.ts';
import { edited, list, makeCandidate, makeLease, nothingKnown } from './rules.ts';
import { NO_FAULTS, type ProgramPlan, type Scenario, type Setting, settingsOf } from './scenario.ts';
import {
  answersPings,
  BELIEF_TICKS,
  believers,
  believes,
  DEADLINE_TICKS,
  type Faults,
  GRANT_TICKS,
  LOCK_TICKS,
  later,
  nowIn,
  type Program,
  putLease,
  STRANGER,
  STRATEGY,
  type Step,
  TICK_MS,
  ticksSince,
  type World,
  withItem,
} from './world.ts';

/** Returns all possible next steps, always in the same order. */
export function* steps(world: World, setting: Setting): Generator<Step> {
  for (const index of world.coordinators.keys()) yield* coordinatorSteps(world, index, setting);
  for (const [index, program] of world.programs.entries()) {
    if (program.life === 'up') yield* programSteps(world, index, program, setting);
    yield* lifeSteps(world, index, program, setting);
    yield* kubeletSteps(world, index, program);
  }
  yield* lockSteps(world, setting);
  if (world.active === 'builtIn') yield* builtInSteps(world);
  yield* vandalSteps(world, setting);
  yield* tick(world, setting);
}

function programSteps(world: World, index: number, program: Program, setting: Setting): Generator<Step> {
  return program.kind === 'clientGo'
    ? clientGo.electorSteps(world, index, program, setting)
    : participant.participantSteps(world, index, program, setting);
}

function spend(world: World, fault: keyof Faults): World {
  return { ...world, faults: { ...world.faults, [fault]: world.faults[fault] - 1 } };
}

function put(world: World, index: number, program: Program): World {
  return { ...world, programs: withItem(world.programs, index, program) };
}

function* lifeSteps(world: World, index: number, program: Program, { scenario }: Setting): Generator<Step> {
  const { name, life } = program;
  const { faults } = world;
  const canSlip = faults.slips > 0 && program.slowBy === 0;
  if (life === 'asleep') {
    yield {
      choice: `${name} wakes up`,
      world: renewCandidate(put(world, index, { ...program, life: 'up' }), name),
    };
    if (canSlip) yield slip(world, index, program);
    return;
  }
  if (life === 'down') {
    const plan = scenario.programs[index];
    const isNew =
      plan?.isLate && !world.candidates.some((candidate) => candidate.name === name) && !world.hasStarted;
    if (plan && isNew)
      yield { choice: `${name} starts`, world: start({ ...world, hasStarted: true }, index, scenario) };
    return;
  }
  const mayFail = scenario.programs.every(({ isFlaky }) => !isFlaky) || scenario.programs[index]?.isFlaky;
  if (faults.sleeps > 0 && mayFail)
    yield {
      choice: `${name} falls asleep`,
      world: put(spend(world, 'sleeps'), index, { ...program, life: 'asleep' }),
    };
  if (faults.crashes > 0 && mayFail)
    yield {
      choice: `${name} crashes`,
      world: endContainer(
        put({ ...spend(world, 'crashes'), unledTicks: 0 }, index, makeProgram(scenario, index, 'down')),
        index,
        program,
      ),
    };
  if (canSlip) yield slip(world, index, program);
  if (faults.stops > 0) {
    const spent = spend(world, 'stops');
    if (program.kind === 'participant') {
      if (!program.view.refusal)
        yield { choice: `${name} is asked to stop`, world: participant.refuse(spent, index, program) };
    } else if (!program.releasing) {
      yield { choice: `${name} is asked to stop`, world: clientGo.stop(spent, index, program) };
    }
  }
}

function slip(world: World, index: number, program: Program): Step {
  const slower = { ...program, slowBy: program.slowBy + 1 };
  return {
    choice: `the clock of ${program.name} falls behind`,
    world: put(spend(world, 'slips'), index, slower),
  };
}

function makeProgram(scenario: Scenario, index: number, life: Program['life']): Program {
  const plan = scenario.programs[index];
  if (!plan) throw new RangeError('no such program');
  const { name, hasElector = true, clockTicks = 0 } = plan;
  const beliefTicks = scenario.stopsEarly ? DEADLINE_TICKS : BELIEF_TICKS;
  const base = { name, life, hasElector, beliefTicks, slowBy: 0, clockTicks };
  if (plan.kind === 'clientGo')
    return {
      ...base,
      kind: 'clientGo',
      observed: undefined,
      renewing: undefined,
      term: undefined,
      releasing: undefined,
      lostTick: undefined,
    };
  const view = {
    sight: undefined,
    term: undefined,
    hasRival: false,
    refusal: undefined,
    releaseDeadline: Number.POSITIVE_INFINITY,
  };
  return { ...base, kind: 'participant', view, answer: undefined };
}

function start(world: World, index: number, scenario: Scenario): World {
  const { name, version = '1.36.0', clockTicks }: Partial<ProgramPlan> = scenario.programs[index] ?? {};
  const { wall } = nowIn(world);
  const made = makeCandidate(name ?? '', version, wall);
  return putCandidate(put(world, index, makeProgram(scenario, index, 'up')), {
    ...made,
    ...(scenario.hasKubelet && { pod: { name: made.name, uid: podUid(made.name) } }),
    renewTime: nowIn(world, clockTicks).wall,
  });
}

/** The lock passes only when no write of its former holder is in flight. */
function* lockSteps(world: World, setting: Setting): Generator<Step> {
  const { scenario } = setting;
  const { active, faults } = world;
  if (faults.failovers === 0) return;
  if (active !== 'builtIn' && world.coordinators[active]?.answer) return;
  if (scenario.isLedAgain && world.tick < world.activeSince + LOCK_TICKS) return;
  const spent = { ...spend(world, 'failovers'), activeSince: world.tick };
  for (const index of world.coordinators.keys())
    if (index !== active)
      yield { choice: `the lock passes to coordinator ${index + 1}`, world: takeOver(spent, index, setting) };
  if (scenario.hasBuiltIn && active !== 'builtIn')
    yield { choice: 'the lock passes to the built-in coordinator', world: { ...spent, active: 'builtIn' } };
}

/** The coordinator built into kube-apiserver. It uses only the Lease, and sets no acquireTime. */
function* builtInSteps(world: World): Generator<Step> {
  const { lease } = world;
  const { renewTime, leaseDurationSeconds = 0 } = lease ?? {};
  const isExpired =
    renewTime === undefined || ticksSince(world, renewTime) * TICK_MS >= leaseDurationSeconds * 1000;
  if (lease?.holderIdentity && !isExpired) return;
  for (const { name, life } of world.programs) {
    if (life !== 'up' || (lease?.holderIdentity === name && !isExpired)) continue;
    const next = later(world);
    const grant = {
      holderIdentity: name,
      renewTime: nowIn(next).wall,
      acquireTime: undefined,
      leaseDurationSeconds: (GRANT_TICKS * TICK_MS) / 1000,
      preferredHolder: undefined,
      strategy: STRATEGY,
    };
    yield {
      choice: `the built-in coordinator grants the Lease to ${name}`,
      world: putLease(next, edited(lease ?? makeLease(`u${next.serial}`, {}), grant), 'builtIn', 'builtIn'),
    };
  }
}

function* vandalSteps(world: World, { scenario }: Setting): Generator<Step> {
  const { lease, faults } = world;
  if (!lease) return;
  if (faults.deletions > 0)
    yield {
      choice: 'a vandal deletes the Lease',
      world: putLease(spend(world, 'deletions'), undefined, 'vandal', undefined),
    };
  if (faults.emptyings > 0 && lease.holderIdentity !== '')
    yield {
      choice: 'a vandal empties the Lease',
      world: putLease(spend(world, 'emptyings'), edited(lease, { holderIdentity: '' }), 'vandal', undefined),
    };
  if (faults.shortenings > 0 && lease.holderIdentity !== '' && lease.leaseDurationSeconds !== 1)
    yield {
      choice: 'another client shortens the Lease to a second',
      world: putLease(
        spend(world, 'shortenings'),
        edited(lease, { leaseDurationSeconds: 1 }),
        'vandal',
        world.grantor,
      ),
    };
  if (faults.thefts > 0)
    for (const thief of thievesIn(scenario))
      if (thief !== lease.holderIdentity)
        yield {
          choice: `a vandal writes ${thief} into the Lease`,
          world: putLease(
            spend(world, 'thefts'),
            edited(lease, { holderIdentity: thief }),
            'vandal',
            'vandal',
          ),
        };
}

function thievesIn({ thieves, programs }: Scenario): readonly string[] {
  return thieves === 'stranger' ? [STRANGER] : [STRANGER, ...programs.map(({ name }) => name)];
}

/** Whether an awake program must act. */
function isIdle(world: World, setting: Setting): boolean {
  return world.programs.every(
    (program, index) => program.life !== 'up' || programSteps(world, index, program, setting).next().done,
  );
}

/** Time passes after the coordinators have acted. Then all running programs renew their candidates. */
function* tick(world: World, setting: Setting): Generator<Step> {
  const { scenario } = setting;
  // There is no bound for a new leader if no watch ever recovers.
  const isChecked = scenario.ledWithinTicks !== undefined || scenario.isLedAgain;
  if (isChecked && world.coordinators.some(({ news }) => news === undefined)) return;
  const isPaused = world.coordinators.some((_, index) => isBusy(world, index, setting));
  if (isPaused && world.faults.pauses === 0) return;
  if (
    world.programs.some(
      (program) => program.kind === 'participant' && program.life === 'up' && program.answer,
    )
  )
    return;
  const isLagging = !isIdle(world, setting);
  if (isLagging && world.faults.lags === 0) return;
  const paid = isPaused ? spend(world, 'pauses') : world;
  const passed: World = { ...(isLagging ? spend(paid, 'lags') : paid), tick: world.tick + 1 };
  let next = endLongSleeps(passed);
  for (const program of next.programs) if (answersPings(program)) next = renewCandidate(next, program.name);
  const { ledWithinTicks } = scenario;
  const unledTicks =
    ledWithinTicks === undefined || believers(world).length > 0 || !canBeLed(world)
      ? 0
      : world.unledTicks + 1;
  yield {
    choice: 'a tick passes',
    world: { ...next, unledTicks },
    violation:
      ledWithinTicks !== undefined && unledTicks > ledWithinTicks
        ? `nobody has led for ${unledTicks} ticks although ${ableNames(world).join(' and ')} can`
        : undefined,
  };
}

/** Whether there is a program that would take up a grant. */
export function canBeLed(world: World): boolean {
  return ableNames(world).length > 0;
}

function ableNames({ programs }: World): readonly string[] {
  return programs.filter(({ life, hasElector }) => life === 'up' && hasElector).map(({ name }) => name);
}

/**
 * The promises do not cover a program that sleeps for two durations from its last renewal, and for one from its loss
 * (rule 8).
 */
function endLongSleeps(world: World): World {
  let next = world;
  for (const [index, program] of world.programs.entries()) {
    if (program.kind === 'clientGo') {
      const { renewedTick } = program.term ?? program.releasing ?? {};
      const { lostTick } = program;
      if (renewedTick === undefined || lostTick === undefined) continue;
      const until = Math.max(renewedTick + 2 * BELIEF_TICKS, lostTick + BELIEF_TICKS);
      if (world.tick >= until) next = clientGo.down(next, index, program);
    }
  }
  return next;
}

/** Returns the initial world of a scenario. */
export function initialWorld(setting: Setting): World {
  const { scenario, rules } = setting;
  const { programs, coordinators, faults, firstActive, start: begin } = scenario;
  const { ledForTicks = LED_FOR_TICKS } = scenario;
  const settings = settingsOf(scenario);
  const bare: World = {
    tick: begin === 'led' ? -ledForTicks : 0,
    serial: 0,
    lease: undefined,
    owners: {},
    grantor: undefined,
    candidates: [],
    programs: programs.map((_, index) => makeProgram(scenario, index, 'down')),
    coordinators: Array.from({ length: coordinators }, (_, index) => ({
      known: nothingKnown(settings),
      pods: [],
      clockTicks: scenario.coordinatorClocks?.[index] ?? 0,
      news: [],
      answer: undefined,
      expected: undefined,
      listsByTick: undefined,
      hasRelisted: false,
    })),
    pods: [],
    active: firstActive ?? 0,
    activeSince: Number.NEGATIVE_INFINITY,
    faults: NO_FAULTS,
    terms: [],
    unledTicks: 0,
    hasStarted: false,
  };
  let world = bare;
  for (const [index, plan] of programs.entries())
    if (!plan.isLate) world = start(later(world), index, scenario);
  const begun = world;
  const pods = scenario.hasKubelet ? begun.programs.map((program) => startedPod(begun, program)) : [];
  // The coordinators have listed.
  world = {
    ...world,
    pods,
    coordinators: world.coordinators.map((coordinator) => ({
      ...coordinator,
      pods: pods.map(({ reported }) => observePod(undefined, reported, nowIn(begun).monotonic)),
      known: list(rules, settings, world.lease, world.candidates, nowIn(world, coordinator.clockTicks)),
    })),
  };
  if (scenario.start === 'led') world = settle(world, setting);
  return { ...world, faults: { ...NO_FAULTS, ...faults } };
}

/** A Lease with a leader at the beginning has had it for long: earlier events do not matter any more. */
const LED_FOR_TICKS = 8;

/** Runs without faults, until a program leads and no action is pending. */
function settle(world: World, setting: Setting): World {
  let next = world;
  for (let count = 0; count < 10_000; count++) {
    const [step] = [...steps(next, setting)].filter(
      ({ choice }) => choice !== 'a tick passes' && !choice.endsWith(' starts'),
    );
    if (step) next = step.world;
    else if (next.tick >= 0 && next.programs.some((program) => believes(program, next.tick))) return next;
    else next = [...steps(next, setting)].find(({ choice }) => choice === 'a tick passes')?.world ?? next;
  }
  throw new Error(`nobody ever leads in ${setting.scenario.name}`);
}
