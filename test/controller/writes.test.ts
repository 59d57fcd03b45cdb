import { describe, expect, test } from 'vitest';
import type { ApiRequest } from '../../src/kubernetes/client.ts';
import type { KubernetesObject } from '../../src/kubernetes/objects.ts';
import { ControllerWorld, isLeaseWrite, isPing } from './make-controller.ts';
import { makeCandidateObject, makeLeaseObject } from './make-objects.ts';

const KEY = 'default/scheduler';

async function makeWorld(): Promise<ControllerWorld> {
  return await new ControllerWorld().start();
}

/** Each distance is between half and all of a delay that doubles from `baseMs`. */
function expectDoublingGaps(times: readonly number[], baseMs: number): void {
  for (const [index, at] of times.slice(1).entries()) {
    const gapMs = at - (times[index] ?? 0);
    expect(gapMs, `gap ${index} of ${times}`).toBeGreaterThanOrEqual((baseMs * 2 ** index) / 2);
    expect(gapMs, `gap ${index} of ${times}`).toBeLessThanOrEqual(baseMs * 2 ** index);
  }
}

function makeFreshCandidate(world: ControllerWorld, name = 'a', leaseName = 'scheduler'): void {
  world.create('leasecandidates', makeCandidateObject(name, { renewedAt: world.clock.now(), leaseName }));
}

describe('after a write (rule 8)', () => {
  test('there is no decision until the watch has shown it', async () => {
    const world = await makeWorld();
    world.watchDelayMs = 3000;
    makeFreshCandidate(world);
    await world.clock.advance(3000);
    expect(world.decisions).toEqual([`${KEY} LeaseMissing`]);
    // News of a candidate would cause a decision, if a write were not pending in the cache.
    world.watchDelayMs = 0;
    world.connection.holdWatches(true);
    await world.clock.advance(9999);
    expect(world.decisions).toEqual([`${KEY} LeaseMissing`]);
    world.connection.holdWatches(false);
    await world.clock.advance(0);
    // Its holder should have renewed it by then: it is pinged.
    expect(world.decisions.slice(0, 2)).toEqual([`${KEY} LeaseMissing`, `${KEY} LeaderOptimal`]);
    expect(world.ourWriteLines.slice(0, 1)).toEqual([`POST leases ${KEY} 201`]);
  });

  test('a new candidate has to wait for the watch, too', async () => {
    const world = await makeWorld();
    // The write is done, but this process learns of it late: by now its view is outdated.
    world.fate = (request) => {
      if (isLeaseWrite(request)) world.watchDelayMs = 2000;
      return {};
    };
    makeFreshCandidate(world);
    await world.clock.advance(10);
    world.watchDelayMs = 0;
    world.create('leasecandidates', makeCandidateObject('b', { renewedAt: 10, version: '1.35.0' }));
    await world.clock.advance(1989);
    expect(world.decisions).toEqual([`${KEY} LeaseMissing`]);
    await world.clock.advance(1);
    // b is better than a, which has not renewed the Lease.
    expect(world.decisions).toEqual([`${KEY} LeaseMissing`, `${KEY} GrantRevised`]);
  });

  test('a stalled watch delays decisions for ten seconds, not for ever', async () => {
    const world = await makeWorld();
    world.fate = (request) => {
      if (isLeaseWrite(request)) world.connection.holdWatches(true);
      return {};
    };
    makeFreshCandidate(world);
    await world.clock.advance(9999);
    expect(world.decisions).toEqual([`${KEY} LeaseMissing`]);
    await world.clock.advance(1);
    // With old news: this process sees that the Lease was created and is gone, so its holder may lead and must
    // answer.
    expect(world.decisions.slice(0, 2)).toEqual([`${KEY} LeaseMissing`, `${KEY} AwaitingFormerHolder`]);
    expect(world.ourWriteLines).toEqual([`POST leases ${KEY} 201`, 'PATCH leasecandidates default/a 200']);
  });

  test('a Lease that appeared and disappeared unseen is created again without an event', async () => {
    const world = await makeWorld();
    world.fate = (request) => (isLeaseWrite(request) ? { requestMs: 100 } : {});
    makeFreshCandidate(world);
    await world.clock.advance(50);
    world.connection.holdWatches(true);
    await world.clock.advance(100);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'a' });
    world.remove('leases', KEY);
    world.api.store.compact();
    world.connection.breakWatches();
    world.connection.holdWatches(false);
    await world.clock.advance(12_000);
    // By now, a must be pinged to show that it is alive.
    expect(world.candidateSpec('default/a')).toHaveProperty('pingTime');
    expect(world.leaseSpec()).toEqual({});
    world.renew('default/a');
    await world.clock.advance(100);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'a' });
  });
});

