import { describe, expect, test } from 'vitest';
import { decideElection } from '../../src/election/decide.ts';
import { type Action, REASONS } from '../../src/election/decision.ts';
import { changeEvents, MAX_NAMED, nameCandidates, nameSome } from '../../src/telemetry/lease-event.ts';
import { makeCandidateObject } from '../controller/make-objects.ts';
import {
  makeCandidate,
  makeInput,
  makeLease,
  makeNow,
  OLDEST,
  wallAt,
} from '../support/election-builders.ts';
import { makeLedWorld, makeReportedWorld } from './make-reported.ts';

const KEY = 'default/scheduler';

async function makePreferringWorld() {
  const reported = await makeLedWorld(KEY);
  const { world } = reported;
  world.create('leasecandidates', makeCandidateObject('b', { renewedAt: 2000, version: '1.35.0' }));
  await world.clock.advance(100);
  world.renew('default/b');
  await world.clock.advance(0);
  return reported;
}

describe('an Event on a Lease', () => {
  test('names the ended holder whose Lease was emptied (rule 17)', () => {
    const input = makeInput().sees(makeLease('web-0_5c7a'), 0).build();
    const release: Action = {
      ...{ kind: 'UpdateLease', uid: 'u', resourceVersion: '1' },
      change: { kind: 'release', renewTime: wallAt(0) },
    };
    const decision = {
      ...decideElection(input, makeNow(0)),
      reason: 'HolderEnded',
      actions: [release],
    } as const;
    expect(changeEvents(decision, input, undefined)).toMatchObject([
      {
        type: 'Normal',
        reason: 'HolderEnded',
        message: expect.stringContaining('Lease of web-0_5c7a. The status'),
      },
    ]);
  });

  test('names the created Lease, its leader, the strategy and the reason', async () => {
    const { world, events } = makeReportedWorld();
    await world.start();
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: 0 }));
    await world.clock.advance(0);
    const { uid, resourceVersion } = world.api.lease(KEY)?.metadata ?? {};
    expect(uid).toMatch(/./);
    expect(resourceVersion).toMatch(/^\d+$/);
    expect(events).toEqual([
      {
        lease: { namespace: 'default', name: 'scheduler', uid, resourceVersion },
        type: 'Normal',
        reason: 'LeaderElected',
        message: `a leads under ${OLDEST}: LeaseMissing`,
      },
    ]);
  });

  test('names the former leader, when the leader changes', async () => {
    const { world, told } = await makeLedWorld(KEY);
    world.create('leasecandidates', makeCandidateObject('b', { renewedAt: 2000, version: '1.37.0' }));
    await world.clock.advance(10_500);
    world.renew('default/b');
    await world.clock.advance(5000);
    expect(told().slice(1)).toEqual([`LeaderElected: b leads after a under ${OLDEST}: LeaseExpired`]);
  });

  test('reports that the former holder had not renewed the Lease, when its grant is revised', async () => {
    const { world, told } = makeReportedWorld();
    await world.start();
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: 0 }));
    await world.clock.advance(500);
    world.create('leasecandidates', makeCandidateObject('b', { renewedAt: 500, version: '1.35.0' }));
    await world.clock.advance(0);
    expect(told()).toEqual([
      `LeaderElected: a leads under ${OLDEST}: LeaseMissing`,
      `LeaderElected: b leads instead of a, which had not taken the Lease up, under ${OLDEST}: GrantRevised`,
    ]);
  });

  test('reports that the same leader gets its Lease again', async () => {
    const { world, told } = await makeLedWorld(KEY);
    await world.clock.advance(10_500);
    world.renew('default/a');
    await world.clock.advance(5000);
    expect(told().slice(1)).toEqual([`LeaderElected: a leads again under ${OLDEST}: LeaseExpired`]);
  });

  test('names the last leader if another client emptied its Lease, not the one that released the Lease before', async () => {
    const { world, told } = await makeLedWorld(KEY);
    world.create('leasecandidates', makeCandidateObject('b', { renewedAt: 2000 }));
    await world.clock.advance(1000);
    world.release(KEY);
    await world.clock.advance(100);
    world.renew('default/b');
    await world.clock.advance(1000);
    world.renewLease(KEY);
    await world.clock.advance(5000);
    world.renew('default/a');
    world.change('leases', KEY, { holderIdentity: '' });
    for (let second = 0; second < 30; second++) {
      await world.clock.advance(1000);
      world.renew('default/a');
    }
    expect(told().slice(1, 4)).toEqual([
      `LeaderElected: b leads after a under ${OLDEST}: LeaseReleased`,
      expect.stringMatching(/^AwaitingFormerHolder/),
      `LeaderElected: a leads after b under ${OLDEST}: LeaseReleased`,
    ]);
  });

  test('reports a preemption when it begins and when it is done', async () => {
    const { world, told } = await makePreferringWorld();
    world.release(KEY);
    await world.clock.advance(0);
    expect(told().slice(1)).toEqual([
      `PreferredHolderSet: a is asked to yield to b under ${OLDEST}`,
      `LeaderPreempted: b leads after a under ${OLDEST}: LeaseReleased`,
    ]);
  });

  test('reports that a preemption is caused by a priority (rule 16)', async () => {
    const { world, told } = await makeLedWorld(KEY);
    const spec = { priority: 1 };
    world.create('leasecandidates', makeCandidateObject('b', { renewedAt: 2000, version: '1.37.0', spec }));
    await world.clock.advance(100);
    world.renew('default/b');
    await world.clock.advance(0);
    world.release(KEY);
    await world.clock.advance(0);
    expect(told().slice(1)).toEqual([
      `PreferredHolderSet: a is asked to yield to b under ${OLDEST}, for its higher priority`,
      `LeaderPreempted: b leads after a under ${OLDEST}, for its higher priority: LeaseReleased`,
    ]);
  });

  test('warns of a preferred holder that failed, and why', async () => {
    const { world, events, measure } = await makePreferringWorld();
    world.renewLease(KEY);
    await world.clock.advance(9000);
    expect(events.slice(2)).toMatchObject([
      {
        type: 'Warning',
        reason: 'PreferredHolderSilent',
        message: 'b is not preferred any more. The preferred candidate no longer answers.',
      },
    ]);
    await expect(measure('cle_preemptions_failed_total{reason="PreferredHolderSilent"}')).resolves.toBe(1);
  });

  test('warns of a strategy conflict once, and reports when it is over', async () => {
    const { world, told, events } = makeReportedWorld();
    const candidate = (name: string, strategy: string) =>
      world.create('leasecandidates', makeCandidateObject(name, { renewedAt: 0, spec: { strategy } }));
    candidate('a', OLDEST);
    candidate('b', 'x.io/other');
    await world.start();
    await world.clock.advance(4000);
    expect(told()).toEqual([`StrategyConflict: The candidates disagree: ${OLDEST}, x.io/other`]);
    expect(events).toMatchObject([{ type: 'Warning', lease: { name: 'scheduler', uid: undefined } }]);
    world.remove('leasecandidates', 'default/b');
    await world.clock.advance(100);
    expect(told().slice(1)).toEqual([
      `StrategyResolved: The candidates agree on ${OLDEST} again`,
      `LeaderElected: a leads under ${OLDEST}: LeaseMissing`,
    ]);
  });

  test('names another controller’s strategy', async () => {
    const { world, told } = makeReportedWorld();
    await world.start();
    const spec = { strategy: 'x.io/theirs' };
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: 0, spec }));
    await world.clock.advance(1000);
    expect(told()).toEqual([
      'ThirdPartyStrategy: The strategy x.io/theirs is carried out by another controller',
    ]);
  });

  test.each([
    {
      name: 'the last candidate goes',
      happens: 'remove',
      want: [`Normal NoCandidates: ${REASONS.NoCandidates}`],
    },
    {
      name: 'no candidate answers',
      happens: 'expire',
      want: [`Warning NoLiveCandidates: ${REASONS.NoLiveCandidates}`],
    },
    {
      name: 'no candidate can be elected',
      happens: 'spoil',
      want: [`Warning NoElectableCandidates: ${REASONS.NoElectableCandidates}`],
    },
  ])('reports when $name', async ({ happens, want }) => {
    const { world, events } = await makeLedWorld(KEY);
    if (happens === 'remove') world.remove('leasecandidates', 'default/a');
    if (happens === 'expire') await world.clock.advance(30_000);
    if (happens === 'spoil') world.change('leasecandidates', 'default/a', { emulationVersion: 'none' });
    await world.clock.advance(0);
    expect(events.slice(1).map(({ type, reason, message }) => `${type} ${reason}: ${message}`)).toEqual(want);
    const { uid, resourceVersion } = world.api.lease(KEY)?.metadata ?? {};
    expect(events.at(-1)?.lease).toEqual({ namespace: 'default', name: 'scheduler', uid, resourceVersion });
  });

  test('reports a deleted candidate', async () => {
    const { world, told } = await makeLedWorld(KEY);
    const renewAll = () => {
      world.renewLease(KEY);
      world.renew('default/a');
      world.clock.setTimer(renewAll, 5000);
    };
    world.clock.setTimer(renewAll, 5000);
    world.create(
      'leasecandidates',
      makeCandidateObject('dead', { renewedAt: -7_200_000, version: '1.37.0' }),
    );
    // It is pinged three times within ten minutes before that.
    await world.clock.advance(10 * 60_000);
    expect(told()).toHaveLength(1);
    await world.clock.advance(20_000);
    expect(world.api.candidate('default/dead')).toBeUndefined();
    expect(told().slice(1)).toEqual([
      'CandidateCollected: Deleted candidate dead, which has not renewed for long and answers no ping',
    ]);
  });

  test('is not created for a Lease with an invalid name, which the log mentions', async () => {
    const { world, told, linesOf } = makeReportedWorld();
    await world.start();
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: 0, leaseName: 'My_Lease' }));
    await world.clock.advance(1000);
    expect(told()).toEqual([]);
    expect(linesOf('Left a Lease as it is')).toMatchObject([
      { level: 'warn', lease: 'default/My_Lease', reason: 'InvalidLeaseName' },
    ]);
    expect(world.ourWrites).toEqual([]);
  });

  test('is not created for routine actions, or in a dry run', async () => {
    const { world, told } = await makeLedWorld(KEY);
    for (let second = 0; second < 30; second += 2) {
      world.renewLease(KEY);
      await world.clock.advance(2000);
    }
    expect(told()).toHaveLength(1);
    const dry = makeReportedWorld({ isDryRun: true });
    await dry.world.start();
    dry.world.create('leasecandidates', makeCandidateObject('a', { renewedAt: 0 }));
    await dry.world.clock.advance(60_000);
    expect(dry.linesOf('Would act')).not.toEqual([]);
    expect(dry.told()).toEqual([]);
  });
});

