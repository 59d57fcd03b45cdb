import { describe, expect, test } from 'vitest';
import type { PodContainer } from '../../src/election/holder-binding.ts';
import { explore } from './explore.ts';
import { modelOf } from './model.ts';
import { Sink, shape } from './normalize.ts';
import { type Rules, realRules } from './rules.ts';
import type { Scenario } from './scenario.ts';
import { transcriptOf } from './transcript.ts';
import { TICK_MS } from './world.ts';

const sleeper: Scenario = {
  name: 'sleeper',
  about: 'the leader is paused; another leads once its Lease has expired',
  programs: [
    { name: 'a', kind: 'clientGo' },
    { name: 'b', kind: 'clientGo' },
  ],
  coordinators: 1,
  start: 'led',
  faults: { sleeps: 1 },
};

function explored(scenario: Scenario, wrong: Partial<Rules> = {}, maxStates?: number) {
  const model = modelOf(scenario, { ...realRules, ...wrong });
  return explore(model, maxStates === undefined ? {} : { maxStates });
}

describe('the explorer', () => {
  test('finds no violation of the rules when a leader is paused, and explores all states', () => {
    const { violation, isWhole, states } = explored(sleeper);
    expect({ violation, isWhole }).toEqual({ violation: undefined, isWhole: true });
    expect(states).toBeGreaterThan(200);
  });

  test('finds a Lease that is given away one tick too early', () => {
    const { violation } = explored(sleeper, {
      seeLease: (known, lease, now) => {
        const leaseDurationSeconds = (lease?.leaseDurationSeconds ?? 0) - TICK_MS / 1000;
        const seen = realRules.seeLease(known, lease && { ...lease, leaseDurationSeconds }, now);
        return { ...seen, lease };
      },
    });
    expect(violation?.text).toBe('the Lease is given to b while a leads');
    expect(transcriptOf(violation?.path ?? [])).toMatch(/^tick 0 {2}a falls asleep .*\ntick 1 .*\n/);
  });

  test('finds a coordinator that writes without a precondition', () => {
    const blind: Partial<Rules> = { isOutdated: () => false };
    const { violation } = explored({ ...sleeper, faults: { gaps: 1, sleeps: 1, lags: 1 } }, blind);
    expect(violation?.text).toBe('the Lease is given to b while a leads');
  });

  test('finds a coordinator that forgets the holder of a deleted Lease', () => {
    const { violation } = explored(
      { ...sleeper, faults: { deletions: 1, sleeps: 1 } },
      {
        seeLease: (known, lease, now) => {
          const seen = realRules.seeLease(known, lease, now);
          return lease ? seen : { ...seen, memory: { ...seen.memory, beliefs: [] } };
        },
      },
    );
    expect(violation?.text).toMatch(/the Lease is given to [ab] while [ab] leads/);
  });

  describe('with a kubelet (rule 17)', () => {
    /** Far from all states: a report may come at any time. */
    const MAX_STATES = 20_000;
    const faults = { crashes: 1, falseEnds: 1, sleeps: 1 };
    const housed: Scenario = { ...sleeper, hasKubelet: true, isAtomic: true, faults };
    /** Decides with the reported containers as changed by `change`. */
    const deciding = (change: (container: PodContainer) => PodContainer): Partial<Rules> => ({
      decide: (known, now) => {
        const pods = known.holderPods?.pods.map(({ pod, ...seen }) => ({
          ...seen,
          pod: { ...pod, containers: pod.containers.map(change) },
        }));
        return realRules.decide(pods ? { ...known, holderPods: { pods } } : known, now);
      },
    });

    test('finds no violation of the rules, and sees Leases that are given away before they expire', () => {
      let grants = 0;
      const counting: Partial<Rules> = {
        decide: (known, now) => {
          const decision = realRules.decide(known, now);
          if (decision.reason === 'HolderEnded') grants++;
          return decision;
        },
      };
      expect(explored(housed, counting, MAX_STATES).violation).toBeUndefined();
      expect(grants).toBeGreaterThan(0);
    });

    test('finds a coordinator that trusts an invented end', () => {
      const believing = deciding((container) => ({
        ...container,
        ended: container.ended.map((end) => ({ ...end, reason: 'Error' })),
      }));
      expect(explored(housed, believing, MAX_STATES).violation?.text).toBe(
        'the Lease is given to b while a leads',
      );
    });

    test('finds a coordinator that treats the end of an earlier run as the holder’s', () => {
      const mistaken = deciding((container) => ({
        ...container,
        running: undefined,
        ended: container.ended.map((end) => ({ ...end, finishedAt: 1n << 62n })),
      }));
      const scenario = { ...housed, faults: { crashes: 1, sleeps: 1 } };
      expect(explored(scenario, mistaken, MAX_STATES).violation?.text).toBe(
        'the Lease is given to b while a leads',
      );
    });
  });

  test('explores the same states each time', () => {
    const faults = { deletions: 1, crashes: 1 };
    const [first, second] = [explored({ ...sleeper, faults }), explored({ ...sleeper, faults })];
    expect([second.states, second.transitions, second.depth]).toEqual([
      first.states,
      first.transitions,
      first.depth,
    ]);
  });

  test('fails if a state has an undeclared field', () => {
    const sink = new Sink();
    sink.begin(0, 0);
    const kind = shape({ known: (value: number, sink: Sink) => sink.put(value) });
    expect(() => kind({ known: 1, unknown: 2 }, sink)).toThrow('the field unknown has no kind');
  });
});
