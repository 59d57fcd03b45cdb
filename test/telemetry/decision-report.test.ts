import { describe, expect, test } from 'vitest';
import { isPing } from '../controller/make-controller.ts';
import { makeCandidateObject } from '../controller/make-objects.ts';
import { defaultSettings } from '../support/election-builders.ts';
import { makeLedWorld, makeReportedWorld } from './make-reported.ts';

const KEY = 'default/scheduler';
const CHANGED = 'Changed a Lease';
const LEFT = 'Left a Lease as it is';

describe('a decision that changed something', () => {
  test('is one line: the reason, the Lease, its holder, the candidates, and why the others lost', async () => {
    const { world, linesOf } = makeReportedWorld();
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: 0, version: '1.36.0' }));
    world.create('leasecandidates', makeCandidateObject('b', { renewedAt: 0, version: '1.35.0' }));
    world.create('leasecandidates', makeCandidateObject('c', { renewedAt: -3_000_000, version: '1.34.0' }));
    world.create(
      'leasecandidates',
      makeCandidateObject('d', { renewedAt: 0, version: '1.35.0', spec: { binaryVersion: '1.36.0' } }),
    );
    world.create('leasecandidates', makeCandidateObject('e', { renewedAt: 0, version: 'none' }));
    await world.start();
    const [line, ...others] = linesOf(CHANGED);
    expect(others).toEqual([]);
    expect(line).toMatchObject({
      level: 'info',
      lease: KEY,
      reason: 'LeaseMissing',
      holder: 'b',
      strategy: 'OldestEmulationVersion',
      candidates: [
        { name: 'b', emulationVersion: '1.35.0', state: 'Live' },
        { name: 'd', binaryVersion: '1.36.0', state: 'Live', lostBy: 'HigherBinaryVersion' },
        { name: 'a', emulationVersion: '1.36.0', state: 'Live', lostBy: 'HigherEmulationVersion' },
        { name: 'e', state: 'Live', lostBy: 'NotElectable' },
        { name: 'c', emulationVersion: '1.34.0', state: 'Expired', lostBy: 'Expired' },
      ],
    });
    expect(line?.['actions']).toEqual(['CreateLease']);
    expect(line).not.toHaveProperty(['candidates', 0, 'lostBy']);
  });

  test('names the former holder', async () => {
    const { world, linesOf, measure } = await makeLedWorld(KEY);
    world.create('leasecandidates', makeCandidateObject('b', { renewedAt: 2000, version: '1.37.0' }));
    await world.clock.advance(10_500);
    world.renew('default/b');
    await world.clock.advance(5000);
    expect(linesOf(CHANGED).at(-1)).toMatchObject({
      ...{ reason: 'LeaseExpired', holder: 'b', formerHolder: 'a' },
      ...{ needToDecisionMs: 0, expiryToHolderMs: 0 },
    });
    await expect(measure('cle_leader_changes_total')).resolves.toBe(2);
    await expect(measure('cle_expiry_to_holder_seconds_count')).resolves.toBe(1);
    await expect(measure('cle_expiry_to_holder_seconds_sum')).resolves.toBe(0);
  });

  test.for([
    { isCrashEvidenceUsed: true, want: expect.stringMatching(/^NoOwnerReference: /) },
    { isCrashEvidenceUsed: false, want: undefined },
  ])(
    'explains why a Lease had to expire, if Pods are watched: $isCrashEvidenceUsed',
    async ({ isCrashEvidenceUsed, want }) => {
      const { world, linesOf } = await makeLedWorld(KEY, {
        settings: { ...defaultSettings, isCrashEvidenceUsed },
      });
      world.create('leasecandidates', makeCandidateObject('b', { renewedAt: 2000, version: '1.37.0' }));
      await world.clock.advance(10_500);
      world.renew('default/b');
      await world.clock.advance(5000);
      expect(linesOf(CHANGED).at(-1)).toMatchObject({ reason: 'LeaseExpired' });
      expect(linesOf(CHANGED).at(-1)?.['crashEvidence']).toEqual(want);
    },
  );

  test('names the preferred candidate', async () => {
    const { world, linesOf, measure } = await makeLedWorld(KEY);
    world.create('leasecandidates', makeCandidateObject('b', { renewedAt: 2000, version: '1.35.0' }));
    await world.clock.advance(100);
    world.renew('default/b');
    await world.clock.advance(0);
    expect(linesOf(CHANGED).at(-1)).toMatchObject({
      reason: 'BetterCandidate',
      holder: 'a',
      preferredHolder: 'b',
      actions: ['UpdateLease prefer'],
      candidates: [{ name: 'b' }, { name: 'a', lostBy: 'HigherEmulationVersion' }],
    });
    await expect(measure('cle_preemptions_total')).resolves.toBe(1);
  });

  test('is logged although a simultaneous ping failed', async () => {
    const { world, linesOf, measure } = makeReportedWorld();
    world.fate = (request) => (isPing(request) ? { outcome: 500 } : {});
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: 0 }));
    world.create('leasecandidates', makeCandidateObject('b', { renewedAt: -16 * 60_000, version: '1.37.0' }));
    await world.start();
    expect(linesOf(CHANGED)).toHaveLength(1);
    expect(linesOf('Write failed')).toMatchObject([{ level: 'error', action: 'PingCandidate', lease: KEY }]);
    await expect(measure('cle_leader_changes_total')).resolves.toBe(1);
  });
});

