import { describe, expect, test } from 'vitest';
import { decideElection } from '../../src/election/decide.ts';
import type { Reason } from '../../src/election/decision.ts';
import { TroubleWatch } from '../../src/telemetry/election-result.ts';
import { makeCandidateObject, makeLeaseObject } from '../controller/make-objects.ts';
import { makeInput, makeNow, OLDEST } from '../support/election-builders.ts';
import { makeReportedWorld } from './make-reported.ts';

const KEY = 'default/scheduler';

interface Party {
  readonly name: string;
  readonly binary: string;
  readonly emulation?: string;
  readonly renewedAt?: number;
}

async function makeElectedWorld(...parties: readonly Party[]) {
  const reported = makeReportedWorld();
  for (const { name, binary, emulation = binary, renewedAt = 0 } of parties) {
    const spec = { emulationVersion: emulation };
    reported.world.create('leasecandidates', makeCandidateObject(name, { renewedAt, version: binary, spec }));
  }
  await reported.world.start();
  return reported;
}

describe('a skew prevention', () => {
  test.each<{ name: string; parties: readonly Party[]; wantLeader: string; want: number }>([
    {
      name: 'is an election that an older binary won over a newer one',
      parties: [
        { name: 'old', binary: '1.35.0' },
        { name: 'new', binary: '1.36.0' },
      ],
      wantLeader: 'old',
      want: 1,
    },
    {
      name: 'is one of two binaries with the same emulationVersion',
      parties: [
        { name: 'old', binary: '1.35.0' },
        { name: 'new', binary: '1.36.0', emulation: '1.35.0' },
      ],
      wantLeader: 'old',
      want: 1,
    },
    {
      name: 'is none if the newest binary wins because of its emulationVersion',
      parties: [
        { name: 'old', binary: '1.35.0' },
        { name: 'new', binary: '1.36.0', emulation: '1.34.0' },
      ],
      wantLeader: 'new',
      want: 0,
    },
    {
      name: 'is none among equals',
      parties: [
        { name: 'one', binary: '1.36.0' },
        { name: 'two', binary: '1.36.0' },
      ],
      wantLeader: 'one',
      want: 0,
    },
    {
      name: 'is none when the newer one could not have been elected',
      parties: [
        { name: 'old', binary: '1.35.0' },
        { name: 'new', binary: '1.36.0', emulation: 'none' },
      ],
      wantLeader: 'old',
      want: 0,
    },
    {
      name: 'is none if the newer one did not take part',
      parties: [
        { name: 'old', binary: '1.35.0' },
        { name: 'new', binary: '1.36.0', renewedAt: -3_000_000 },
      ],
      wantLeader: 'old',
      want: 0,
    },
  ])('$name', async ({ parties, wantLeader, want }) => {
    const { world, measure } = await makeElectedWorld(...parties);
    expect(world.leaseSpec()['holderIdentity']).toBe(wantLeader);
    await expect(measure('cle_skew_preventions_total')).resolves.toBe(want);
  });
});

describe('an election', () => {
  test('that grants a Lease is granted, and one that prefers a candidate is preferred', async () => {
    const { world, measure } = await makeElectedWorld({ name: 'a', binary: '1.36.0' });
    await world.clock.advance(2000);
    world.renewLease(KEY);
    world.create('leasecandidates', makeCandidateObject('b', { renewedAt: 2000, version: '1.35.0' }));
    await world.clock.advance(100);
    world.renew('default/b');
    await world.clock.advance(0);
    await expect(measure('cle_elections_total{result="granted",reason="LeaseMissing"}')).resolves.toBe(1);
    await expect(measure('cle_elections_total{result="preferred",reason="BetterCandidate"}')).resolves.toBe(
      1,
    );
  });

  test('that grants a Lease to another before its renewal is revised', async () => {
    const { world, measure } = await makeElectedWorld({ name: 'a', binary: '1.36.0' });
    await world.clock.advance(1000);
    world.create('leasecandidates', makeCandidateObject('b', { renewedAt: 1000, version: '1.35.0' }));
    await world.clock.advance(0);
    await expect(measure('cle_elections_total{result="granted",reason="LeaseMissing"}')).resolves.toBe(1);
    await expect(measure('cle_elections_total{result="revised",reason="GrantRevised"}')).resolves.toBe(1);
    await expect(measure('cle_leader_changes_total')).resolves.toBe(2);
  });

  test('without a result is undecided, once for as long as that lasts', async () => {
    const { world, measure } = await makeElectedWorld({ name: 'a', binary: '1.36.0', emulation: 'none' });
    await world.clock.advance(4000);
    const series = 'cle_elections_total{result="undecided",reason="NoElectableCandidates"}';
    await expect(measure(series)).resolves.toBe(1);
  });

  test('with a third-party strategy is delegated', async () => {
    const { world, measure } = makeReportedWorld();
    const spec = { strategy: 'x.io/theirs' };
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: 0, spec }));
    await world.start();
    await world.clock.advance(4000);
    const series = 'cle_elections_total{result="delegated",reason="ThirdPartyStrategy"}';
    await expect(measure(series)).resolves.toBe(1);
  });

  test('with a failed write has failed each time, and is granted when it succeeds', async () => {
    const { world, measure } = makeReportedWorld();
    let failures = 2;
    world.fate = ({ method }) => (method === 'POST' && failures-- > 0 ? { outcome: 403 } : {});
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: 0 }));
    await world.start();
    await world.clock.advance(1000);
    await expect(measure('cle_elections_total{result="failed",reason="LeaseMissing"}')).resolves.toBe(2);
    await expect(measure('cle_elections_total{result="granted",reason="LeaseMissing"}')).resolves.toBe(1);
  });
});

