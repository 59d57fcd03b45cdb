import { describe, expect, test } from 'vitest';
import { CoordinatorLock } from '../../../src/controller/lock/coordinator-lock.ts';
import type { LockEvent, LockState } from '../../../src/controller/lock/lock-settings.ts';
import { SimProcess } from '../../simulation/sim-process.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { type SimFate, SimLockServer } from './sim-lock-server.ts';

const A = 'coordinated-leader-election_a_1';
const B = 'coordinated-leader-election_b_2';
const BUILT_IN = 'apiserver-x';

interface LockOverrides {
  readonly identity?: string;
  readonly takeOver?: boolean;
  readonly canCoordinate?: () => boolean;
  readonly hasWatch?: boolean;
  readonly watchDelayMs?: number;
  readonly fate?: () => SimFate;
  /** The lock's clock; default: the world's. */
  readonly process?: SimProcess;
}

function makeWorld() {
  const clock = new VirtualClock({ random: () => 0 });
  const server = new SimLockServer();
  const makeLock = (overrides: LockOverrides = {}) => {
    const {
      identity = A,
      takeOver = false,
      hasWatch = true,
      canCoordinate,
      process,
      ...connection
    } = overrides;
    const states: LockState[] = [];
    const events: LockEvent[] = [];
    const lock = new CoordinatorLock({
      clock: process ?? clock,
      storage: server.connect({ clock, ...(process && { caller: process }), ...connection }, hasWatch),
      identity,
      takeOver,
      ...(canCoordinate && { canCoordinate }),
      onChange: (state) => states.push(state),
      onEvent: (event) => events.push(event),
    });
    return { lock, states, events, kinds: () => states.map(({ kind }) => kind) };
  };
  return { clock, server, makeLock };
}

/** A foreign holder that renews every two seconds without reading. */
function keepRenewing(server: SimLockServer, clock: VirtualClock, leaseDurationSeconds = 15): () => void {
  let count = 0;
  let stop = () => {};
  const renew = () => {
    if (count > 0 && server.spec['holderIdentity'] !== BUILT_IN) return;
    server.put({ holderIdentity: BUILT_IN, leaseDurationSeconds, renewTime: `r${count++}` });
    stop = clock.setTimer(renew, 2000);
  };
  renew();
  return () => stop();
}

describe('a lock that was set back by a backup of the storage (rule 10)', () => {
  const backup = { leaseDurationSeconds: 15, leaseTransitions: 4 };

  test('that becomes ours again is used only after its later holder knows, or must know', async () => {
    const { clock, server, makeLock } = makeWorld();
    server.put({ ...backup, holderIdentity: B, leaseTransitions: 5, renewTime: 'since' });
    const { lock } = makeLock({ hasWatch: false });
    lock.start();
    await clock.advance(5000);
    server.restore({ ...backup, holderIdentity: A, renewTime: 'before' });
    await clock.advance(15_900);
    expect(server.spec['holderIdentity']).toBe(A);
    expect(lock.isActive()).toBe(false);
    await clock.advance(2000);
    expect(lock.isActive()).toBe(true);
  });
});

describe('a lock that we hold, and that a backup of the storage shows in an earlier term of ours (rule 10)', () => {
  const backup = { holderIdentity: A, leaseDurationSeconds: 15, leaseTransitions: 4, renewTime: 'before' };
  async function makeActive(hasWatch: boolean) {
    const { clock, server, makeLock } = makeWorld();
    server.put({ leaseDurationSeconds: 1, holderIdentity: '', leaseTransitions: 5 });
    let answerMs = 0;
    const { lock } = makeLock({ hasWatch, fate: () => ({ answerMs }) });
    lock.start();
    await clock.advance(0);
    expect(lock.isActive()).toBe(true);
    answerMs = 500;
    return { clock, server, lock };
  }

  test('is not used from the moment at which the watch shows it', async () => {
    const { clock, server, lock } = await makeActive(true);
    server.put(backup);
    await clock.advance(0);
    expect(lock.isActive()).toBe(false);
    await clock.advance(14_999);
    expect(lock.isActive()).toBe(false);
    await clock.advance(3000);
    expect(lock.isActive()).toBe(true);
  });

  test('is not used from the moment at which a read shows it, although the answer to the next claim is late', async () => {
    const { clock, server, lock } = await makeActive(false);
    server.restore(backup);
    // The renewal gets a conflict after 0.5 s, and the read that follows is answered 0.5 s later.
    await clock.advance(3001);
    expect(lock.isActive()).toBe(false);
    await clock.advance(14_900);
    expect(lock.isActive()).toBe(false);
    await clock.advance(3000);
    expect(lock.isActive()).toBe(true);
  });
});

