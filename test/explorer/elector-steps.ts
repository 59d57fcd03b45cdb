import type { Lease } from '../../src/election/model.ts';
import { leads } from './checks.ts';
import { removeCandidate } from './coordinator-steps.ts';
import { withoutNotes as asClientGoSees, edited } from './rules.ts';
import type { Scenario, Setting } from './scenario.ts';
import {
  BELIEF_TICKS,
  type ClientGo,
  DEADLINE_TICKS,
  later,
  nowIn,
  ownTick,
  putLease,
  type Step,
  TICK_MS,
  type World,
  withItem,
} from './world.ts';

/**
 * The possible next steps of a program with client-go's coordinated elector. It reads the Lease and then updates the
 * version that it has read. It leads after a successful update, and trusts the update from the start of the read.
 */
export function* electorSteps(
  world: World,
  index: number,
  program: ClientGo,
  { scenario }: Setting,
): Generator<Step> {
  const { name, renewing, term, releasing } = program;
  const { faults } = world;
  const tick = ownTick(world, program);
  if (releasing) {
    yield { choice: `${name} releases the Lease, as it finds it`, world: release(world, index, program) };
    return;
  }
  if (renewing) {
    const { lease } = world;
    if (lease?.resourceVersion !== renewing.resourceVersion) {
      yield {
        choice: `${name} updates the Lease`,
        world: put(world, index, { ...program, renewing: undefined }),
      };
    } else {
      yield update(world, index, program, lease, renewing.sinceTick, scenario);
      if (faults.losses > 0) yield loseUpdate(world, index, program, lease);
    }
  } else if (!term || term.renewedTick < tick) {
    yield* looks(world, index, program, scenario);
  }
  if (term && tick >= term.renewedTick + DEADLINE_TICKS)
    yield { choice: `${name} gives up`, world: stop(world, index, program) };
}

/** It stops leading. It then releases the Lease if it last saw itself as the holder. */
export function stop(world: World, index: number, program: ClientGo): World {
  const { term, observed, ...rest } = program;
  const stopped = { ...rest, term: undefined, renewing: undefined, observed: undefined };
  if (!term || !observed) return down(world, index, { ...stopped, releasing: undefined });
  return put(world, index, { ...stopped, releasing: { renewedTick: term.renewedTick } });
}

/** It exits, and its LeaseCandidate is deleted. */
export function down(world: World, index: number, program: ClientGo): World {
  const ended = {
    ...program,
    life: 'down' as const,
    observed: undefined,
    renewing: undefined,
    term: undefined,
  };
  return removeCandidate(
    put(world, index, { ...ended, releasing: undefined, lostTick: undefined }),
    program.name,
  );
}

function put(world: World, index: number, program: ClientGo): World {
  return { ...world, programs: withItem(world.programs, index, program) };
}

function* looks(world: World, index: number, program: ClientGo, scenario: Scenario): Generator<Step> {
  const { lease } = world;
  const { name } = program;
  const tick = ownTick(world, program);
  // While there is no Lease, it keeps its last observation.
  if (!lease || !program.hasElector) return;
  const choice = `${name} reads the Lease`;
  if (lease.holderIdentity !== name) {
    if (program.observed) yield { choice, world: put(world, index, { ...program, observed: undefined }) };
    return;
  }
  const { observed } = program;
  const isSame = observed && isSameRecord(observed.record, lease);
  const sinceTick = isSame ? observed.sinceTick : tick;
  const seen = { ...program, observed: { record: lease, sinceTick } };
  const hasExpired = tick * TICK_MS > sinceTick * TICK_MS + (lease.leaseDurationSeconds ?? 0) * 1000;
  const mayRenew = !hasExpired && asClientGoSees(lease).preferredHolder === undefined;
  if (mayRenew && scenario.isAtomic)
    yield { ...update(world, index, seen, lease, tick, scenario), choice: `${name} renews the Lease` };
  else if (mayRenew)
    yield {
      choice,
      world: put(world, index, {
        ...seen,
        renewing: { resourceVersion: lease.resourceVersion, sinceTick: tick },
      }),
    };
  else if (!isSame) yield { choice, world: put(world, index, seen) };
}

function isSameRecord(a: Lease, b: Lease): boolean {
  return (
    a.renewTime === b.renewTime &&
    a.acquireTime === b.acquireTime &&
    a.leaseDurationSeconds === b.leaseDurationSeconds &&
    a.leaseTransitions === b.leaseTransitions &&
    asClientGoSees(a).preferredHolder === asClientGoSees(b).preferredHolder &&
    asClientGoSees(a).strategy === asClientGoSees(b).strategy
  );
}

function renewed(world: World, lease: Lease, { clockTicks }: ClientGo): World {
  const next = later(world);
  const renewal = edited(lease, {
    renewTime: nowIn(next, clockTicks).wall,
    leaseDurationSeconds: (BELIEF_TICKS * TICK_MS) / 1000,
    preferredHolder: undefined,
  });
  return putLease(next, renewal, 'clientGo', world.grantor);
}

function update(
  world: World,
  index: number,
  program: ClientGo,
  lease: Lease,
  sinceTick: number,
  scenario: Scenario,
): Step {
  const stored = renewed(world, lease, program);
  const { leaseTransitions: number } = lease;
  const leading: ClientGo = {
    ...program,
    renewing: undefined,
    observed: stored.lease && { record: stored.lease, sinceTick: ownTick(world, program) },
    term: { renewedTick: sinceTick, number },
    lostTick: undefined,
  };
  const isNew = !program.term;
  const next = put(stored, index, leading);
  return {
    choice: `${program.name} updates the Lease`,
    ...(isNew
      ? leads(next, leading, { uid: lease.uid, number, who: program.name }, scenario)
      : { world: next }),
  };
}

function loseUpdate(world: World, index: number, program: ClientGo, lease: Lease): Step {
  const { faults } = world;
  const spent = { ...world, faults: { ...faults, losses: faults.losses - 1 } };
  return {
    choice: `${program.name} updates the Lease, and the answer is lost`,
    world: put(renewed(spent, lease, program), index, { ...program, renewing: undefined }),
  };
}

function release(world: World, index: number, program: ClientGo): World {
  const { lease } = world;
  if (!lease) return down(world, index, program);
  const next = later(world);
  const { wall } = nowIn(next, program.clockTicks);
  const released = edited(lease, {
    holderIdentity: '',
    leaseDurationSeconds: 1,
    renewTime: wall,
    acquireTime: wall,
    strategy: undefined,
    preferredHolder: undefined,
  });
  return down(putLease(next, released, 'clientGo', undefined), index, program);
}
