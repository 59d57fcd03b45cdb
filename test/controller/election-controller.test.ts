import { describe, expect, test } from 'vitest';
import { decideElection } from '../../src/election/decide.ts';
import { SimCandidate } from '../simulation/sim-candidate.ts';
import { SimConnection } from '../simulation/sim-connection.ts';
import { SimProcess } from '../simulation/sim-process.ts';
import { defaultSettings, makeNow } from '../support/election-builders.ts';
import { ControllerWorld, isLeaseWrite, isPing, sentSpec } from './make-controller.ts';
import { makeCandidateObject, makeLeaseObject } from './make-objects.ts';

const KEY = 'default/scheduler';
const V1BETA1 = 'coordination.k8s.io/v1beta1';

async function makeLedWorld(): Promise<ControllerWorld> {
  const world = await new ControllerWorld().start();
  world.create('leasecandidates', makeCandidateObject('a', { renewedAt: 0 }));
  await world.clock.advance(0);
  // The holder renews it.
  await world.clock.advance(2000);
  world.change('leases', KEY, { renewTime: world.wallText, leaseDurationSeconds: 15 });
  await world.clock.advance(0);
  return world;
}

describe('an election', () => {
  test('grants a Lease as soon as a fresh candidate exists', async () => {
    const world = await new ControllerWorld().start();
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: 0 }));
    await world.clock.advance(0);
    expect(world.leaseSpec()).toEqual({
      holderIdentity: 'a',
      leaseDurationSeconds: 10,
      leaseTransitions: 0,
      acquireTime: '2026-01-01T00:00:00.000000Z',
      renewTime: '2026-01-01T00:00:00.000000Z',
      strategy: 'OldestEmulationVersion',
    });
  });

  test('settles, without a decision for each new candidate in the meantime (rule 6)', async () => {
    const world = await new ControllerWorld({ settings: { ...defaultSettings, settleMs: 1000 } }).start();
    for (const [index, name] of ['a', 'b', 'c', 'd'].entries()) {
      world.create('leasecandidates', makeCandidateObject(name, { renewedAt: index * 15 }));
      await world.clock.advance(15);
    }
    expect(world.decisions).toEqual(['default/scheduler FirstElectionSettling']);
    await world.clock.advance(59);
    expect(world.ourWriteLines).toEqual([]);
    await world.clock.advance(1);
    expect(world.ourWriteLines).toEqual(['POST leases default/scheduler 201']);
  });

  test('pings a candidate that is not fresh, and waits for its answer', async () => {
    const world = await new ControllerWorld().start();
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: -60_000 }));
    await world.clock.advance(1000);
    expect(world.ourWriteLines).toEqual(['PATCH leasecandidates default/a 200']);
    world.renew('default/a');
    await world.clock.advance(0);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'a' });
  });

  test('counts an answer whose event arrives before the response to the ping', async () => {
    const world = await new ControllerWorld().start();
    world.fate = (request) => (isPing(request) ? { answerMs: 1000 } : {});
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: -60_000 }));
    await world.clock.advance(100);
    world.renew('default/a');
    await world.clock.advance(1000);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'a' });
    expect(world.ourWrites.filter(({ resource }) => resource === 'leasecandidates')).toHaveLength(1);
  });

  test('continues without a candidate that does not answer within electionDuration', async () => {
    const world = await new ControllerWorld().start();
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: -60_000, version: '1.35.0' }));
    world.create('leasecandidates', makeCandidateObject('b', { renewedAt: 0 }));
    await world.clock.advance(4999);
    expect(world.leaseSpec()).toEqual({});
    await world.clock.advance(1);
    // By now b is not fresh any more; a round trip shows whether it is alive.
    world.renew('default/b');
    await world.clock.advance(0);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'b' });
  });

  test('is independent for each Lease of a namespace', async () => {
    const world = await new ControllerWorld().start();
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: 0, leaseName: 'one' }));
    world.create('leasecandidates', makeCandidateObject('b', { renewedAt: 0, leaseName: 'two' }));
    world.create(
      'leasecandidates',
      makeCandidateObject('c', { renewedAt: 0, namespace: 'other', leaseName: 'one' }),
    );
    await world.clock.advance(0);
    expect(world.leaseSpec('default/one')).toMatchObject({ holderIdentity: 'a' });
    expect(world.leaseSpec('default/two')).toMatchObject({ holderIdentity: 'b' });
    expect(world.leaseSpec('other/one')).toMatchObject({ holderIdentity: 'c' });
  });

  test("never writes the coordinator's own Lease, even if candidates name it (rule 10)", async () => {
    const world = await new ControllerWorld().start();
    const fields = { renewedAt: 0, namespace: 'kube-system', leaseName: 'leader-election-controller' };
    world.create('leasecandidates', makeCandidateObject('a', fields));
    await world.clock.advance(60_000);
    expect(world.ourWrites).toEqual([]);
  });
});