describe('a free lock (rule 10)', () => {
  test('is claimed at once if there is no Lease', async () => {
    const { clock, server, makeLock } = makeWorld();
    const { lock, states } = makeLock();
    lock.start();
    await clock.advance(0);
    expect(lock.isActive()).toBe(true);
    expect(states).toEqual([{ kind: 'active', holder: A, since: 0 }]);
    expect(server.lease).toMatchObject({
      metadata: { namespace: 'kube-system', name: 'leader-election-controller' },
      spec: { holderIdentity: A, leaseDurationSeconds: 15, leaseTransitions: 0 },
    });
  });

  test('is claimed at once if the Lease has no holder', async () => {
    const { clock, server, makeLock } = makeWorld();
    server.put({ holderIdentity: '', leaseDurationSeconds: 1, leaseTransitions: 4 }, { future: 'kept' });
    const { lock } = makeLock();
    lock.start();
    await clock.advance(0);
    expect(lock.isActive()).toBe(true);
    expect(server.lease).toMatchObject({ future: 'kept', spec: { holderIdentity: A, leaseTransitions: 5 } });
  });

  test.each([
    { whose: 'nobody', holderIdentity: '', leaseDurationSeconds: 1 },
    { whose: 'the built-in controller', holderIdentity: BUILT_IN, leaseDurationSeconds: 3600 },
    { whose: 'a replica that is gone', holderIdentity: B, leaseDurationSeconds: 15 },
  ])('of $whose is not claimed before that is allowed, and then at once', async ({ whose: _, ...record }) => {
    const { clock, server, makeLock } = makeWorld();
    server.put({ ...record, renewTime: 'r' });
    let canCoordinate = false;
    const { lock } = makeLock({ takeOver: true, canCoordinate: () => canCoordinate });
    lock.start();
    await clock.advance(60_000);
    expect(server.spec).toMatchObject(record);
    canCoordinate = true;
    lock.reconsider();
    await clock.advance(0);
    expect(server.spec['holderIdentity']).toBe(A);
  });

  test('is released by a holder that could not elect for ten seconds', async () => {
    const { clock, server, makeLock } = makeWorld();
    let canCoordinate = true;
    const { lock, kinds, events } = makeLock({ canCoordinate: () => canCoordinate });
    lock.start();
    await clock.advance(0);
    canCoordinate = false;
    await clock.advance(11_900);
    expect(lock.isActive()).toBe(true);
    // The event that it has just received can cause a write.
    await clock.advance(3000);
    expect(kinds()).toEqual(['active', 'standby']);
    expect(server.spec['holderIdentity']).toBe(A);
    await clock.advance(1000);
    expect(server.spec).toMatchObject({ holderIdentity: '', leaseDurationSeconds: 1, leaseTransitions: 0 });
    const other = makeLock({ identity: B });
    other.lock.start();
    await clock.advance(60_000);
    expect(other.lock.isActive()).toBe(true);
    expect(events).toEqual([{ kind: 'letGo' }]);
  });

  test('is released at once if no write was recent', async () => {
    const { clock, server, makeLock } = makeWorld();
    let canCoordinate = true;
    const { lock } = makeLock({ canCoordinate: () => canCoordinate });
    const other = makeLock({ identity: B });
    lock.start();
    await clock.advance(0);
    other.lock.start();
    canCoordinate = false;
    await clock.advance(12_000);
    expect(server.spec['holderIdentity']).toBe(B);
    expect(other.kinds()).toEqual(['standby', 'active']);
  });

  test('is left alone without a write while no replica can elect', async () => {
    const { clock, server, makeLock } = makeWorld();
    let canCoordinate = true;
    const locks = [A, B].map((identity) => makeLock({ identity, canCoordinate: () => canCoordinate }));
    for (const { lock } of locks) lock.start();
    await clock.advance(0);
    canCoordinate = false;
    await clock.advance(20_000);
    server.requests.length = 0;
    await clock.advance(600_000);
    expect(server.requests.filter((request) => request !== 'get')).toEqual([]);
    expect(locks.map(({ lock }) => lock.state)).toEqual([
      { kind: 'standby', since: expect.any(Number) },
      { kind: 'standby', since: expect.any(Number) },
    ]);
  });

  test.each([
    { when: 'before it is let go', ms: 11_000, kinds: ['active'] },
    { when: 'while the last write ends', ms: 14_000, kinds: ['active', 'standby', 'active'] },
  ])('is kept if the replica can elect again $when', async ({ ms, kinds: want }) => {
    const { clock, server, makeLock } = makeWorld();
    let canCoordinate = true;
    const { lock, kinds } = makeLock({ canCoordinate: () => canCoordinate });
    lock.start();
    await clock.advance(0);
    canCoordinate = false;
    await clock.advance(11_000);
    lock.isActive();
    await clock.advance(ms - 11_000);
    canCoordinate = true;
    lock.reconsider();
    await clock.advance(60_000);
    expect(kinds()).toEqual(want);
    expect(server.spec).toMatchObject({ holderIdentity: A, leaseTransitions: 0 });
  });

  test('that was taken by force is not released before the former holder has stopped', async () => {
    const { clock, server, makeLock } = makeWorld();
    server.put({ holderIdentity: BUILT_IN, leaseDurationSeconds: 30, renewTime: 'r' });
    let canCoordinate = true;
    const { lock, kinds } = makeLock({ takeOver: true, canCoordinate: () => canCoordinate });
    lock.start();
    await clock.advance(0);
    canCoordinate = false;
    await clock.advance(29_000);
    expect(server.spec['holderIdentity']).toBe(A);
    await clock.advance(10_000);
    expect(server.spec).toMatchObject({ holderIdentity: '', leaseDurationSeconds: 1 });
    expect(kinds()).toContain('settling');
  });

  test('goes to one of two replicas that claim it at once', async () => {
    const { clock, makeLock } = makeWorld();
    const locks = [makeLock(), makeLock({ identity: B })];
    for (const { lock } of locks) lock.start();
    await clock.advance(5000);
    expect(locks.map(({ lock }) => lock.state.kind)).toEqual(['active', 'standby']);
  });
});

