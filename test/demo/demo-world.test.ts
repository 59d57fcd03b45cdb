import { beforeEach, describe, expect, test } from 'vitest';
import type { Condition, DemoState, LeaseState } from '../../src/demo/demo-state.ts';
import { candidateRow, compareForElection, type SampleProgram } from '../../src/demo/demo-world.ts';
import type { CandidateState } from '../../src/election/view.ts';
import { makeCandidateObject } from '../controller/make-objects.ts';
import { makeCandidate } from '../support/election-builders.ts';
import { SimDemo } from './make-demo.ts';
import { makeLease } from './make-state.ts';

let demo: SimDemo;

beforeEach(async () => {
  demo = new SimDemo();
  const started = demo.world.start();
  await demo.clock.advance(0);
  await started;
  await lets('sample-3 leads', () => leaders().includes('sample-3'));
  demo.told.length = 0;
});

/** Lets time pass until the condition is true. Throws after a minute. */
async function lets(_what: string, isSo: () => boolean): Promise<void> {
  await demo.clock.runUntil(isSo, 60_000);
}

function state(): DemoState {
  return demo.world.state();
}

function leaders(): readonly string[] {
  return state()
    .candidates.filter(({ condition }) => condition === 'leading')
    .map(({ name }) => name);
}

function conditions(): readonly string[] {
  return state().candidates.map(({ name, condition }) => `${name} ${condition}`);
}

describe("the demo's world", () => {
  test('begins with an election between three candidates, and the best leads', () => {
    expect(state()).toMatchObject({
      leaseKey: 'default/demo',
      reason: 'LeaderOptimal',
      lease: {
        holder: 'sample-3',
        preferredHolder: '',
        strategy: 'OldestEmulationVersion',
        transitions: 0,
        durationMs: 4000,
      },
    });
    expect(conditions()).toEqual(['sample-3 leading', 'sample-2 live', 'sample-1 live']);
    // The first election needed no pings, and caused no preemption: all candidates existed.
    const reasons = state().events.map(({ text }) => /^[A-Z]\w+(?=:)/.exec(text)?.[0]);
    expect(reasons.filter(Boolean)).toEqual(['FirstElectionSettling', 'LeaseMissing', 'LeaderOptimal']);
  });

  test('shows the remaining time of the Lease', async () => {
    await demo.world.commands.killLeader();
    const { lease } = state();
    await demo.clock.advance(1000);
    expect(state().lease?.remainingMs).toBe((lease?.remainingMs ?? 0) - 1000);
  });

  test('lets the next best lead when the leader is killed', async () => {
    await demo.world.commands.killLeader();
    expect(conditions()).toContain('sample-3 crashed');
    await lets('sample-2 leads', () => leaders().includes('sample-2'));
    expect(leaders()).toEqual(['sample-2']);
    expect(demo.told).toContain('sample-3 is killed');
    expect(demo.told).toContain(
      'coordinator LeaseExpired: sample-2 leads after sample-3 under OldestEmulationVersion: LeaseExpired; not sample-1 (its emulationVersion is higher), sample-3 (unresponsive)',
    );
  });

  test('restarts a killed candidate, which then takes over', async () => {
    await demo.world.commands.killLeader();
    await lets('sample-2 leads', () => leaders().includes('sample-2'));
    const restarted = demo.world.commands.restartCrashed();
    await demo.clock.advance(0);
    await restarted;
    await lets('sample-3 leads', () => leaders().includes('sample-3'));
    expect(leaders()).toEqual(['sample-3']);
  });

  test('pauses the leader, which finds out afterwards that it does not lead any more', async () => {
    await demo.world.commands.pauseOrResume();
    expect(conditions()).toContain('sample-3 paused');
    await lets('sample-2 leads', () => leaders().includes('sample-2'));
    await demo.world.commands.pauseOrResume();
    await demo.clock.advance(1100);
    expect(demo.told).toContain('sample-3 no longer leads');
    // Alive again, it is the best again.
    await lets('sample-2 is to yield', () => conditions().includes('sample-2 yielding'));
    await lets('sample-3 leads', () => leaders().includes('sample-3'));
    expect(leaders()).toEqual(['sample-3']);
  });

  test('lets an older version take over', async () => {
    const added = demo.world.commands.addOlder();
    await demo.clock.advance(0);
    await added;
    await lets('sample-3 is to yield', () => conditions().includes('sample-3 yielding'));
    expect(state().candidates[0]).toMatchObject({
      name: 'sample-4',
      binaryVersion: '1.34.0',
    });
    await lets('sample-4 leads', () => leaders().includes('sample-4'));
    expect(demo.told).toContain(
      'coordinator BetterCandidate: sample-3 is asked to yield to sample-4 under OldestEmulationVersion; ' +
        'not sample-3 (its emulationVersion is higher), sample-2 (its emulationVersion is higher), sample-1 (its emulationVersion is higher)',
    );
  });

  test('begins a conflict about the strategy, and ends it', async () => {
    const begun = demo.world.commands.conflictOrResolve();
    await demo.clock.advance(0);
    await begun;
    await lets('there is a conflict', () => state().reason === 'StrategyConflict');
    expect(demo.told).toContain(
      'coordinator StrategyConflict: waits for agreement on one of OldestEmulationVersion and example.com/NewestFirst',
    );
    expect(leaders()).toEqual(['sample-3']);
    const ended = demo.world.commands.conflictOrResolve();
    await demo.clock.advance(0);
    await ended;
    await lets('all is well', () => state().reason === 'LeaderOptimal');
    expect(conditions()).toHaveLength(3);
  });

  test('reports why a command is impossible', async () => {
    const { commands } = demo.world;
    await commands.restartCrashed();
    await commands.killLeader();
    await commands.killLeader();
    await commands.pauseOrResume();
    expect(demo.told).toEqual([
      'you no candidate has crashed',
      'sample-3 is killed',
      'you no candidate leads, so there is none to kill',
      'you no candidate leads, so there is none to pause',
    ]);
  });

  test('reports problems of a candidate', async () => {
    const candidates = '/apis/coordination.k8s.io/v1beta1/namespaces/default/leasecandidates';
    demo.fate = ({ method, path }) =>
      method === 'GET' && path === `${candidates}/sample-4` ? { outcome: 500 } : {};
    const added = demo.world.commands.addOlder();
    await demo.clock.advance(0);
    expect(demo.told.at(-1)).toMatch(/^sample-4 fails: GET .* was answered 500/);
    demo.fate = () => ({});
    await demo.clock.advance(1000);
    await added;
    expect(conditions()[0]).toMatch(/^sample-4/);
  });

  test('shows candidates of other programs, and mentions other Leases by name', async () => {
    const stranger = makeCandidateObject('stranger', { leaseName: 'demo', version: '1.37.0', renewedAt: 0 });
    demo.api.store.create('leasecandidates', stranger);
    demo.api.store.create('leasecandidates', makeCandidateObject('else', { renewedAt: demo.clock.now() }));
    await demo.clock.advance(100);
    expect(conditions().at(-1)).toBe('stranger live');
    expect(demo.told).toContain(
      'coordinator LeaseMissing: default/scheduler: else leads under OldestEmulationVersion: LeaseMissing',
    );
  });

  test('ends everything that it has started', async () => {
    await demo.world.stop();
    expect(demo.connections.map(({ openWatches }) => openWatches)).toEqual(demo.connections.map(() => 0));
    const before = demo.api.requests.length;
    await demo.clock.advance(60_000);
    expect(demo.api.requests).toHaveLength(before);
  });
});