describe('a settled Lease', () => {
  test('costs no request while its holder renews, and a decision a minute', async () => {
    const world = await makeLedWorld();
    const [decisions, requests] = [world.decisions.length, world.ourRequests.length];
    const lookedAt: number[] = [];
    world.onMayWrite = () => lookedAt.push(world.clock.now());
    const startedAt = world.clock.now();
    for (let renewal = 0; renewal < 90; renewal++) {
      await world.clock.advance(2000);
      world.renewLease(KEY);
    }
    await world.clock.advance(0);
    expect(lookedAt.map((at) => at - startedAt)).toEqual([60_000, 120_000, 180_000]);
    expect(world.decisions.length - decisions).toBe(3);
    expect(world.ourRequests.length - requests).toBe(0);
  });

  test('is given to another candidate when its holder stops renewing, at the moment of its expiry', async () => {
    const world = await makeLedWorld();
    world.create('leasecandidates', makeCandidateObject('b', { renewedAt: 2000, version: '1.37.0' }));
    await world.clock.advance(12_000);
    // Pinged before the expiry (rule 6); a does not answer.
    expect(world.candidateSpec('default/b')).toHaveProperty('pingTime');
    world.renew('default/b');
    await world.clock.advance(2999);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'a' });
    await world.clock.advance(1);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'b', leaseTransitions: 1 });
  });

  test('is decided again when its holder releases it', async () => {
    const world = await makeLedWorld();
    world.create('leasecandidates', makeCandidateObject('b', { renewedAt: 2000, version: '1.37.0' }));
    await world.clock.advance(1000);
    world.release(KEY);
    await world.clock.advance(0);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'b' });
  });

  test('that is deleted is reserved while its holder may believe that it leads, counted from the deletion', async () => {
    const world = await makeLedWorld();
    world.create('leasecandidates', makeCandidateObject('b', { renewedAt: 2000, version: '1.35.0' }));
    await world.clock.advance(5000);
    world.remove('leases', KEY);
    await world.clock.advance(14_000);
    world.renew('default/b');
    await world.clock.advance(999);
    expect(world.leaseSpec()).toEqual({});
    await world.clock.advance(1);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'b' });
  });
});

describe('a better candidate', () => {
  async function makePreferringWorld(): Promise<ControllerWorld> {
    const world = await makeLedWorld();
    world.create('leasecandidates', makeCandidateObject('b', { renewedAt: 2000, version: '1.35.0' }));
    await world.clock.advance(100);
    world.renew('default/b');
    await world.clock.advance(0);
    return world;
  }

  test('is preferred after its answer, in one patch of two fields', async () => {
    const world = await makePreferringWorld();
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'a', preferredHolder: 'b' });
    expect(sentSpec(world.ourWrites.findLast(({ resource }) => resource === 'leases') ?? fail())).toEqual({
      preferredHolder: 'b',
      strategy: 'OldestEmulationVersion',
    });
  });

  test('is not preferred any more after it falls silent', async () => {
    const world = await makePreferringWorld();
    await world.clock.advance(8000);
    expect(world.leaseSpec()).not.toHaveProperty('preferredHolder');
  });

  test('is removed as preferredHolder of a Lease without candidates, even by a coordinator that started later', async () => {
    const world = new ControllerWorld();
    world.api.handle('us', {
      method: 'POST',
      path: '/apis/coordination.k8s.io/v1/namespaces/default/leases',
      query: { fieldManager: 'coordinated-leader-election' },
      body: makeLeaseObject('a', 0, { preferredHolder: 'b' }),
    });
    await world.start();
    expect(world.leaseSpec()).not.toHaveProperty('preferredHolder');
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'a' });
  });

  test('is removed as preferredHolder of a Lease that lost its candidates while the lock was free, by the next holder of the lock', async () => {
    const world = await makePreferringWorld();
    world.mayWrite = false;
    world.remove('leasecandidates', 'default/a');
    world.remove('leasecandidates', 'default/b');
    await world.clock.advance(1000);
    world.mayWrite = true;
    world.controller.takeOver();
    await world.clock.advance(0);
    expect(world.leaseSpec()).not.toHaveProperty('preferredHolder');
  });
});