describe('a decision without changes', () => {
  test('is not logged: pings, renewals, waiting', async () => {
    const { world, lines } = makeReportedWorld();
    await world.start();
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: -60_000 }));
    await world.clock.advance(1000);
    expect(world.ourWriteLines).toEqual(['PATCH leasecandidates default/a 200']);
    expect(lines.map(({ msg }) => msg)).toEqual(['Watching LeaseCandidates']);
    world.renew('default/a');
    await world.clock.advance(0);
    expect(lines.slice(1).map(({ msg }) => msg)).toEqual([CHANGED]);
    for (let second = 0; second < 600; second += 2) {
      world.renewLease(KEY);
      if (second % 100 === 0) world.renew('default/a');
      await world.clock.advance(2000);
    }
    expect(lines).toHaveLength(2);
  });

  test('is not a leader change when the same holder gets its Lease again', async () => {
    const { world, linesOf, measure } = await makeLedWorld(KEY);
    await world.clock.advance(10_500);
    world.renew('default/a');
    await world.clock.advance(5000);
    expect(linesOf(CHANGED).at(-1)).toMatchObject({ reason: 'LeaseExpired', holder: 'a' });
    await expect(measure('cle_leader_changes_total')).resolves.toBe(1);
  });
});

describe('a write that is refused', () => {
  test('because of a conflict is counted, not logged: that is how races end', async () => {
    const { world, lines, measure } = makeReportedWorld();
    await world.start();
    let isFirst = true;
    world.fate = (request) => {
      if (isPing(request) && isFirst) {
        isFirst = false;
        world.change('leasecandidates', 'default/a', { note: 'changed' });
      }
      return {};
    };
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: -60_000 }));
    await world.clock.advance(0);
    expect(lines.filter(({ level }) => level !== 'info')).toEqual([]);
    await expect(measure('cle_writes_total{action="PingCandidate",result="conflict"}')).resolves.toBe(1);
    await expect(measure('cle_writes_total{action="PingCandidate",result="ok"}')).resolves.toBe(1);
    await expect(measure('cle_pings_total')).resolves.toBe(1);
  });

  test('is logged once for all pings with the same failure, and after a minute with their number', async () => {
    const { world, linesOf, measure } = makeReportedWorld();
    world.fate = (request) => (isPing(request) ? { outcome: 500 } : {});
    for (let at = 0; at < 30; at++) {
      world.create('leasecandidates', makeCandidateObject(`c${at}`, { renewedAt: -60_000 }));
    }
    await world.start();
    const first = linesOf('Write failed');
    expect(first).toHaveLength(1);
    expect(first[0]).toMatchObject({ level: 'error', action: 'PingCandidate', lease: KEY });
    expect(first[0]?.['err']).not.toHaveProperty('stack');
    await world.clock.advance(50_000);
    expect(linesOf('Write failed')).toHaveLength(1);
    await world.clock.runUntil(() => linesOf('Write failed').length > 1);
    expect(world.clock.now()).toBeGreaterThanOrEqual(60_000);
    // The first conflict was reported, and so is this one.
    const failures = await measure('cle_writes_total{action="PingCandidate",result="error"}');
    expect(linesOf('Write failed')[1]?.['failedAlikeSince']).toBe(failures - 2);
  });

  test('because the lock was lost is not logged as a failure', async () => {
    let asked = 0;
    // It is asked for the decision, and right before the write.
    const { world, linesOf } = makeReportedWorld({ mayWrite: () => ++asked !== 2 });
    await world.start();
    // The start asks as well, before a Lease exists.
    asked = 0;
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: 0 }));
    await world.clock.advance(0);
    expect(asked).toBeGreaterThan(1);
    expect(world.api.lease(KEY)).toBeUndefined();
    expect(linesOf('Write failed')).toEqual([]);
  });
});