const leading: SampleProgram = { life: 'running', isLeading: true };

const following: SampleProgram = { life: 'running', isLeading: false };

const crashed: SampleProgram = { life: 'crashed', isLeading: false };

const paused: SampleProgram = { life: 'paused', isLeading: true };

const own = makeLease({ holder: 'sample-1' });

const other = makeLease({ holder: 'sample-2' });

describe('a row of the table', () => {
  test.each<{
    name: string;
    program: SampleProgram | undefined;
    lease: LeaseState | undefined;
    state?: CandidateState;
    want: Condition;
  }>([
    { name: 'leads', program: leading, lease: own, want: 'leading' },
    // Its program stops shortly after it has lost the Lease.
    { name: 'leads on without the Lease', program: leading, lease: other, want: 'leading' },
    {
      name: 'leads while another is preferred',
      program: leading,
      lease: { ...own, preferredHolder: 'sample-2' },
      want: 'yielding',
    },
    { name: 'holds the Lease and does not know yet', program: following, lease: own, want: 'elected' },
    {
      name: 'holds an expired Lease',
      program: following,
      lease: { ...own, remainingMs: 0 },
      want: 'idle',
    },
    {
      name: 'is preferred to the holder',
      program: following,
      lease: { ...other, preferredHolder: 'sample-1' },
      want: 'preferred',
    },
    {
      name: 'has not answered',
      program: following,
      lease: other,
      state: 'Awaiting',
      want: 'awaiting',
    },
    { name: 'does nothing', program: following, lease: undefined, want: 'idle' },
    { name: 'has crashed as the holder', program: crashed, lease: own, want: 'crashed' },
    { name: 'is paused as the leader', program: paused, lease: own, want: 'paused' },
    { name: 'is none of the demo and holds the Lease', program: undefined, lease: own, want: 'leading' },
    {
      name: 'is not of the demo and held an expired Lease',
      program: undefined,
      lease: { ...own, remainingMs: 0 },
      want: 'idle',
    },
  ])('has $want for a candidate that $name', ({ program, lease, state = 'Idle', want }) => {
    const candidate = makeCandidate('sample-1').build();
    expect(candidateRow({ candidate, state }, program, lease).condition).toBe(want);
  });

  test('shows known fields of a candidate, and empty cells for unknown ones', () => {
    const candidate = makeCandidate('sample-1').versions(undefined).wantsInOrder('a', 'b').build();
    expect(candidateRow({ candidate, state: 'Live' }, undefined, undefined)).toEqual({
      name: 'sample-1',
      binaryVersion: '',
      emulationVersion: '',
      strategy: 'a > b',
      condition: 'live',
    });
  });
});

test('the table begins with the best candidate and ends with those that cannot lead', () => {
  const names = [
    makeCandidate('z-unreadable').emulating('new'),
    makeCandidate('newest'),
    makeCandidate('a-unreadable').versions(undefined),
    makeCandidate('older-binary').versions('1.35.0'),
    makeCandidate('newer-binary').emulating('1.35.0'),
  ]
    .map((candidate) => candidate.build())
    .toSorted(compareForElection)
    .map(({ name }) => name);
  expect(names).toEqual(['older-binary', 'newer-binary', 'newest', 'a-unreadable', 'z-unreadable']);
});