describe('without the lock (rule 10)', () => {
  test('nothing is written, and everything is decided when the lock is acquired', async () => {
    const world = new ControllerWorld();
    world.mayWrite = false;
    await world.start();
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: 0 }));
    await world.clock.advance(60_000);
    expect(world.ourWrites).toEqual([]);
    expect(world.decisions).toEqual([]);
    world.create('leases', makeLeaseObject('', world.clock.now(), { leaseDurationSeconds: 1 }));
    world.create(
      'leasecandidates',
      makeCandidateObject('b', { leaseName: 'new', renewedAt: world.clock.now() }),
    );
    world.renew('default/a');
    await world.clock.advance(0);
    world.takeLock();
    await world.clock.advance(0);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'a' });
    expect(world.leaseSpec('default/new')).toMatchObject({ holderIdentity: 'b' });
  });

  test('a Lease that is missing when the lock is acquired may have just been deleted, and is created 25 s later (rule 8)', async () => {
    const world = new ControllerWorld();
    world.mayWrite = false;
    await world.start();
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: 0 }));
    await world.clock.advance(60_000);
    world.mayWrite = true;
    world.controller.takeOver();
    await world.clock.advance(22_000);
    world.renew('default/a');
    await world.clock.advance(2999);
    expect(world.leaseSpec()).toEqual({});
    await world.clock.advance(1);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'a' });
  });

  test('no Lease is decided when the first list ends, and each is when the lock is acquired', async () => {
    const world = new ControllerWorld();
    world.mayWrite = false;
    world.create('leases', makeLeaseObject('a', 0));
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: 0 }));
    await world.start();
    expect([world.controller.hasSynced('leasecandidates'), world.looks]).toEqual([true, 0]);
    world.mayWrite = true;
    world.controller.takeOver();
    await world.clock.advance(0);
    expect(world.looks).toBe(1);
  });

  test('a standby knows the age of each record', async () => {
    const world = new ControllerWorld();
    world.mayWrite = false;
    world.create('leases', makeLeaseObject('gone', 0));
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: 0 }));
    await world.start();
    await world.clock.advance(14_999);
    world.mayWrite = true;
    world.renew('default/a');
    await world.clock.advance(0);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'gone' });
    await world.clock.advance(1);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'a' });
  });

  test('a replica that releases the lock writes nothing after it has drained', async () => {
    const world = await new ControllerWorld().start();
    world.fate = (request) => (isLeaseWrite(request) ? { requestMs: 1000, answerMs: 1000 } : {});
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: 0 }));
    await world.clock.advance(10);
    let isDrained = false;
    void world.controller.scheduler.close().then(() => {
      isDrained = true;
    });
    world.create('leasecandidates', makeCandidateObject('b', { renewedAt: 0, leaseName: 'other' }));
    await world.clock.advance(1900);
    expect(isDrained).toBe(false);
    await world.clock.advance(100);
    expect(isDrained).toBe(true);
    await world.clock.advance(60_000);
    expect(world.ourWriteLines).toEqual(['POST leases default/scheduler 201']);
    await world.controller.stop();
    expect(world.connection.openWatches).toBe(0);
  });
});

describe('an unknown object', () => {
  test('prevents decisions: the Leases are listed first', async () => {
    const world = new ControllerWorld();
    world.create('leases', makeLeaseObject('a', 0));
    world.create('leasecandidates', makeCandidateObject('b', { renewedAt: 0 }));
    world.fate = ({ path }) => (path.endsWith('/leases') ? { answerMs: 3000 } : {});
    await world.start();
    await world.clock.advance(2000);
    expect(world.decisions).toEqual([]);
    await world.clock.advance(1000);
    expect(world.decisions.at(-1)).toBe(`${KEY} AwaitingAcks`);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'a' });
  });

  test('prevents decisions: the candidates are listed first', async () => {
    const world = new ControllerWorld();
    world.create('leasecandidates', makeCandidateObject('b', { renewedAt: 0 }));
    world.fate = ({ path }) => (path.endsWith('/leasecandidates') ? { answerMs: 1000 } : {});
    await world.start();
    await world.clock.advance(999);
    expect(world.decisions).toEqual([]);
    await world.clock.advance(1);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'b' });
  });

  test('may have existed a moment ago: a missing Lease with candidates older than 2 s is created after 15 s (rule 8)', async () => {
    const world = new ControllerWorld();
    world.create('leasecandidates', makeCandidateObject('b', { renewedAt: 0 }));
    await world.clock.advance(3000);
    await world.start();
    await world.clock.advance(12_000);
    world.renew('default/b');
    await world.clock.advance(2999);
    expect(world.leaseSpec()).toEqual({});
    await world.clock.advance(1);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'b' });
  });
});