describe('after a conflict (rule 8)', () => {
  test('the decision waits for the event that explains it, and follows at once', async () => {
    const world = await makeWorld();
    world.create('leases', makeLeaseObject('', 0, { leaseDurationSeconds: 1 }));
    await world.clock.advance(0);
    world.watchDelayMs = 1000;
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: 0 }));
    await world.clock.advance(990);
    world.change('leases', KEY, { leaseTransitions: 7 });
    await world.clock.advance(10);
    expect(world.ourWriteLines).toEqual([`PATCH leases ${KEY} 409`]);
    await world.clock.advance(989);
    expect(world.decisions).toHaveLength(1);
    await world.clock.advance(1);
    expect(world.ourWriteLines).toEqual([`PATCH leases ${KEY} 409`, `PATCH leases ${KEY} 200`]);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'a', leaseTransitions: 8 });
  });

  test('a second conflict is followed by a backoff', async () => {
    const world = await makeWorld();
    // Each time that we are about to write, another client has just written.
    let touches = 0;
    world.fate = (request) => {
      if (isLeaseWrite(request)) world.change('leases', KEY, { leaseTransitions: ++touches });
      return {};
    };
    world.create('leases', makeLeaseObject('', 0, { leaseDurationSeconds: 1 }));
    makeFreshCandidate(world);
    await world.clock.advance(3000);
    const times = world.ourWrites.filter(({ status }) => status === 409).map(({ at }) => at);
    expect(times.slice(0, 2)).toEqual([0, 0]);
    // Seven or eight such delays fit into three seconds.
    expect([9, 10]).toContain(times.length);
    expectDoublingGaps(times.slice(1), 20);
  });

  test('about the creation of a Lease that exists by now, the next decision uses the existing one', async () => {
    const world = await makeWorld();
    world.watchDelayMs = 500;
    makeFreshCandidate(world);
    await world.clock.advance(400);
    world.create('leases', makeLeaseObject('somebody', 400));
    await world.clock.advance(100);
    expect(world.ourWriteLines).toEqual([`POST leases ${KEY} 409`]);
    await world.clock.advance(400);
    world.watchDelayMs = 0;
    await world.clock.advance(10_000);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'somebody' });
  });
});

describe('a write without an answer', () => {
  test('is repeated, with a resourceVersion that makes this safe', async () => {
    const world = await makeWorld();
    const { metadata } = world.create('leases', makeLeaseObject('', 0, { leaseDurationSeconds: 1 }));
    const { uid, resourceVersion } = metadata;
    let lost = 2;
    const sent: unknown[] = [];
    world.fate = (request) => {
      if (!isLeaseWrite(request)) {
        // The server may have applied the first attempt, and its candidate may lead, so it is pinged.
        if (request.method === 'PATCH') world.clock.setTimer(() => world.renew('default/a'), 1);
        return {};
      }
      sent.push((request.body as KubernetesObject).metadata);
      return lost-- > 0 ? { outcome: 'dropped' } : {};
    };
    makeFreshCandidate(world);
    await world.clock.advance(4000);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: '' });
    await world.clock.advance(1000);
    world.renew('default/a');
    await world.clock.advance(8000);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'a' });
    const based = { uid, resourceVersion };
    expect(sent.slice(0, 3)).toEqual([based, based, based]);
  });

  test('that was executed is found by the watch', async () => {
    const world = await makeWorld();
    world.fate = (request) => (isLeaseWrite(request) ? { outcome: 'lost' } : {});
    makeFreshCandidate(world);
    await world.clock.advance(8000);
    expect(world.ourWriteLines.filter((line) => line.includes(' leases '))).toEqual([
      `POST leases ${KEY} 201`,
    ]);
    expect(world.decisions.slice(0, 2)).toEqual([`${KEY} LeaseMissing`, `${KEY} LeaderOptimal`]);
    expect(world.decisions.slice(2)).not.toContain(`${KEY} LeaseMissing`);
  });

  test('without a connection was not executed: another candidate may be elected next', async () => {
    const world = await makeWorld();
    world.fate = (request) => {
      if (isLeaseWrite(request)) world.api.isDown = true;
      return {};
    };
    makeFreshCandidate(world);
    await world.clock.advance(50);
    world.fate = () => ({});
    world.api.isDown = false;
    world.remove('leasecandidates', 'default/a');
    world.create('leasecandidates', makeCandidateObject('b', { renewedAt: world.clock.now() }));
    await world.clock.advance(3000);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'b' });
  });

  test('is repeated less and less often while a server refuses it', async () => {
    const world = await makeWorld();
    const times: number[] = [];
    world.fate = (request) => {
      if (!isLeaseWrite(request)) {
        // It is unknown whether the Lease was created, so its candidate is pinged.
        if (request.method === 'PATCH') world.clock.setTimer(() => world.renew('default/a'), 1);
        return {};
      }
      times.push(world.clock.now());
      return { outcome: 500 };
    };
    world.clock.setTimer(function renew() {
      world.renew('default/a');
      world.clock.setTimer(renew, 1000);
    }, 1000);
    makeFreshCandidate(world);
    await world.clock.advance(30_000);
    // News of the candidate, which renews every second, does not speed up the next attempt.
    expect(times.length).toBeGreaterThan(10);
    expectDoublingGaps(times, 20);
    world.fate = () => ({});
    await world.clock.advance(30_000);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'a' });
  });
});

