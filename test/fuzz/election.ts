import fc from 'fast-check';
import { expect } from 'vitest';
import { decodeLease } from '../../src/coordination/lease.ts';
import { decodeLeaseCandidate } from '../../src/coordination/lease-candidate.ts';
import { formatMicroTime } from '../../src/coordination/micro-time.ts';
import {
  observeCandidate,
  recordPing,
  recordPingDelivered,
} from '../../src/election/candidate-observation.ts';
import { decideElection } from '../../src/election/decide.ts';
import { REASONS } from '../../src/election/decision.ts';
import { noMemory } from '../../src/election/lease-memory.ts';
import { observeLease } from '../../src/election/observe-lease.ts';
import type { ElectionInput, ObservedCandidate } from '../../src/election/view.ts';
import { isKubernetesObject, type KubernetesObject } from '../../src/kubernetes/objects.ts';
import { defaultSettings, makeNow } from '../support/election-builders.ts';
import { type FuzzTarget, pureTarget } from './fuzz-target.ts';
import { wildCandidate, wildLease, wildText } from './wild-values.ts';

const instant = fc.oneof(fc.integer({ min: 0, max: 60_000 }), fc.integer({ min: 0, max: 4 * 3_600_000 }));
const purpose = fc.constantFrom(
  'election' as const,
  'preemption' as const,
  'validity' as const,
  'collection' as const,
);

/** The observed states of a candidate, in order. */
const sightings = fc.array(
  fc.record({ object: wildCandidate, at: instant, ping: fc.option(purpose, { nil: undefined }) }),
  {
    minLength: 1,
    maxLength: 3,
  },
);

const situation = fc.record({
  leases: fc.array(fc.record({ object: fc.option(wildLease, { nil: undefined }), at: instant }), {
    maxLength: 4,
  }),
  candidates: fc.array(sightings, { maxLength: 5 }),
  name: fc.oneof(fc.constantFrom('a', 'b', 'c'), wildText),
  wallJumpMs: fc.integer({ min: -1e12, max: 1e12 }),
  settings: fc.constantFrom(defaultSettings, {
    ...defaultSettings,
    leaseDurationSeconds: 1,
    electionDurationMs: 100,
  }),
});

function inputOf({ leases, candidates, name, wallJumpMs, settings }: Sample): {
  input: ElectionInput;
  at: number;
} {
  let memory = noMemory;
  let lease: ElectionInput['lease'];
  let last = 0;
  const inTime = <T extends { readonly at: number }>(list: readonly T[]) =>
    list.toSorted((a, b) => a.at - b.at);
  for (const { object, at } of inTime(leases)) {
    const seen = readable(object);
    lease = seen && { ...decodeLease(seen), name };
    memory = observeLease(memory, lease, makeNow(at, wallJumpMs), settings);
    last = Math.max(last, at);
  }
  const observed = candidates.flatMap((states, index): ObservedCandidate[] => {
    let now: ObservedCandidate | undefined;
    for (const { object, at, ping } of inTime(states)) {
      const seen = readable(object);
      if (seen === undefined) continue;
      const candidate = { ...decodeLeaseCandidate(seen), leaseName: name, name: `c${index}` };
      let observation = observeCandidate(now?.observation, candidate, makeNow(at, wallJumpMs), settings);
      if (ping) observation = recordPingDelivered(recordPing(observation, ping, at, settings), at, at + 5);
      now = { candidate, observation };
      last = Math.max(last, at + 5);
    }
    return now ? [now] : [];
  });
  return { input: { namespace: 'default', name, lease, memory, candidates: observed, settings }, at: last };
}

type Sample = typeof situation extends fc.Arbitrary<infer T> ? T : never;

function readable(object: unknown): KubernetesObject | undefined {
  return isKubernetesObject(object) ? object : undefined;
}

export const electionTarget: FuzzTarget = pureTarget(
  'decideElection',
  600,
  fc.property(situation, fc.integer({ min: 0, max: 3 * 3_600_000 }), (sample, later) => {
    const { input, at } = inputOf(sample);
    const now = makeNow(at + later, sample.wallJumpMs);
    const decision = decideElection(input, now);
    expect(decideElection(input, now)).toEqual(decision);
    expect(Object.keys(REASONS)).toContain(decision.reason);
    const { requeue } = decision;
    if (requeue.kind === 'at') {
      expect(Number.isFinite(requeue.time)).toBe(true);
      expect(requeue.time).toBeGreaterThan(now.monotonic);
    }
    for (const action of decision.actions) {
      if (action.kind === 'PingCandidate') {
        expect(formatMicroTime(action.pingTime)).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
      }
      if (action.kind === 'UpdateLease' && action.change.kind === 'grant') {
        expect(Number.isInteger(action.change.leaseTransitions)).toBe(true);
        expect(action.change.leaseTransitions).toBeLessThan(2 ** 31);
        expect(action.change.leaseTransitions).toBeGreaterThanOrEqual(0);
      }
    }
  }),
);