describe('LeaseCandidates (rule 11)', () => {
  /** From now on, the API server serves them only in these versions. */
  async function serve(world: ControllerWorld, ...versions: readonly string[]): Promise<void> {
    world.api.candidateVersions = versions;
    world.connection.breakWatches();
    await world.clock.advance(1000);
  }

  test('that are served in another version change nothing about a Lease, and are pinged in that version from then on', async () => {
    const world = await makeLedWorld();
    world.create('leasecandidates', makeCandidateObject('b', { renewedAt: -60_000, version: '1.37.0' }));
    await world.clock.advance(0);
    const before = world.ourWrites.length;
    await serve(world, 'v1alpha2');
    expect(world.told).toEqual([
      `synced ${V1BETA1}`,
      `gone ${V1BETA1}`,
      'synced coordination.k8s.io/v1alpha2',
    ]);
    expect(world.ourWrites.slice(before)).toEqual([]);
    const asked = world.ourRequests.length;
    world.release(KEY);
    await world.clock.advance(100);
    world.renew('default/b');
    await world.clock.advance(0);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'b', leaseTransitions: 1 });
    const pings = world.ourRequests.slice(asked).filter((request) => request.includes('/leasecandidates/'));
    expect(pings).toEqual([
      'us PATCH /apis/coordination.k8s.io/v1alpha2/namespaces/default/leasecandidates/b',
    ]);
  });

  test('that are not served any more leave every Lease unchanged, until they are served again', async () => {
    const world = await makeLedWorld();
    await serve(world);
    expect(world.told).toEqual([`synced ${V1BETA1}`, `gone ${V1BETA1}`, 'notServed']);
    const before = world.ourWrites.length;
    await world.clock.advance(60_000);
    expect(world.ourWrites.slice(before)).toEqual([]);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'a' });
    await serve(world, 'v1beta1');
    await world.clock.advance(10_000);
    expect(world.told.slice(3)).toEqual([`synced ${V1BETA1}`]);
    world.renew('default/a');
    await world.clock.advance(0);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'a', renewTime: world.wallText });
  });
});

describe('a change of leaseName', () => {
  test('moves the candidate from one election to the other', async () => {
    const world = await makeLedWorld();
    world.create(
      'leasecandidates',
      makeCandidateObject('b', { renewedAt: 2000, version: '1.35.0', leaseName: 'other' }),
    );
    await world.clock.advance(0);
    world.change('leasecandidates', 'default/b', { leaseName: 'scheduler' });
    await world.clock.advance(100);
    world.renew('default/b');
    await world.clock.advance(0);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'a', preferredHolder: 'b' });
    world.change('leasecandidates', 'default/b', { leaseName: 'other' });
    await world.clock.advance(0);
    expect(world.leaseSpec()).not.toHaveProperty('preferredHolder');
  });
});

