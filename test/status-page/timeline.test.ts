import { beforeEach, describe, expect, test } from 'vitest';
import { decideElection } from '../../src/election/decide.ts';
import type { Decision } from '../../src/election/decision.ts';
import type { ElectionInput } from '../../src/election/view.ts';
import { createTimeline } from '../../src/status-page/timeline.ts';
import {
  type InputBuilder,
  makeCandidate,
  makeInput,
  makeLease,
  makeNow,
} from '../support/election-builders.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const KEY = 'kube-system/scheduler';

const older = makeCandidate('older').versions('1.35.0');
const newer = makeCandidate('newer').versions('1.36.0', '1.35.0');
const dissenter = makeCandidate('dissenter').versions('1.36.0').wants('example.com/other');

let clock: VirtualClock;
let timeline: ReturnType<typeof createTimeline>;

beforeEach(() => {
  clock = new VirtualClock();
  timeline = createTimeline(clock);
});

/** A decision is made and its writes succeed. */
function elect(builder: InputBuilder, at = 1000): void {
  const { input, decision } = decide(builder, at);
  timeline.decided(KEY, decision, input);
  timeline.applied({ key: KEY, decision, input, lease: undefined });
}

function decide(builder: InputBuilder, at: number): { input: ElectionInput; decision: Decision } {
  const input = builder.build();
  return { input, decision: decideElection(input, makeNow(at)) };
}

const vacant = makeInput().candidates(older.seenAt(0).renewedAt(900), newer.seenAt(0).renewedAt(900));
const optimal = makeInput().sees(makeLease('older'), 0).candidates(older.seenAt(0), newer.seenAt(0));
const conflict = makeInput()
  .sees(makeLease('newer'), 0)
  .candidates(newer.seenAt(0), dissenter.seenAt(0).renewedAt(900));

describe('the timeline', () => {
  test('contains who was elected, when, why, and why not the others', () => {
    elect(vacant);
    expect(timeline.after(0)).toEqual([
      {
        id: 1,
        at: Number(clock.wallTime() / 1000n),
        key: KEY,
        what: 'LeaderElected',
        isWarning: false,
        text: 'older leads under OldestEmulationVersion: LeaseMissing',
        passedOver: [{ name: 'newer', lostBy: 'HigherBinaryVersion', binary: '1.36.0', emulation: '1.35.0' }],
        more: 0,
      },
    ]);
  });

  test('omits decisions without changes', () => {
    elect(optimal);
    expect(timeline.after(0)).toEqual([]);
  });

  test('contains a conflict when it begins, once, and when it is over', () => {
    elect(conflict);
    elect(conflict, 1500);
    elect(makeInput().sees(makeLease('newer'), 0).candidates(newer.seenAt(0)), 2000);
    expect(timeline.after(0).map(({ what, isWarning }) => [what, isWarning])).toEqual([
      ['StrategyConflict', true],
      ['StrategyResolved', false],
    ]);
  });

  test('contains a problem again when it begins again', () => {
    elect(conflict);
    elect(makeInput().sees(makeLease('newer'), 0).candidates(newer.seenAt(0)), 2000);
    elect(conflict, 3000);
    expect(timeline.after(0).map(({ what }) => what)).toEqual([
      'StrategyConflict',
      'StrategyResolved',
      'StrategyConflict',
    ]);
  });

  test('contains a problem again after its Lease was forgotten', () => {
    elect(conflict);
    timeline.forgotten(KEY);
    elect(conflict);
    expect(timeline.after(0)).toHaveLength(2);
  });

  test('omits failed writes', () => {
    const { input, decision } = decide(vacant, 1000);
    timeline.decided(KEY, decision, input);
    expect(timeline.after(0)).toEqual([]);
  });

  test('returns the entries after a known one', () => {
    elect(vacant);
    elect(vacant);
    elect(vacant);
    expect(timeline.after(1).map(({ id }) => id)).toEqual([2, 3]);
    expect(timeline.after(3)).toEqual([]);
  });

  test('keeps 200 entries, and ten candidates of each', () => {
    const many = Array.from({ length: 14 }, (_, at) =>
      makeCandidate(`c${at}`).versions(`1.36.${at}`).seenAt(0).renewedAt(900),
    );
    for (let count = 0; count < 203; count++) elect(makeInput().candidates(...many));
    expect(timeline.after(0).map(({ id }) => id)).toEqual(Array.from({ length: 200 }, (_, at) => at + 4));
    const [{ passedOver, more } = {}] = timeline.after(202);
    expect([passedOver?.length, passedOver?.[0]?.name, more]).toEqual([9, 'c1', 4]);
  });
});