describe('a release soon after a grant by expiry (rule 8)', () => {
  /**
   * client-go's release empties the Lease whoever holds it, since 0.34: here `b` leads by now, and `a` releases
   * without knowing.
   */
  async function makeDoubtfulRelease(world: ControllerWorld, grant: () => void): Promise<void> {
    world.create('leases', makeLeaseObject('a', 0));
    world.create('leasecandidates', makeCandidateObject('b', { renewedAt: 0 }));
    world.create('leasecandidates', makeCandidateObject('c', { renewedAt: 0, version: '1.37.0' }));
    await world.start();
    await world.clock.advance(14_990);
    world.renew('default/b');
    world.renew('default/c');
    await world.clock.advance(10);
    grant();
    await world.clock.advance(100);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'b' });
    world.change('leases', KEY, { renewTime: world.wallText, leaseDurationSeconds: 15 });
    await world.clock.advance(100);
    world.release(KEY);
    world.renew('default/c');
  }

  test('does not take the Lease from its new holder, although the answer to the grant was lost', async () => {
    const world = new ControllerWorld();
    const isGrant = ({ body }: ApiRequest) => JSON.stringify(body ?? {}).includes('holderIdentity');
    world.fate = (request) => (isGrant(request) ? { outcome: 'lost' } : {});
    await makeDoubtfulRelease(world, () => {});
    await world.clock.advance(5000);
    world.fate = () => ({});
    world.renew('default/c');
    await world.clock.advance(5000);
    expect(world.leaseSpec()['holderIdentity']).not.toBe('c');
  });

  test('does not take the Lease from its new holder, although another coordinator had granted it', async () => {
    const world = new ControllerWorld();
    world.mayWrite = false;
    await makeDoubtfulRelease(world, () => {
      world.change('leases', KEY, {
        holderIdentity: 'b',
        renewTime: world.wallText,
        acquireTime: world.wallText,
      });
    });
    world.mayWrite = true;
    world.controller.takeOver();
    await world.clock.advance(5000);
    world.renew('default/c');
    await world.clock.advance(5000);
    expect(world.leaseSpec()['holderIdentity']).not.toBe('c');
  });
});

describe('a ping', () => {
  test('that was refused because of a conflict counts as not sent: it is repeated', async () => {
    const world = await makeWorld();
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: -60_000 }));
    // Between the decision and the ping, the candidate changes without renewing.
    let isFirst = true;
    world.fate = (request) => {
      if (isPing(request) && isFirst) {
        isFirst = false;
        world.change('leasecandidates', 'default/a', { note: 'changed' });
      }
      return {};
    };
    await world.clock.advance(0);
    expect(world.ourWriteLines).toEqual([
      'PATCH leasecandidates default/a 409',
      'PATCH leasecandidates default/a 200',
    ]);
  });

  test('that failed does not count against the candidate', async () => {
    const world = await makeWorld();
    let failures = 3;
    world.fate = (request) => (isPing(request) && failures-- > 0 ? { outcome: 500 } : {});
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: -60_000 }));
    await world.clock.advance(1000);
    world.renew('default/a');
    await world.clock.advance(0);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'a' });
  });

  test('that is always refused does not keep another candidate from being elected', async () => {
    const world = await makeWorld();
    // A candidate that a newer server's validation makes immutable.
    world.fate = (request) => (isPing(request) && request.path.endsWith('/old') ? { outcome: 422 } : {});
    world.create('leasecandidates', makeCandidateObject('old', { renewedAt: -60_000, version: '1.30.0' }));
    world.create('leasecandidates', makeCandidateObject('b', { renewedAt: 0 }));
    for (let second = 0; second < 20; second++) {
      await world.clock.advance(1000);
      if (world.candidateSpec('default/b')['pingTime'] !== undefined) world.renew('default/b');
    }
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'b' });
  });

  test('that fails does not keep a simultaneous grant from being reported', async () => {
    const world = new ControllerWorld();
    world.fate = (request) => (isPing(request) ? { outcome: 500 } : {});
    // Half its validity is over, so it is pinged; but it cannot lead.
    world.create('leasecandidates', makeCandidateObject('b', { renewedAt: -16 * 60_000, version: '1.37.0' }));
    makeFreshCandidate(world);
    await world.start();
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'a' });
    expect(world.applied).toEqual([`${KEY} LeaseMissing`]);
  });
});