describe('namespaces', () => {
  test('that were not requested are ignored', async () => {
    const world = await new ControllerWorld({ namespaces: ['default', 'second'] }).start();
    for (const namespace of ['default', 'second', 'third']) {
      world.create('leasecandidates', makeCandidateObject('a', { namespace, renewedAt: 0 }));
    }
    await world.clock.advance(0);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'a' });
    expect(world.leaseSpec('second/scheduler')).toMatchObject({ holderIdentity: 'a' });
    expect(world.leaseSpec('third/scheduler')).toEqual({});
    expect(world.ourRequests.some((request) => /third|\/v1\/leases$/.test(request))).toBe(false);
  });

  test.each(['leases', 'leasecandidates'])(
    'elect where they can be seen, whatever becomes of those whose %s cannot',
    async (resource) => {
      const world = new ControllerWorld({ namespaces: ['default', 'second'] });
      world.fate = ({ path }) => (path.endsWith(`/second/${resource}`) ? { outcome: 403 } : {});
      await world.start();
      for (const namespace of ['default', 'second']) {
        world.create('leasecandidates', makeCandidateObject('a', { namespace, renewedAt: 0 }));
      }
      await world.clock.advance(0);
      expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'a' });
      expect(world.leaseSpec('second/scheduler')).toEqual({});
      expect(await world.controller.survey()).toMatchObject({ leases: 1, unled: [] });
      world.fate = () => ({});
      await world.clock.advance(15_000);
      world.renew('second/a');
      await world.clock.advance(0);
      expect(world.leaseSpec('second/scheduler')).toMatchObject({ holderIdentity: 'a' });
    },
  );
});

describe('a controller can elect', () => {
  const everything = { namespaces: [] };
  const some = { namespaces: ['default', 'second'] };
  test.each([
    { where: everything, refused: /\/leases$/, want: false },
    { where: everything, refused: /\/leasecandidates$/, want: false },
    { where: some, refused: /\/leases$/, want: false },
    { where: some, refused: /default\/leases$|second\/leasecandidates$/, want: false },
    { where: some, refused: /second\/leases$/, want: true },
  ])('in $where.namespaces without $refused: $want', async ({ where, refused, want }) => {
    let sighted = 0;
    const world = new ControllerWorld({ ...where, onCanElectChange: () => sighted++ });
    world.fate = ({ path }) => (refused.test(path) ? { outcome: 403 } : {});
    await world.start();
    expect(world.controller.canElect()).toBe(want);
    const before = sighted;
    world.fate = () => ({});
    await world.clock.advance(15_000);
    expect(world.controller.canElect()).toBe(true);
    expect(sighted).toBeGreaterThan(before);
  });

  test('only while its server serves LeaseCandidates, because another replica may see them', async () => {
    let sighted = 0;
    const world = new ControllerWorld({ onCanElectChange: () => sighted++ });
    world.api.candidateVersions = [];
    await world.start();
    expect(world.controller.canElect()).toBe(false);
    const before = sighted;
    world.api.candidateVersions = ['v1beta1'];
    await world.clock.advance(10_000);
    expect(world.controller.canElect()).toBe(true);
    expect(sighted).toBeGreaterThan(before);
  });
});

describe('a candidate that is created during our watch', () => {
  test('is as old as the server says, whatever our own clock shows', async () => {
    const world = await new ControllerWorld().start();
    const ageOf = (leaseName: string) =>
      world.controller.gather(`default/${leaseName}`).candidates[0]?.observation.ageAtFirstSightMs;
    world.watchDelayMs = 60_000;
    const renewedAt = world.clock.now();
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt }));
    await world.clock.advance(60_000);
    expect(ageOf('scheduler')).toBe(1000);
    world.create('leasecandidates', makeCandidateObject('b', { renewedAt, leaseName: 'webhook' }));
    await world.clock.advance(60_000);
    expect(ageOf('webhook')).toBe(61_000);
  });
});

describe('a ping that waits for a free slot (rule 9)', () => {
  /** Another Lease uses the only slot for such pings for 100 ms. */
  async function makeBusy(world: ControllerWorld): Promise<void> {
    world.fate = (request) => (request.path.endsWith('/other') ? { answerMs: 100 } : {});
    const other = makeCandidateObject('other', { leaseName: 'busy', renewedAt: world.clock.now() - 60_000 });
    world.create('leasecandidates', other);
    await world.clock.advance(10);
  }

  test('is not sent to a candidate that renews in the meantime', async () => {
    const world = new ControllerWorld();
    world.create('leases', makeLeaseObject('a', 0, { leaseDurationSeconds: 3600 }));
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: 0 }));
    world.create('leasecandidates', makeCandidateObject('b', { renewedAt: -300_000 }));
    await world.start();
    const { requeue } = decideElection(world.controller.gather(KEY), makeNow(0));
    const dueAt = requeue.kind === 'at' ? requeue.time : 0;
    await world.clock.advance(dueAt - 10);
    await makeBusy(world);
    await world.clock.advance(40);
    world.renew('default/b');
    await world.clock.advance(1000);
    expect(world.ourWriteLines).toEqual(['PATCH leasecandidates default/other 200']);
  });

  test('is not sent to a holder that renews its grant in the meantime', async () => {
    const world = await new ControllerWorld().start();
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: 0 }));
    await world.clock.advance(4990);
    await makeBusy(world);
    await world.clock.advance(40);
    world.renewLease(KEY);
    await world.clock.advance(1000);
    expect(world.ourWriteLines).toEqual([
      'POST leases default/scheduler 201',
      'PATCH leasecandidates default/other 200',
    ]);
  });
});