describe('a holder (rule 10)', () => {
  test('renews every two seconds with one request, without further reports', async () => {
    const { clock, server, makeLock } = makeWorld();
    const { lock, states } = makeLock();
    lock.start();
    await clock.advance(60_000);
    expect(server.requests).toEqual(['get', 'create', ...Array.from({ length: 30 }, () => 'update')]);
    expect(states).toHaveLength(1);
  });

  test('steps down ten seconds after it sent its last successful renewal, and reports that at the time', async () => {
    const { clock, makeLock } = makeWorld();
    let fate: SimFate = {};
    const { lock, states } = makeLock({ fate: () => fate });
    lock.start();
    await clock.advance(3000);
    fate = { outcome: 'dropped' };
    await clock.advance(8999);
    expect(lock.isActive()).toBe(true);
    await clock.advance(1);
    expect(lock.isActive()).toBe(false);
    expect(states.at(-1)).toEqual({ kind: 'standby', holder: A, since: 12_000 });
  });

  test('that could not act for a moment reports it, even if a renewal ends that before a timer fires', async () => {
    const { clock, makeLock } = makeWorld();
    const process = new SimProcess(clock);
    let fate: SimFate = {};
    const { lock, kinds } = makeLock({ process, fate: () => fate });
    lock.start();
    await clock.advance(1999);
    fate = { answerMs: 8100 };
    await clock.advance(1);
    // It is suspended. After that, network events are handled before overdue timers.
    process.pause(8200);
    await clock.advance(8050);
    expect(lock.isActive()).toBe(false);
    await clock.advance(50);
    expect(lock.isActive()).toBe(true);
    // A refused replica reads the lock again after this event.
    expect(kinds()).toEqual(['active', 'standby', 'active']);
  });

  test('counts a slow renewal from when it was sent', async () => {
    const { clock, makeLock } = makeWorld();
    let fate: SimFate = { answerMs: 2500 };
    const { lock } = makeLock({ fate: () => fate });
    lock.start();
    await clock.runUntil(() => lock.isActive());
    expect(clock.now()).toBe(5000);
    fate = { outcome: 'refused' };
    await clock.runUntil(() => !lock.isActive());
    expect(clock.now()).toBe(12_500);
  });

  test('continues if the server comes back in time', async () => {
    const { clock, makeLock } = makeWorld();
    let fate: SimFate = {};
    const { lock, kinds, events } = makeLock({ fate: () => fate });
    lock.start();
    await clock.advance(1000);
    fate = { outcome: 'refused' };
    await clock.advance(6000);
    fate = {};
    await clock.advance(60_000);
    expect(kinds()).toEqual(['active']);
    expect(events.map(({ kind }) => kind)).toEqual(['callFailed', 'callFailed', 'callFailed']);
  });

  test('continues after an outage beyond the deadline, if no other replica has claimed the lock', async () => {
    const { clock, makeLock } = makeWorld();
    let fate: SimFate = {};
    const { lock, kinds } = makeLock({ fate: () => fate });
    lock.start();
    await clock.advance(1000);
    fate = { outcome: 'dropped' };
    await clock.advance(60_000);
    fate = {};
    await clock.advance(5000);
    expect(kinds()).toEqual(['active', 'standby', 'active']);
  });

  test('ignores an unrelated change of its Lease', async () => {
    const { clock, server, makeLock } = makeWorld();
    const { lock, kinds } = makeLock({ hasWatch: false });
    lock.start();
    await clock.advance(1000);
    server.put({ ...server.spec, strategy: 'x' });
    await clock.advance(10_000);
    expect(kinds()).toEqual(['active']);
    expect(server.spec['strategy']).toBe('x');
  });

  test.each([
    {
      name: 'by a sibling',
      spec: { holderIdentity: B, leaseDurationSeconds: 15, renewTime: 'r' },
      want: 'standby',
    },
    {
      name: 'by another',
      spec: { holderIdentity: BUILT_IN, leaseDurationSeconds: 15, renewTime: 'r' },
      want: 'waiting',
    },
  ])('stops the moment it sees its Lease overwritten $name', async ({ spec, want }) => {
    const { clock, server, makeLock } = makeWorld();
    const { lock, events } = makeLock();
    lock.start();
    await clock.advance(2500);
    server.put(spec);
    await clock.advance(0);
    expect(lock.isActive()).toBe(false);
    expect(lock.state).toEqual({ kind: want, holder: spec.holderIdentity, since: 2500 });
    // Without take-over, this replica never claims by force, so there is no delay for it.
    expect(events).toEqual([{ kind: 'ousted', by: spec.holderIdentity }]);
  });

  test('reports when it will take the lock from a foreign holder again, with take-over', async () => {
    const { clock, server, makeLock } = makeWorld();
    const { lock, events } = makeLock({ takeOver: true });
    lock.start();
    await clock.advance(2500);
    server.put({ holderIdentity: BUILT_IN, leaseDurationSeconds: 15, renewTime: 'r' });
    await clock.advance(0);
    expect(events).toEqual([{ kind: 'ousted', by: BUILT_IN, forceAgainInMs: 15_000 }]);
  });

  test('stops at its next renewal without a watch', async () => {
    const { clock, server, makeLock } = makeWorld();
    const { lock } = makeLock({ hasWatch: false });
    lock.start();
    await clock.advance(2500);
    server.put({ holderIdentity: B, leaseDurationSeconds: 15, renewTime: 'r' });
    await clock.advance(1500);
    expect(lock.isActive()).toBe(false);
    expect(server.spec['holderIdentity']).toBe(B);
  });

  test('ignores the late answer to a renewal of a Lease that was overwritten since', async () => {
    const { clock, server, makeLock } = makeWorld();
    let fate: SimFate = {};
    const { lock } = makeLock({ fate: () => fate });
    lock.start();
    await clock.advance(1000);
    fate = { answerMs: 1000 };
    await clock.advance(1500);
    server.put({ holderIdentity: B, leaseDurationSeconds: 15, renewTime: 'r' });
    await clock.advance(10);
    expect(lock.isActive()).toBe(false);
    await clock.advance(10_000);
    expect(lock.state).toMatchObject({ kind: 'standby', holder: B, since: 2500 });
  });

  test('ignores a watch that is behind', async () => {
    const { clock, server, makeLock } = makeWorld();
    server.put({ holderIdentity: '', leaseDurationSeconds: 1 });
    const { lock, kinds } = makeLock({ watchDelayMs: 3500 });
    lock.start();
    server.put({ holderIdentity: '', leaseDurationSeconds: 1, renewTime: 'later' });
    await clock.advance(30_000);
    expect(kinds()).toEqual(['active']);
  });

  test('takes its deleted Lease back at once, and acts when no other replica can', async () => {
    const { clock, server, makeLock } = makeWorld();
    const { lock, kinds } = makeLock();
    lock.start();
    await clock.advance(1000);
    server.remove();
    await clock.advance(10);
    expect(kinds()).toEqual(['active', 'standby', 'settling']);
    expect(server.spec['holderIdentity']).toBe(A);
    await clock.advance(15_000);
    expect(lock.isActive()).toBe(true);
  });
});