describe('a problem', () => {
  test('is logged when it begins, not each time that it is found again', async () => {
    const { world, linesOf, measure } = makeReportedWorld();
    await world.start();
    const keepAnswering = () => {
      for (const name of ['a', 'b']) world.renew(`default/${name}`);
      world.clock.setTimer(keepAnswering, 1000);
    };
    world.create(
      'leasecandidates',
      makeCandidateObject('a', { renewedAt: 0, spec: { strategy: 'x.io/one' } }),
    );
    world.create(
      'leasecandidates',
      makeCandidateObject('b', { renewedAt: 0, spec: { strategy: 'x.io/two' } }),
    );
    world.clock.setTimer(keepAnswering, 1000);
    await world.clock.advance(120_000);
    expect(linesOf(LEFT).filter(({ reason }) => reason === 'StrategyConflict')).toMatchObject([
      { level: 'warn', lease: KEY, conflictingStrategies: ['x.io/one', 'x.io/two'] },
    ]);
    await expect(measure('cle_strategy_conflicts_total')).resolves.toBe(1);
  });

  test('is logged again if it was over in the meantime', async () => {
    const { world, linesOf } = makeReportedWorld();
    await world.start();
    world.create(
      'leasecandidates',
      makeCandidateObject('a', { renewedAt: 0, spec: { emulationVersion: 'none' } }),
    );
    await world.clock.advance(1000);
    expect(linesOf(LEFT)).toMatchObject([{ reason: 'NoElectableCandidates', level: 'warn' }]);
    world.change('leasecandidates', 'default/a', { emulationVersion: '1.36.0' });
    await world.clock.advance(1000);
    world.change('leasecandidates', 'default/a', { emulationVersion: 'none', renewTime: world.wallText });
    world.release(KEY);
    await world.clock.advance(0);
    world.renew('default/a');
    await world.clock.advance(8000);
    world.renew('default/a');
    await world.clock.advance(1000);
    expect(linesOf(LEFT).filter(({ reason }) => reason === 'NoElectableCandidates')).toHaveLength(2);
  });

  test('counts each unanswered ping once', async () => {
    const { world, measure } = makeReportedWorld();
    await world.start();
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: -60_000 }));
    await world.clock.advance(5000);
    await expect(measure('cle_pings_unanswered_total')).resolves.toBe(1);
    world.create('leasecandidates', makeCandidateObject('b', { renewedAt: 5000 }));
    await world.clock.advance(100);
    await expect(measure('cle_pings_unanswered_total')).resolves.toBe(1);
  });
});

describe('a dry run', () => {
  test('logs once what it would do, while it would do the same', async () => {
    const { world, linesOf } = makeReportedWorld({ isDryRun: true });
    await world.start();
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: 0 }));
    await world.clock.advance(4000);
    world.create('leasecandidates', makeCandidateObject('b', { renewedAt: 4000, version: '1.37.0' }));
    await world.clock.advance(500);
    expect(linesOf('Would act')).toMatchObject([
      { lease: KEY, reason: 'LeaseMissing', holder: 'a', actions: ['CreateLease'] },
    ]);
    expect(linesOf(CHANGED)).toEqual([]);
  });

  test('logs what it would do again when it would grant the Lease to another candidate', async () => {
    const { world, linesOf } = makeReportedWorld({ isDryRun: true });
    await world.start();
    world.create('leasecandidates', makeCandidateObject('b', { renewedAt: 0, version: '1.37.0' }));
    await world.clock.advance(4000);
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: 4000 }));
    await world.clock.advance(500);
    expect(linesOf('Would act').map(({ holder }) => holder)).toEqual(['b', 'a']);
  });
});

describe('a decision among many', () => {
  test('names ten candidates in its line, and counts the others', async () => {
    const { world, linesOf } = makeReportedWorld({ isDryRun: true });
    for (let at = 0; at < 40; at++) {
      world.create(
        'leasecandidates',
        makeCandidateObject(`c${at}`, { renewedAt: 0, version: `1.36.${40 - at}` }),
      );
    }
    await world.start();
    const [line] = linesOf('Would act');
    expect(line).toMatchObject({ holder: 'c39', moreCandidates: 30 });
    expect(line?.['candidates']).toMatchObject(
      Array.from({ length: 10 }, (_, place) => ({ name: `c${39 - place}` })),
    );
  });
});