describe('a candidate that renews by itself', () => {
  async function makeWorld(renewedAt: number, version: string): Promise<ControllerWorld> {
    const world = new ControllerWorld();
    world.create('leases', makeLeaseObject('a', 0, { leaseDurationSeconds: 3600 }));
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: 0 }));
    world.create('leasecandidates', makeCandidateObject('b', { renewedAt, version }));
    await world.start();
    await world.clock.advance(20_000);
    expect(world.decisions.at(-1)).toBe(`${KEY} LeaderOptimal`);
    return world;
  }

  test('causes no decision while its Lease is settled', async () => {
    const world = await makeWorld(-60_000, '1.37.0');
    let looks = 0;
    world.onMayWrite = () => looks++;
    world.renew('default/b');
    await world.clock.advance(0);
    expect(looks).toBe(0);
  });

  test.each([
    { name: 'had left a ping unanswered', renewedAt: -60_000 },
    { name: 'had not renewed for so long', renewedAt: -2_400_000 },
  ])('causes a decision at once if it $name, because it may be the best', async ({ renewedAt }) => {
    const world = await makeWorld(renewedAt, '1.35.0');
    const before = world.ourWrites.length;
    world.renew('default/b');
    await world.clock.advance(0);
    // Such a late renewal does not count as an answer: the candidate must answer again.
    expect(world.ourWriteLines.slice(before)).toEqual(['PATCH leasecandidates default/b 200']);
  });
});

test('a waiting grant is not written for a candidate that is deleted in the meantime, with any number of other candidates', async () => {
  const world = new ControllerWorld({ workers: 1 });
  world.fate = (request) => (request.path.endsWith('/other') ? { answerMs: 50 } : {});
  world.create('leasecandidates', makeCandidateObject('other', { leaseName: 'busy', renewedAt: -60_000 }));
  world.create('leasecandidates', makeCandidateObject('a', { renewedAt: 0 }));
  // The coordinator does not decide again within 100 ms about a Lease with so many candidates.
  for (let index = 0; index < 1100; index++) {
    world.create('leasecandidates', makeCandidateObject(`c${index}`, { version: '1.37.0' }));
  }
  await world.start();
  await world.clock.advance(20);
  world.remove('leasecandidates', 'default/a');
  await world.clock.advance(1000);
  expect(world.ourWriteLines).toContain('PATCH leasecandidates default/c0 200');
  expect(world.leaseSpec()).toEqual({});
});

describe('a candidate whose clock is an hour ahead, and is then corrected', () => {
  test('does not renew in a loop until it has caught up with the pings of that hour', async () => {
    const world = await new ControllerWorld().start();
    const process = new SimProcess(world.clock, { wallMs: 3_600_000 });
    const versions = { binaryVersion: '1.36.0', emulationVersion: '1.36.0' };
    const identity = { namespace: 'default', leaseName: 'scheduler', name: 'a', ...versions };
    const connection = new SimConnection(world.api, process, 'a');
    const hooks = { onExit: () => {}, mayReleaseAnothers: () => false, onBelief: () => {}, trace: () => {} };
    new SimCandidate(identity, process, connection, hooks).start();
    await world.clock.advance(10 * 60_000);
    expect(world.candidateSpec('default/a')).toHaveProperty('pingTime');
    const before = world.api.writes.length;
    process.jumpWallClock(-3_600_000);
    await world.clock.advance(10 * 60_000);
    const renewals = world.api.writes
      .slice(before)
      .filter(({ writer, resource }) => writer === 'a' && resource === 'leasecandidates');
    expect(renewals.length).toBeLessThan(10);
  });
});

describe('a dry run', () => {
  test('decides and writes nothing', async () => {
    const world = await new ControllerWorld({ isDryRun: true }).start();
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: 0 }));
    await world.clock.advance(60_000);
    expect(world.decisions[0]).toBe(`${KEY} LeaseMissing`);
    expect(world.ourWrites).toEqual([]);
  });
});

