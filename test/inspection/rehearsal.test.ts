import { describe, expect, test } from 'vitest';
import { type Change, rehearse } from '../../src/inspection/rehearsal.ts';
import { makeCandidate, makeInput, makeLease, makeNow } from '../support/election-builders.ts';

const old = makeCandidate('old').versions('1.36.0', '1.35.0');
const young = makeCandidate('young').versions('1.36.0', '1.36.0');
/** Held by an older candidate than `young`, which renewed at instant 0. */
const led = makeInput()
  .sees(makeLease('old').with({ acquireTime: undefined }).lasting(15), 0)
  .candidates(old.seenAt(0), young.seenAt(0));
const add = (candidate: typeof old): Change => ({ kind: 'add', candidate: candidate.build() });

describe('a rehearsal', () => {
  test.each<{ name: string; input: typeof led; changes: Change[]; wantHolder: string; wantSteps: RegExp[] }>([
    { name: 'nothing changes', input: led, changes: [], wantHolder: 'old', wantSteps: [] },
    {
      name: 'the leader crashes',
      input: led,
      changes: [{ kind: 'crash', name: 'old' }],
      wantHolder: 'young',
      wantSteps: [
        /^0 old crashes/,
        /^12 old is pinged.*does not answer HolderLate/,
        /^12 young is pinged.* HolderLate/,
        /^15 young is given the Lease LeaseExpired/,
        /young leads/,
      ],
    },
    {
      name: 'the leader is stopped',
      input: led,
      changes: [{ kind: 'remove', name: 'old' }],
      wantHolder: 'young',
      wantSteps: [
        /^0 old is stopped and releases/,
        /^0 young is pinged/,
        /^0.05 young is given the Lease LeaseReleased/,
        /young leads/,
      ],
    },
    {
      name: 'a better candidate appears',
      input: led,
      changes: [add(makeCandidate('older').versions('1.36.0', '1.34.0'))],
      wantHolder: 'older',
      wantSteps: [
        /^0 older appears with binary 1.36.0, emulation 1.34.0/,
        /older is pinged/,
        /older becomes preferredHolder BetterCandidate/,
        /^2 old stops renewing/,
        /^15 older is given the Lease LeaseExpired/,
        /older leads/,
      ],
    },
    {
      name: 'a worse candidate appears',
      input: led,
      changes: [add(makeCandidate('newest').versions('1.37.0'))],
      wantHolder: 'old',
      wantSteps: [/newest appears/],
    },
    {
      name: 'a candidate as good as the leader appears',
      input: led,
      changes: [add(makeCandidate('equal').versions('1.36.0', '1.35.0'))],
      wantHolder: 'old',
      wantSteps: [/equal appears/],
    },
    {
      name: 'the last candidate is stopped',
      input: makeInput()
        .sees(makeLease('old').with({ acquireTime: undefined }), 0)
        .candidates(old.seenAt(0)),
      changes: [{ kind: 'remove', name: 'old' }],
      wantHolder: '',
      wantSteps: [/old is stopped/],
    },
    {
      name: 'the first candidate appears',
      input: makeInput(),
      changes: [add(old)],
      wantHolder: 'old',
      wantSteps: [/old appears/, /the Lease is created for old LeaseMissing/, /old leads/],
    },
    {
      name: 'the leader restarts, and is still the best candidate',
      input: led,
      changes: [add(makeCandidate('old').versions('1.36.1', '1.35.0'))],
      wantHolder: 'old',
      wantSteps: [
        /^0 old comes back with binary 1.36.1, emulation 1.35.0/,
        /young is pinged/,
        /young is given the Lease LeaseReleased/,
        /young leads/,
        /^5 old is pinged/,
        /old becomes preferredHolder/,
        /young stops renewing/,
        /old is given the Lease LeaseExpired/,
        /old leads/,
      ],
    },
    {
      name: 'the candidate that has just got the Lease crashes before it renews',
      input: makeInput()
        .sees(
          makeLease('old').with({
            acquireTime: undefined,
            isUnrenewedGrant: true,
            isRenewedByCoordinator: true,
          }),
          0,
        )
        .candidates(old.seenAt(0), young.seenAt(0)),
      changes: [{ kind: 'crash', name: 'old' }],
      wantHolder: 'young',
      wantSteps: [
        /^0 old crashes/,
        /young is pinged/,
        /^5 young is given the Lease GrantRevised/,
        /young leads/,
        /^25 old is pinged, and does not answer/,
      ],
    },
  ])('when $name', ({ input, changes, wantHolder, wantSteps }) => {
    const { steps, holder, isSettled } = rehearse(input.build(), makeNow(0), changes);
    const lines = steps.map(({ atMs, text, reason = '' }) => `${atMs / 1000} ${text} ${reason}`);
    expect({ holder, isSettled }).toEqual({ holder: wantHolder, isSettled: true });
    expect(lines).toEqual(wantSteps.map((want) => expect.stringMatching(want)));
  });

  test.each([
    { seconds: 270, want: { holder: 'young', reason: 'LeaderOptimal', isSettled: true } },
    { seconds: 2 ** 31 - 1, want: { holder: 'old', isSettled: false } },
  ])('waits for a Lease with a duration of $seconds s, within limits', ({ seconds, want }) => {
    const lasting = makeInput()
      .sees(makeLease('old').with({ acquireTime: undefined }).lasting(seconds), 0)
      .candidates(old.seenAt(0), young.seenAt(0));
    expect(rehearse(lasting.build(), makeNow(0), [{ kind: 'crash', name: 'old' }])).toMatchObject(want);
  });

  test('simulates a crash at once, even if the holder has already missed renewals', () => {
    const { steps } = rehearse(led.build(), makeNow(12_000), [{ kind: 'crash', name: 'old' }]);
    expect(steps[0]).toMatchObject({ atMs: 0, text: expect.stringMatching(/^old crashes/) });
    expect(steps.at(-1)?.text).toMatch(/^young leads/);
  });

  test('does not modify its input', () => {
    const input = led.build();
    const before = structuredClone(input);
    rehearse(input, makeNow(0), [{ kind: 'crash', name: 'old' }]);
    expect(input).toEqual(before);
  });
});