describe('a cache that differs from the server', () => {
  test('is detected by a write, and corrected, although the watch never shows the change', async () => {
    const world = new ControllerWorld();
    world.create('leasecandidates', makeCandidateObject('holder', { renewedAt: 0, version: '1.20.0' }));
    world.create('leasecandidates', makeCandidateObject('lost', { renewedAt: -60_000, version: '1.30.0' }));
    world.create('leases', makeLeaseObject('holder', 0, { leaseDurationSeconds: 600 }));
    await world.start();
    await world.clock.advance(120_000);
    world.api.store.lose('leasecandidates', 'default/lost');
    world.remove('leasecandidates', 'default/holder');
    world.release(KEY);
    makeFreshCandidate(world);
    for (let second = 0; second < 20; second++) {
      await world.clock.advance(1000);
      world.renew('default/a');
    }
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'a' });
    expect(
      world.ourRequests.filter((request) =>
        request.endsWith('GET /apis/coordination.k8s.io/v1beta1/leasecandidates'),
      ),
    ).toHaveLength(2);
  });
});

describe('a deletion', () => {
  test('that is always refused neither delays an election nor keeps it from being reported', async () => {
    const world = new ControllerWorld();
    const asked: number[] = [];
    world.fate = ({ method }) => {
      if (method !== 'DELETE') return {};
      asked.push(world.clock.now());
      return { outcome: 403 };
    };
    world.create('leasecandidates', makeCandidateObject('dead', { renewedAt: -3 * 3_600_000 }));
    world.create('leases', makeLeaseObject('gone', 0, { leaseDurationSeconds: 900 }));
    await world.start();
    await world.clock.advance(605_000);
    expect(asked).toEqual([605_000]);
    world.release(KEY);
    makeFreshCandidate(world);
    await world.clock.advance(0);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'a' });
    expect(world.applied).toContain(`${KEY} LeaseReleased`);
    for (let second = 0; second < 12 * 60; second++) {
      world.renewLease(KEY);
      await world.clock.advance(1000);
    }
    expect(asked).toEqual([605_000, 1_205_000]);
  });
});

describe('the permission to write (rule 10)', () => {
  test('is checked again before each single write', async () => {
    const world = new ControllerWorld();
    for (const name of ['a', 'b', 'c']) {
      world.create('leasecandidates', makeCandidateObject(name, { renewedAt: -60_000 }));
    }
    world.mayWrite = false;
    await world.start();
    world.mayWrite = true;
    let asked = 0;
    world.onMayWrite = () => {
      asked++;
      // Lost after the first ping: the check with the decision comes before it.
      if (asked > 2) world.mayWrite = false;
    };
    world.takeLock();
    await world.clock.advance(60_000);
    expect(world.ourWrites).toHaveLength(1);
    expect(asked).toBeGreaterThanOrEqual(3);
  });

  test('that was lost leaves unsent actions unrecorded: all are sent after the lock is back', async () => {
    const world = await makeWorld();
    let asked = 0;
    world.onMayWrite = () => {
      world.mayWrite = ++asked !== 2;
    };
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: -60_000 }));
    await world.clock.advance(0);
    expect(world.ourWrites).toEqual([]);
    await world.clock.advance(1000);
    expect(world.ourWriteLines).toEqual(['PATCH leasecandidates default/a 200']);
  });
});

describe('a forgotten Lease', () => {
  test('is reported without the lock, too', async () => {
    const world = await makeWorld();
    makeFreshCandidate(world);
    await world.clock.advance(0);
    world.mayWrite = false;
    world.remove('leasecandidates', 'default/a');
    world.remove('leases', KEY);
    await world.clock.advance(0);
    expect(world.told).toContain(`forgotten ${KEY}`);
  });

  test('is reported when the Lease and its candidates are deleted', async () => {
    const world = await makeWorld();
    makeFreshCandidate(world);
    await world.clock.advance(0);
    world.remove('leasecandidates', 'default/a');
    await world.clock.advance(0);
    expect(world.told).not.toContain(`forgotten ${KEY}`);
    world.remove('leases', KEY);
    await world.clock.advance(0);
    expect(world.told).toContain(`forgotten ${KEY}`);
  });
});