describe('a standby (rule 10)', () => {
  test('takes over from a crashed holder that has been silent for its whole duration', async () => {
    const { clock, makeLock } = makeWorld();
    let fate: SimFate = {};
    const first = makeLock({ fate: () => fate });
    const second = makeLock({ identity: B });
    first.lock.start();
    await clock.advance(100);
    second.lock.start();
    await clock.advance(4000);
    fate = { outcome: 'dropped' };
    await clock.runUntil(() => second.lock.isActive());
    // The last renewal was at 4,000.
    expect(clock.now()).toBe(19_000);
    expect(second.kinds()).toEqual(['standby', 'active']);
  });

  test('takes over at once, through its watch, when the holder stops', async () => {
    const { clock, server, makeLock } = makeWorld();
    const first = makeLock();
    const second = makeLock({ identity: B, watchDelayMs: 5 });
    first.lock.start();
    await clock.advance(1000);
    second.lock.start();
    await clock.advance(100);
    const stopped = first.lock.stop();
    expect(first.lock.isActive()).toBe(false);
    await clock.advance(5);
    await stopped;
    expect(second.lock.isActive()).toBe(true);
    expect(server.spec).toMatchObject({ holderIdentity: B, leaseTransitions: 1 });
  });

  test('takes over within a retry period without a watch', async () => {
    const { clock, makeLock } = makeWorld();
    const first = makeLock();
    const second = makeLock({ identity: B, hasWatch: false });
    first.lock.start();
    await clock.advance(1000);
    second.lock.start();
    await clock.advance(100);
    void first.lock.stop();
    await clock.advance(2000);
    expect(second.lock.isActive()).toBe(true);
  });

  test('claims the deleted Lease of its holder, but acts only when the holder must have noticed', async () => {
    const { clock, server, makeLock } = makeWorld();
    server.put({ holderIdentity: B, leaseDurationSeconds: 15, renewTime: 'r' });
    const { lock, states } = makeLock();
    lock.start();
    await clock.advance(1000);
    server.remove();
    await clock.advance(20_000);
    expect(states).toMatchObject([
      { kind: 'standby', holder: B },
      { kind: 'standby', since: 1000 },
      { kind: 'settling', since: 1000, activeAt: 16_000 },
      { kind: 'active', since: 16_000 },
    ]);
  });
});

