import { beforeEach, describe, expect, test } from 'vitest';
import { ElectionRecords } from '../../src/controller/election-records.ts';
import { Reconciler } from '../../src/controller/reconcile.ts';
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

/** A reconciler that has one request at a time under way, and looks at a Lease only when it is told to. */
class TurnsWorld {
  readonly clock = new VirtualClock();
  readonly records = new ElectionRecords(defaultSettings);
  /** What was sent, in order. */
  readonly sent: string[] = [];
  /** The reasons of what was decided about the Lease that is waiting. */
  readonly decided: string[] = [];
  readonly reconciler: Reconciler;
  readonly #answers: (() => void)[] = [];

  constructor() {
    const { clock, records } = this;
    this.reconciler = new Reconciler({
      ...{ clock, records, settings: defaultSettings, maxInFlight: 1 },
      relist: () => {},
      mayWrite: () => true,
      writer: {
        write: (_namespace, name, action) => {
          this.sent.push(`${name}: ${describeActions([action])}`);
          return new Promise((resolve) => this.#answers.push(() => resolve(undefined)));
        },
      },
      observer: {
        decided: (key, { reason }) => {
          if (key === KEY) this.decided.push(reason);
        },
        heldBack: () => {},
        written: () => {},
        applied: () => {},
        forgotten: () => {},
      },
      requeue: () => {},
    });
  }

  see(candidate: CandidateBuilder): void {
    this.records.seeCandidate(candidate.build(), makeNow(this.clock.now()));
  }

  /** Another Lease takes the one place that there is. */
  async becomeBusy(): Promise<void> {
    this.see(makeCandidate('other').with({ leaseName: 'busy' }).renewedAt(-60_000));
    this.reconciler.reconcile(BUSY);
    await this.clock.advance(0);
    expect(this.sent.splice(0)).toEqual(['busy: ping other (election)']);
  }

  /** The request that is under way is answered, and whoever waits has its turn. */
  async answer(): Promise<void> {
    this.#answers.shift()?.();
    await this.clock.advance(0);
  }
}

let world: TurnsWorld;

beforeEach(async () => {
  world = new TurnsWorld();
  await world.becomeBusy();
});

describe('what a Lease waits to have written (rule 9)', () => {
  test('is written when its turn comes soon, as it was decided', async () => {
    world.see(makeCandidate('a').renewedAt(0));
    await world.clock.advance(4990);
    world.reconciler.reconcile(KEY);
    // Meanwhile a has ceased to be fresh, by the fraction of a second that does not matter.
    await world.clock.advance(249);
    expect(world.sent).toEqual([]);
    await world.answer();
    expect(world.sent).toEqual([`scheduler: create the Lease for a, ${OLDEST}`]);
    expect(world.decided).toEqual(['LeaseMissing']);
  });

  test('is decided anew when something was seen to change meanwhile, though nobody has looked since', async () => {
    world.see(makeCandidate('a').renewedAt(0));
    world.reconciler.reconcile(KEY);
    world.see(makeCandidate('better').emulating('1.30.0').renewedAt(0));
    world.reconciler.outdate(KEY);
    await world.answer();
    expect(world.sent).toEqual([`scheduler: create the Lease for better, ${OLDEST}`]);
  });

  test('is decided anew when it has waited for long: what it was decided on may not hold any more', async () => {
    world.see(makeCandidate('a').renewedAt(0));
    await world.clock.advance(4990);
    world.reconciler.reconcile(KEY);
    await world.clock.advance(250);
    await world.answer();
    // By now a is fresh no longer.
    expect(world.sent).toEqual(['scheduler: ping a (election)']);
    expect(world.decided).toEqual(['AwaitingAcks']);
  });

  test('is for those who have had no leader for longest first, and last for whoever was silent before', async () => {
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
    for (const { name } of leases) world.reconciler.reconcile(`kube-system/${name}`);
    for (const _ of leases) await world.answer();
    expect(world.sent).toEqual([
      'first: ping of-first (election)',
      'second: ping of-second (election)',
      'silent: ping of-silent (revival)',
    ]);
  });

  test('is for a Lease that was led before ahead of those that never were, unless they have waited for ten seconds', async () => {
    const reconcile = (name: string) => {
      world.see(makeCandidate(`of-${name}`).with({ leaseName: name }).renewedAt(-60_000));
      world.reconciler.reconcile(`kube-system/${name}`);
    };
    for (const [name, seconds] of [
      ['led', 9],
      ['led-later', 11],
    ] as const) {
      const lease = makeLease('gone').lasting(seconds).with({ name, uid: name }).build();
      world.records.seeLease(`kube-system/${name}`, lease, makeNow(0));
    }
    reconcile('new');
    await world.clock.advance(12_000);
    reconcile('led-later');
    reconcile('led');
    for (let count = 0; count < 3; count++) await world.answer();
    expect(world.sent).toEqual(
      ['led', 'new', 'led-later'].map((name) => `${name}: ping of-${name} (election)`),
    );
  });

  test('is dropped when nobody needs it any more', async () => {
    world.see(makeCandidate('a').renewedAt(0));
    world.reconciler.reconcile(KEY);
    expect(world.reconciler.writes.isWaiting(KEY)).toBe(true);
    world.records.seeLease(KEY, makeLease('a').build(), makeNow(0));
    world.reconciler.reconcile(KEY);
    expect(world.reconciler.writes.isWaiting(KEY)).toBe(false);
    await world.answer();
    expect(world.sent).toEqual([]);
    expect(world.decided).toEqual(['LeaderOptimal']);
  });
});