const live = (name: string, version: string) =>
  makeCandidate(name).versions(version).seenAt(0).renewedAt(900);

const silent = (name: string) => makeCandidate(name).versions('1.30.0').seenAt(-10_000).pingedAt(-9000);

/** The names in the Event of a decision about a free Lease. */
function named(candidates: readonly ReturnType<typeof live>[]) {
  const input = makeInput()
    .candidates(...candidates)
    .build();
  const decision = decideElection(input, makeNow(1000));
  return nameCandidates(decision);
}

describe('the candidates in the Event of a decision (rule 9)', () => {
  test('are the chosen one, the closest ones, and last those that took no part', () => {
    const candidates = [
      ...Array.from({ length: 6 }, (_, at) => silent(`s${at}`)),
      ...Array.from({ length: 6 }, (_, at) => live(`l${at}`, `1.36.${9 - at}`)),
      live('unfit', 'none'),
    ];
    const { named: some, more } = named(candidates);
    expect(some.map(({ name }) => name)).toEqual([
      ...['l5', 'l4', 'l3', 'l2', 'l1', 'l0'],
      'unfit',
      ...['s0', 's1', 's2'],
    ]);
    expect(some.map(({ lostBy }) => lostBy)).toEqual([
      undefined,
      ...Array.from({ length: 5 }, () => 'HigherEmulationVersion'),
      'NotElectable',
      ...Array.from({ length: 3 }, () => 'Unresponsive'),
    ]);
    expect(more).toBe(3);
  });

  test('are ten of twenty thousand', () => {
    const candidates = Array.from({ length: 20_000 }, (_, at) => live(`c${at}`, `1.36.${at % 97}`));
    const { named: some, more } = named(candidates);
    expect(some).toHaveLength(MAX_NAMED);
    expect(more).toBe(19_990);
    expect(some[0]?.lostBy).toBeUndefined();
  });
});

describe('names in a line', () => {
  test.each([
    { count: 1, want: 'n0' },
    { count: 10, want: 'n0, n1, n2, n3, n4, n5, n6, n7, n8, n9' },
    { count: 12, want: 'n0, n1, n2, n3, n4, n5, n6, n7, n8, n9 and 2 more' },
  ])('are ten at most: of $count', ({ count, want }) => {
    expect(nameSome(Array.from({ length: count }, (_, at) => `n${at}`))).toBe(want);
  });
});