test('a strategy conflict is not over while its parties disagree, although those that are alive agree', () => {
  const watch = new TroubleWatch();
  const decision = decideElection(makeInput().build(), makeNow(0));
  const decide = (reason: Reason) =>
    watch.decided('default/x', { ...decision, reason, outcome: { kind: 'noneElectable', strategy: OLDEST } });
  expect(decide('StrategyConflict')).toMatchObject({ began: 'warn', resolvedTo: undefined });
  expect(decide('StrategyConflict').resolvedTo).toBeUndefined();
  expect(decide('LeaderOptimal').resolvedTo).toBe(OLDEST);
});

describe('the times of an election', () => {
  const NEED = 'cle_need_to_decision_seconds';
  const EXPIRY = 'cle_expiry_to_holder_seconds';

  test('count from when it was needed: here, from the first ping', async () => {
    const { world, measure } = await makeElectedWorld({ name: 'a', binary: '1.36.0', renewedAt: -60_000 });
    await world.clock.advance(1500);
    world.renew('default/a');
    await world.clock.advance(0);
    await expect(measure(`${NEED}_count`)).resolves.toBe(1);
    await expect(measure(`${NEED}_sum`)).resolves.toBe(1.5);
    await expect(measure(`${EXPIRY}_count`)).resolves.toBe(0);
  });

  test('count from the expiry, or from the first electable candidate after it', async () => {
    const { world, measure } = await makeElectedWorld({ name: 'a', binary: '1.36.0' });
    // The Lease expires after 10 s. No candidate answers the ping before that, or for a while after it.
    await world.clock.advance(30_000);
    await expect(measure(`${EXPIRY}_count`)).resolves.toBe(0);
    world.renew('default/a');
    await world.clock.advance(0);
    expect(world.leaseSpec()['holderIdentity']).toBe('a');
    await expect(measure(`${EXPIRY}_count`)).resolves.toBe(1);
    await expect(measure(`${EXPIRY}_sum`)).resolves.toBe(0);
  });

  test('exclude a night without candidates', async () => {
    const { world, measure } = await makeElectedWorld({ name: 'a', binary: '1.36.0' });
    world.remove('leasecandidates', 'default/a');
    await world.clock.advance(8 * 3_600_000);
    world.create('leasecandidates', makeCandidateObject('b', { renewedAt: world.clock.now() }));
    await world.clock.advance(0);
    expect(world.leaseSpec()['holderIdentity']).toBe('b');
    await expect(measure(`${NEED}_count`)).resolves.toBe(2);
    await expect(measure(`${NEED}_sum`)).resolves.toBe(0);
    await expect(measure(`${EXPIRY}_count`)).resolves.toBe(1);
    await expect(measure(`${EXPIRY}_sum`)).resolves.toBe(0);
  });

  test('include a repeated write', async () => {
    const { world, measure } = await makeElectedWorld({ name: 'a', binary: '1.36.0' });
    await world.clock.advance(7000);
    world.renew('default/a');
    let failures = 1;
    world.fate = ({ method, path }) =>
      method === 'PATCH' && path.includes('/leases/') && failures-- > 0 ? { outcome: 500 } : {};
    await world.clock.advance(4000);
    await expect(measure(`${EXPIRY}_count`)).resolves.toBe(1);
    // The first retry comes within 20 ms, half of it jitter.
    const tookS = await measure(`${EXPIRY}_sum`);
    expect(tookS).toBeGreaterThanOrEqual(0.01);
    expect(tookS).toBeLessThanOrEqual(0.02);
    await expect(measure('cle_elections_total{result="failed",reason="LeaseExpired"}')).resolves.toBe(1);
  });

  test('count from the expiry if a better candidate was pinged before it', async () => {
    const { world, measure } = await makeElectedWorld({ name: 'a', binary: '1.36.0' });
    // The Lease expires after 10 s.
    await world.clock.advance(8000);
    world.create('leasecandidates', makeCandidateObject('b', { renewedAt: -60_000, version: '1.35.0' }));
    await world.clock.advance(3000);
    world.renew('default/b');
    await world.clock.advance(0);
    expect(world.leaseSpec()['holderIdentity']).toBe('b');
    await expect(measure(`${EXPIRY}_count`)).resolves.toBe(1);
    await expect(measure(`${EXPIRY}_sum`)).resolves.toBe(1);
  });

  test('exclude the work of other replicas since this one lost the lock during an election', async () => {
    const { world, report, measure } = await makeElectedWorld({
      name: 'a',
      binary: '1.36.0',
      renewedAt: -60_000,
    });
    await world.clock.advance(1000);
    world.mayWrite = false;
    report({ type: 'lockChanged', state: { kind: 'standby', since: world.clock.now() } });
    world.renew('default/a');
    world.create('leases', makeLeaseObject('a', world.clock.now()));
    for (let renewal = 0; renewal < 60; renewal++) {
      await world.clock.advance(10_000);
      world.renewLease(KEY);
    }
    world.remove('leasecandidates', 'default/a');
    // It expires after 15 s, just before this replica takes over again.
    await world.clock.advance(15_500);
    world.mayWrite = true;
    world.create('leasecandidates', makeCandidateObject('b', { renewedAt: world.clock.now() }));
    await world.clock.advance(0);
    expect(world.leaseSpec()['holderIdentity']).toBe('b');
    await expect(measure(`${NEED}_count`)).resolves.toBe(1);
    await expect(measure(`${NEED}_sum`)).resolves.toBe(0);
    await expect(measure(`${EXPIRY}_sum`)).resolves.toBe(0.5);
  });
});