describe('the built-in controller (rule 10)', () => {
  test('is waited for, with one report, if it is not to be replaced', async () => {
    const { clock, server, makeLock } = makeWorld();
    keepRenewing(server, clock);
    const { lock, states, events } = makeLock();
    lock.start();
    await clock.advance(120_000);
    expect(states).toEqual([{ kind: 'waiting', holder: BUILT_IN, since: 0 }]);
    expect(events).toEqual([]);
  });

  test('is replaced at once when it has let its Lease expire', async () => {
    const { clock, server, makeLock } = makeWorld();
    const crash = keepRenewing(server, clock);
    const { lock, kinds } = makeLock();
    lock.start();
    await clock.advance(5000);
    crash();
    await clock.runUntil(() => lock.isActive());
    expect(clock.now()).toBe(19_000);
    expect(kinds()).toEqual(['waiting', 'active']);
  });

  test.each([
    { name: 'our own duration', foundSeconds: 5, wantActiveAt: 15_000 },
    { name: 'the duration found', foundSeconds: 40, wantActiveAt: 40_000 },
  ])('is replaced by force at once, but may act for $name', async ({ foundSeconds, wantActiveAt }) => {
    const { clock, server, makeLock } = makeWorld();
    keepRenewing(server, clock, foundSeconds);
    const { lock, states, events } = makeLock({ takeOver: true });
    lock.start();
    await clock.advance(0);
    // If we crashed now, a sibling would have to wait for the former holder just as long.
    expect(server.spec).toMatchObject({ holderIdentity: A, leaseDurationSeconds: wantActiveAt / 1000 });
    await clock.advance(wantActiveAt - 1);
    expect(server.spec).toMatchObject({ holderIdentity: A, leaseDurationSeconds: 15 });
    expect(lock.isActive()).toBe(false);
    await clock.advance(1);
    expect(lock.isActive()).toBe(true);
    expect(states).toEqual([
      { kind: 'settling', holder: A, since: 0, activeAt: wantActiveAt },
      { kind: 'active', holder: A, since: wantActiveAt },
    ]);
    expect(events).toEqual([{ kind: 'claimedByForce', from: BUILT_IN }]);
  });

  test('is waited for as long, although the claim seems to be refused', async () => {
    const { clock, server, makeLock } = makeWorld();
    keepRenewing(server, clock);
    // A proxy sends the request twice. The second one is refused, and that answer arrives.
    let isClaimed = false;
    const { lock } = makeLock({
      takeOver: true,
      hasWatch: false,
      fate: () => {
        const isAgain = !isClaimed && server.requests.length === 1;
        isClaimed ||= isAgain;
        return isAgain ? { outcome: 'twice' } : {};
      },
    });
    lock.start();
    await clock.advance(14_999);
    expect(isClaimed).toBe(true);
    expect(server.spec['holderIdentity']).toBe(A);
    expect(lock.isActive()).toBe(false);
    await clock.advance(1);
    expect(lock.isActive()).toBe(true);
  });

  test('that takes the lock by force loses it again, but less and less often', async () => {
    const { clock, server, makeLock } = makeWorld();
    const forcedAt: number[] = [];
    const { lock, states, events } = makeLock({ takeOver: true });
    keepRenewing(server, clock);
    lock.start();
    let count = 0;
    // It claims by force as well, right after each of our claims.
    for (let elapsed = 0; elapsed < 600_000; elapsed += 500) {
      await clock.advance(500);
      const forced = events.filter(({ kind }) => kind === 'claimedByForce').length;
      if (forced > forcedAt.length) forcedAt.push(clock.now());
      const spec = { holderIdentity: BUILT_IN, leaseDurationSeconds: 15, renewTime: `again ${count++}` };
      server.put(spec);
    }
    const gaps = forcedAt.slice(1).map((at, index) => at - (forcedAt[index] ?? 0));
    expect(gaps.length).toBeGreaterThan(3);
    for (const [index, gap] of gaps.entries()) {
      expect(gap).toBeGreaterThanOrEqual(Math.min(15_000 * 2 ** index, 240_000));
      expect(gap).toBeLessThanOrEqual(480_000);
    }
    expect(states.every(({ kind }) => kind !== 'active')).toBe(true);
  });

  test('that lost the lock is remembered if the answer to the claim is lost', async () => {
    const { clock, server, makeLock } = makeWorld();
    keepRenewing(server, clock);
    let requests = 0;
    const { lock } = makeLock({
      takeOver: true,
      hasWatch: false,
      fate: () => (++requests === 2 ? { outcome: 'lost' } : {}),
    });
    lock.start();
    await clock.advance(14_999);
    expect(lock.state.kind).toBe('settling');
    await clock.advance(1);
    expect(lock.isActive()).toBe(true);
  });

  test('that released before the claim arrived is not waited for', async () => {
    const { clock, server, makeLock } = makeWorld();
    server.put({ holderIdentity: BUILT_IN, leaseDurationSeconds: 15, renewTime: 'r' });
    const { lock, kinds } = makeLock({ takeOver: true, hasWatch: false, fate: () => ({ requestMs: 100 }) });
    lock.start();
    await clock.advance(150);
    server.put({ holderIdentity: '', leaseDurationSeconds: 1, renewTime: 's' });
    await clock.advance(1000);
    expect(kinds()).toEqual(['active']);
  });
});

