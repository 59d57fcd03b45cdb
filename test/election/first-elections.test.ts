import { describe, expect, test } from 'vitest';
import { decideElection } from '../../src/election/decide.ts';
import { grantOf } from '../../src/election/decision.ts';
import { type Grant, noMemory, recordGrant } from '../../src/election/lease-memory.ts';
import {
  type InputBuilder,
  makeCandidate,
  makeInput,
  makeLease,
  makeNow,
  wallAt,
} from '../support/election-builders.ts';

/** A candidate that is created and seen at `at`. */
const appearing = (name: string, at: number, emulation = '1.36.0') =>
  makeCandidate(name).emulating(emulation).createdAt(at).renewedAt(at).seenAt(at);

const settling = makeInput().settings({ settleMs: 1000 });

const decidedAt = (input: InputBuilder, at: number) => {
  const decision = decideElection(input.build(), makeNow(at));
  return { reason: decision.reason, holder: grantOf(decision)?.holder, requeue: decision.requeue };
};

describe('the first election of a Lease settles (rule 6)', () => {
  const one = settling.candidates(appearing('a', 0));
  const three = one.candidates(appearing('b', 60), appearing('best', 120, '1.30.0'));

  test('until no candidate has appeared for 7.5 % of the time', () => {
    expect(decidedAt(one, 50)).toEqual({
      reason: 'FirstElectionSettling',
      holder: undefined,
      requeue: { kind: 'at', time: 75 },
    });
    expect(decidedAt(one, 75).holder).toBe('a');
    expect(decidedAt(three, 194).holder).toBeUndefined();
    expect(decidedAt(three, 195).holder).toBe('best');
  });

  test('for at most the whole time, even if candidates keep appearing', () => {
    const many = Array.from({ length: 20 }, (_, index) => appearing(`c${index}`, index * 50));
    const input = settling.candidates(...many);
    expect(decidedAt(input, 999).holder).toBeUndefined();
    expect(decidedAt(input, 1000).reason).toBe('LeaseMissing');
    expect(decidedAt(input, 1000).holder).toBe('c0');
  });

  test('not for candidates that existed long before they were first seen', () => {
    const old = makeCandidate('old').createdAt(-60_000).renewedAt(0).seenAt(0);
    expect(decidedAt(settling.candidates(old), 0).holder).toBe('old');
  });

  test('not if the Lease was held before', () => {
    const gone = settling.sees(makeLease('x'), -60_000).sees(makeLease().releasedAt(-50_000), -50_000);
    expect(decidedAt(gone.sees(undefined, -40_000).candidates(appearing('a', 0)), 0).holder).toBe('a');
  });

  test('not if the Lease was granted before, although this process never saw it', () => {
    const grant: Grant = {
      ...{ holder: 'x', renewTime: wallAt(-60_000), leaseDurationSeconds: 10, former: undefined },
      ...{ hasFormerLapsed: false, revises: undefined, isPreemption: false },
    };
    const gone = settling.remembers(recordGrant(noMemory, grant, '1', -60_000)).sees(undefined, -50_000);
    expect(decidedAt(gone.candidates(appearing('a', 0)), 0).holder).toBe('a');
  });

  test('not at all, if the setting is 0', () => {
    expect(decidedAt(makeInput().candidates(appearing('a', 0)), 0).holder).toBe('a');
    const atOnce = makeInput().settings({ settleMs: 0 }).candidates(appearing('a', 0));
    expect(decidedAt(atOnce, 0).holder).toBe('a');
  });
});
