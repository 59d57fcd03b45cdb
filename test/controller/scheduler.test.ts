import { beforeEach, describe, expect, test } from 'vitest';
import { ElectionRecords } from '../../src/controller/election-records.ts';
import { Scheduler } from '../../src/controller/scheduler.ts';
import {
  type CandidateBuilder,
  defaultSettings,
  makeCandidate,
  makeLease,
  makeNow,
  OLDEST,
} from '../support/election-builders.ts';
import { describeActions } from '../support/sim-election.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const KEY = 'kube-system/scheduler';
const BUSY = 'kube-system/busy';

/** A scheduler with one request in flight at a time. The test provides all events. */
class SchedulerWorld {
  readonly clock = new VirtualClock({ random: () => 1 });
  readonly records = new ElectionRecords(defaultSettings);
  /** The sent requests, in order. */
  readonly sent: string[] = [];
  /** The reasons of the decisions about the Lease, and the times of actions. */
  readonly decided: string[] = [];
  /** Like `sending vacant 30`, `heldBack` or `decisionFailed`. */
  readonly told: string[] = [];
  /** Called before each decision. */
  onDecision = () => {};
  readonly scheduler: Scheduler;
  readonly #answers: (() => void)[] = [];

  constructor() {
    const { clock, records } = this;
    this.scheduler = new Scheduler({
      ...{ clock, records, maxInFlight: 1 },
      relist: () => {},
      isCached: () => true,
      mayWrite: () => {
        this.onDecision();
        return true;
      },
      write: (_namespace, name, action) => {
        this.sent.push(`${name}: ${describeActions([action])}`);
        return new Promise((resolve) => this.#answers.push(() => resolve(undefined)));
      },
      observe: (event) => {
        if (event.type === 'decided' && event.key === KEY) this.decided.push(event.decision.reason);
        if (event.type === 'sending') this.told.push(`sending ${event.urgency} ${event.waitedMs}`);
        if (event.type === 'heldBack' || event.type === 'decisionFailed') this.told.push(event.type);
      },
    });
  }

  /** The Lease has changed. */
  async add(key = KEY): Promise<void> {
    this.scheduler.add(key);
    await this.clock.advance(0);
  }

  see(candidate: CandidateBuilder): void {
    this.records.seeCandidate(candidate.build(), makeNow(this.clock.now()));
  }

  /** Another Lease takes the only slot. */
  async becomeBusy(): Promise<void> {
    this.see(makeCandidate('other').with({ leaseName: 'busy' }).renewedAt(-60_000));
    await this.add(BUSY);
    expect(this.sent.splice(0)).toEqual(['busy: ping other (election)']);
  }

  /** The request in flight is answered, and the waiting Lease has its turn. */
  async answer(): Promise<void> {
    this.#answers.shift()?.();
    await this.clock.advance(0);
  }
}

let world: SchedulerWorld;

beforeEach(async () => {
  world = new SchedulerWorld();
  await world.becomeBusy();
});

describe('the turn of a Lease (rule 9)', () => {
  test('is written with its decision if its turn comes soon', async () => {
    world.see(makeCandidate('a').renewedAt(0));
    await world.clock.advance(4990);
    await world.add();
    // In the meantime, a is not fresh any more, by an irrelevant fraction of a second.
    await world.clock.advance(249);
    expect(world.sent).toEqual([]);
    await world.answer();
    expect(world.sent).toEqual([`scheduler: create the Lease for a, ${OLDEST}`]);
    expect(world.decided).toEqual(['LeaseMissing']);
  });

  test('is decided again if a change has made it due in the meantime', async () => {
    world.see(makeCandidate('a').renewedAt(0));
    await world.add();
    world.see(makeCandidate('better').emulating('1.30.0').renewedAt(0));
    world.scheduler.add(KEY);
    await world.answer();
    expect(world.sent).toEqual([`scheduler: create the Lease for better, ${OLDEST}`]);
  });

  test('is decided again if a change came after its budget was spent, even before it has budget again', async () => {
    world.see(makeCandidate('a').renewedAt(0));
    for (let change = 0; change < 1001; change++) await world.add();
    world.see(makeCandidate('better').emulating('1.30.0').renewedAt(0));
    await world.add();
    expect(world.told).toContain('heldBack');
    await world.answer();
    expect(world.sent).toEqual([`scheduler: create the Lease for better, ${OLDEST}`]);
  });

  test('is decided again if it has waited for long: its decision may be outdated', async () => {
    world.see(makeCandidate('a').renewedAt(0));
    await world.clock.advance(4990);
    await world.add();
    await world.clock.advance(250);
    await world.answer();
    // By now a is not fresh any more.
    expect(world.sent).toEqual(['scheduler: ping a (election)']);
    expect(world.decided).toEqual(['AwaitingAcks']);
  });

  test('comes first if it has had no leader for longest, and last for pings to silent candidates', async () => {
    const leases = [
      { name: 'silent', seconds: 5, heardAt: -3_000_000 },
      { name: 'second', seconds: 15, heardAt: -60_000 },
      { name: 'first', seconds: 10, heardAt: -60_000 },
    ];
    for (const { name, seconds, heardAt } of leases) {
      const lease = makeLease('gone').lasting(seconds).with({ name, uid: name }).build();
      world.records.seeLease(`kube-system/${name}`, lease, makeNow(0));
      world.see(makeCandidate(`of-${name}`).with({ leaseName: name }).renewedAt(heardAt));
    }
    await world.clock.advance(20_000);
    for (const { name } of leases) await world.add(`kube-system/${name}`);
    for (const _ of leases) await world.answer();
    expect(world.sent).toEqual([
      'first: ping of-first (election)',
      'second: ping of-second (election)',
      'silent: ping of-silent (revival)',
    ]);
  });

  test('comes first for a Lease that had a leader, unless a Lease without a former leader has waited for ten seconds', async () => {
    const reconcile = async (name: string) => {
      world.see(makeCandidate(`of-${name}`).with({ leaseName: name }).renewedAt(-60_000));
      await world.add(`kube-system/${name}`);
    };
    for (const [name, seconds] of [
      ['led', 9],
      ['led-later', 11],
    ] as const) {
      const lease = makeLease('gone').lasting(seconds).with({ name, uid: name }).build();
      world.records.seeLease(`kube-system/${name}`, lease, makeNow(0));
    }
    await reconcile('new');
    await world.clock.advance(12_000);
    await reconcile('led-later');
    await reconcile('led');
    for (let count = 0; count < 3; count++) await world.answer();
    expect(world.sent).toEqual(
      ['led', 'new', 'led-later'].map((name) => `${name}: ping of-${name} (election)`),
    );
  });

  test('is dropped if it is not needed any more', async () => {
    world.see(makeCandidate('a').renewedAt(0));
    await world.add();
    expect(world.scheduler.room.waiting().grant).toBe(1);
    world.records.seeLease(KEY, makeLease('a').build(), makeNow(0));
    await world.add();
    expect(world.scheduler.room.waiting().grant).toBe(0);
    await world.answer();
    expect(world.sent).toEqual([]);
    expect(world.decided).toEqual(['LeaderOptimal']);
  });
});

describe('a due Lease', () => {
  test('is decided once, after all simultaneous events', async () => {
    world.records.seeLease(KEY, makeLease('a').build(), makeNow(0));
    world.scheduler.add(KEY);
    world.see(makeCandidate('a').renewedAt(0));
    world.scheduler.add(KEY);
    expect([world.scheduler.depth, world.decided]).toEqual([1, []]);
    await world.clock.advance(0);
    expect([world.scheduler.depth, world.decided]).toEqual([0, ['LeaderOptimal']]);
  });

  test('is decided again at the time of its last decision, but not after it is deleted', async () => {
    world = new SchedulerWorld();
    world.records.seeLease(KEY, makeLease('a').lasting(15).build(), makeNow(0));
    world.see(makeCandidate('a').renewedAt(0));
    await world.add();
    await world.clock.advance(11_999);
    expect(world.decided).toEqual(['LeaderOptimal']);
    await world.clock.advance(1);
    expect(world.decided).toHaveLength(2);
    world.records.seeLease(KEY, undefined, makeNow(12_000));
    world.records.dropCandidate(makeCandidate('a').build(), makeNow(12_000));
    expect(world.scheduler.forgetIfGone(KEY)).toBe(true);
    await world.clock.advance(60_000);
    expect(world.decided).toHaveLength(2);
  });

  test('is decided again with a backoff that doubles from 5 ms if its decision throws', async () => {
    world.see(makeCandidate('a').renewedAt(0));
    const at: number[] = [];
    world.onDecision = () => {
      at.push(world.clock.now());
      if (at.length <= 4) throw new Error('refused');
    };
    await world.add();
    await world.clock.advance(1000);
    expect(at.slice(0, 5)).toEqual([0, 5, 15, 35, 75]);
    expect(world.told.filter((what) => what === 'decisionFailed')).toHaveLength(4);
  });

  test('reports how long it waited for a slot, whatever was decided in the meantime', async () => {
    world.see(makeCandidate('a').renewedAt(0));
    await world.add();
    await world.clock.advance(3000);
    await world.add();
    await world.clock.advance(1000);
    world.told.length = 0;
    await world.answer();
    expect(world.told).toEqual(['sending grant 4000']);
  });
});

describe('a Lease that a client changes all the time', () => {
  test.each([
    { candidates: 3, wantAtOnce: 1000, wantPerSecond: 1000 },
    { candidates: 10, wantAtOnce: 1000, wantPerSecond: 1000 },
    { candidates: 100, wantAtOnce: 100, wantPerSecond: 100 },
    { candidates: 1000, wantAtOnce: 10, wantPerSecond: 10 },
  ])('is decided less often, the more candidates it has: $candidates', async (row) => {
    const { candidates, wantAtOnce, wantPerSecond } = row;
    world.records.seeLease(KEY, makeLease('c0').lasting(3600).build(), makeNow(0));
    for (let index = 0; index < candidates; index++) world.see(makeCandidate(`c${index}`).renewedAt(0));
    /** Returns the number of decisions for this many changes at the same moment. */
    const decisionsWithin = async (changes: number) => {
      world.decided.length = 0;
      for (let change = 0; change < changes; change++) await world.add();
      return world.decided.length;
    };
    expect(await decisionsWithin(wantAtOnce + 10)).toBe(wantAtOnce + 1);
    expect(world.told).toContain('heldBack');
    world.decided.length = 0;
    for (let ms = 0; ms < 1000; ms++) {
      world.scheduler.add(KEY);
      await world.clock.advance(1);
    }
    expect(world.decided.length).toBeGreaterThanOrEqual(0.9 * wantPerSecond);
    expect(world.decided.length).toBeLessThanOrEqual(wantPerSecond + 1);
    await world.clock.advance(10_000);
    expect(await decisionsWithin(wantAtOnce)).toBeGreaterThanOrEqual(wantAtOnce);
  });
});

describe('a closed scheduler', () => {
  test('sends nothing more, and is done when the last request is answered', async () => {
    world.see(makeCandidate('a').renewedAt(0));
    await world.add();
    let isOver = false;
    const closing = world.scheduler.close().then(() => {
      isOver = true;
    });
    await world.add();
    expect(isOver).toBe(false);
    await world.answer();
    await closing;
    await world.clock.advance(60_000);
    expect(world.sent).toEqual([]);
    expect(world.clock.pendingTimers).toBe(0);
  });

  test('is done at once when no request is in flight', async () => {
    await expect(new SchedulerWorld().scheduler.close()).resolves.toBeUndefined();
  });
});