describe('stopping (rule 10)', () => {
  test('releases the Lease as client-go does, after it is inactive', async () => {
    const { clock, server, makeLock } = makeWorld();
    const seen: boolean[] = [];
    const { lock } = makeLock({
      fate: () => {
        seen.push(lock.isActive());
        return {};
      },
    });
    lock.start();
    await clock.advance(2000);
    const before = seen.length;
    await lock.stop();
    expect(seen.slice(before)).toEqual([false]);
    expect(server.spec).toEqual({
      holderIdentity: '',
      leaseDurationSeconds: 1,
      acquireTime: '2026-01-01T00:00:02.000001Z',
      renewTime: '2026-01-01T00:00:02.000001Z',
      leaseTransitions: 0,
    });
    expect(lock.state).toEqual({ kind: 'standby', since: 2000 });
    expect(clock.pendingTimers).toBe(0);
  });

  test.each([
    { name: 'is still ours', spec: { label: 'x' }, want: '' },
    { name: 'has become another’s', spec: { holderIdentity: B }, want: B },
  ])('reads again if the Lease has changed, and leaves or empties it if it $name', async ({ spec, want }) => {
    const { clock, server, makeLock } = makeWorld();
    const { lock } = makeLock({ hasWatch: false });
    lock.start();
    await clock.advance(1000);
    server.put({ ...server.spec, ...spec });
    await lock.stop();
    expect(server.spec['holderIdentity']).toBe(want);
  });

  test('gives up if the server does not answer, and lets the Lease expire', async () => {
    const { clock, server, makeLock } = makeWorld();
    let fate: SimFate = {};
    const { lock, events } = makeLock({ fate: () => fate });
    lock.start();
    await clock.advance(1000);
    fate = { outcome: 'dropped' };
    const stopped = lock.stop();
    await clock.advance(3000);
    await stopped;
    expect(server.spec['holderIdentity']).toBe(A);
    expect(events).toMatchObject([{ kind: 'callFailed', call: 'update' }]);
    expect(clock.pendingTimers).toBe(0);
  });

  test('during a claim releases the claimed Lease', async () => {
    const { clock, server, makeLock } = makeWorld();
    const { lock, kinds } = makeLock({ fate: () => ({ answerMs: 100 }) });
    lock.start();
    await clock.advance(150);
    expect(server.spec['holderIdentity']).toBe(A);
    const stopped = lock.stop();
    await clock.advance(1000);
    await stopped;
    expect(server.spec['holderIdentity']).toBe('');
    expect(kinds()).not.toContain('active');
  });

  test('while settling lets the Lease expire at the time from which the former holder cannot act', async () => {
    const { clock, server, makeLock } = makeWorld();
    keepRenewing(server, clock);
    const { lock } = makeLock({ takeOver: true });
    const { lock: next } = makeLock({ takeOver: true, identity: B });
    lock.start();
    await clock.advance(5400);
    next.start();
    await lock.stop();
    expect(server.spec).toMatchObject({ holderIdentity: A, leaseDurationSeconds: 10 });
    await clock.runUntil(() => next.isActive());
    expect(clock.now()).toBe(15_400);
  });

  test('does not write another holder’s Lease', async () => {
    const { clock, server, makeLock } = makeWorld();
    keepRenewing(server, clock);
    const { lock } = makeLock();
    lock.start();
    await clock.advance(1000);
    await Promise.all([lock.stop(), lock.stop()]);
    lock.start();
    await clock.advance(1000);
    expect(server.requests).toEqual(['get']);
  });

  test('before it was started does nothing', async () => {
    const { server, makeLock } = makeWorld();
    await makeLock().lock.stop();
    expect(server.requests).toEqual([]);
  });
});