describe('Leases without a valid holder', () => {
  test('are counted if they have candidates', async () => {
    const world = await makeLedWorld();
    world.create('leases', makeLeaseObject('somebody', 0, {}, 'not-ours'));
    world.create(
      'leasecandidates',
      makeCandidateObject('x', { renewedAt: -60_000, leaseName: 'leaderless' }),
    );
    await world.clock.advance(0);
    expect(await world.controller.survey()).toMatchObject({
      leases: 2,
      unled: [{ key: 'default/leaderless', since: undefined }],
      candidates: { Live: 1, Awaiting: 1 },
    });
    await world.clock.advance(20_000);
    expect(await world.controller.survey()).toMatchObject({
      leases: 2,
      unled: [{ key: KEY, since: 17_000 }, { key: 'default/leaderless' }],
      candidates: { Live: 0, Unresponsive: 2 },
    });
  });

  test('are not counted before Leases are listed: unseen Leases may be held', async () => {
    const world = new ControllerWorld();
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: 0 }));
    world.create('leases', makeLeaseObject('a', 0));
    let isRefused = true;
    world.fate = ({ path }) => (isRefused && path.endsWith('/leases') ? { outcome: 403 } : {});
    await world.start();
    await world.clock.advance(60_000);
    expect(world.controller.hasSynced('leasecandidates')).toBe(true);
    expect(await world.controller.survey()).toMatchObject({ leases: 0, unled: [], candidates: { Live: 0 } });
    isRefused = false;
    await world.clock.advance(10_000);
    expect(await world.controller.survey()).toMatchObject({ leases: 1, unled: [] });
  });

  test('have no holder since their observed expiry, release or deletion', async () => {
    const world = await makeLedWorld();
    await world.clock.advance(1000);
    world.mayWrite = false;
    world.release(KEY);
    await world.clock.advance(1000);
    const releasedAt = world.clock.now() - 1000;
    // A holder that releases the Lease has not ended.
    world.renew('default/a');
    await world.clock.advance(0);
    expect((await world.controller.survey()).unled).toEqual([{ key: KEY, since: releasedAt }]);
    world.change('leases', KEY, { holderIdentity: 'a', leaseDurationSeconds: 9, renewTime: world.wallText });
    await world.clock.advance(1000);
    expect((await world.controller.survey()).unled).toEqual([]);
    world.remove('leases', KEY);
    await world.clock.advance(500);
    expect((await world.controller.survey()).unled).toEqual([{ key: KEY, since: releasedAt + 2000 }]);
  });
});

test('the age of the last data is that of the quietest namespace', async () => {
  const world = new ControllerWorld({ namespaces: ['default', 'other'] });
  expect(world.controller.lastHeard('leases')).toBeUndefined();
  expect(world.controller.lastHeard('leasecandidates')).toBeUndefined();
  await world.start();
  expect(world.controller.lastHeard('leases')).toBe(0);
  await world.clock.advance(1000);
  world.create('leasecandidates', makeCandidateObject('a', { renewedAt: 1000 }));
  await world.clock.advance(0);
  expect(world.controller.lastHeard('leasecandidates')).toBe(0);
  world.create('leasecandidates', makeCandidateObject('b', { namespace: 'other', renewedAt: 1000 }));
  await world.clock.advance(0);
  expect(world.controller.lastHeard('leasecandidates')).toBe(1000);
});

test('the watch counts as complete when all namespaces are watched', async () => {
  const world = new ControllerWorld({ namespaces: ['default', 'other'] });
  expect(world.controller.unwatchedSince()).toBeUndefined();
  world.controller.start();
  expect(world.controller.unwatchedSince()).toBe(0);
  await world.clock.advance(1000);
  expect(world.controller.unwatchedSince()).toBeUndefined();
});

test('settings appear in the written Lease', async () => {
  const world = await new ControllerWorld({
    settings: { ...defaultSettings, leaseDurationSeconds: 7 },
  }).start();
  world.create('leasecandidates', makeCandidateObject('a', { renewedAt: 0 }));
  await world.clock.advance(0);
  expect(world.leaseSpec()).toMatchObject({ leaseDurationSeconds: 7 });
});

function fail(): never {
  throw new Error('there is no such write');
}
