import { describe, expect, test } from 'vitest';
import type { Belief } from '../../src/election/beliefs.ts';
import { decideElection } from '../../src/election/decide.ts';
import { grantOf } from '../../src/election/decision.ts';
import { type Grant, isProvisional, noMemory } from '../../src/election/lease-memory.ts';
import { surveyTenure } from '../../src/election/view.ts';
import {
  type InputBuilder,
  makeCandidate,
  makeInput,
  makeLease,
  makeNow,
  makeUnrenewedGrant,
  wallAt,
} from '../support/election-builders.ts';

const fresh = (at: number) => makeCandidate('b').emulating('1.30.0').seenAt(0).renewedAt(at);
const unrenewedGrant = makeUnrenewedGrant('a');
const provisional = makeInput()
  .remembers({ unrenewedGrant, grantSeries: { count: 1, since: 0 } })
  .sees(makeLease('a'), 0);

describe('a grant describes its effect for the former holder (rules 7 and 12)', () => {
  test.each<{ name: string; input: InputBuilder; at: number; want: Partial<Grant> }>([
    {
      name: 'a better one appeared before it led',
      input: provisional.candidates(makeCandidate('a').seenAt(0), fresh(1000)),
      at: 1000,
      want: { former: 'a', revises: 'holderWorse', hasFormerLapsed: false },
    },
    {
      name: 'it was deleted before it led',
      input: provisional.candidates(fresh(1000)),
      at: 1000,
      want: { former: 'a', revises: 'holderLost', hasFormerLapsed: false },
    },
    {
      name: 'it has not taken its grant up within 5 s',
      input: provisional.candidates(makeCandidate('a').emulating('1.29.0').seenAt(0), fresh(5000)),
      at: 5000,
      want: { former: 'a', revises: 'holderLate', hasFormerLapsed: true },
    },
    {
      name: 'it let its grant expire',
      input: provisional.candidates(fresh(10_000)),
      at: 10_000,
      want: { former: 'a', revises: undefined, hasFormerLapsed: true },
    },
    {
      name: 'it let its Lease expire',
      input: makeInput().sees(makeLease('a'), 0).candidates(fresh(10_000)),
      at: 10_000,
      want: { former: 'a', revises: undefined, hasFormerLapsed: false },
    },
    {
      name: 'it has released the Lease',
      input: makeInput()
        .sees(makeLease('a'), 0)
        .sees(makeLease().releasedAt(1000), 1000)
        .candidates(fresh(1000)),
      at: 1000,
      want: { former: undefined, revises: undefined, hasFormerLapsed: false },
    },
    {
      // The holder may have renewed it right before, with its own duration, and this process has not seen it.
      name: 'its Lease was deleted, and its time is over',
      input: makeInput().sees(makeLease('a'), 0).sees(undefined, 1000).candidates(fresh(16_000)),
      at: 16_000,
      want: { former: 'a', revises: undefined, hasFormerLapsed: false },
    },
    {
      name: 'there was no holder before',
      input: makeInput().sees(makeLease(''), 0).candidates(fresh(0)),
      at: 0,
      want: { former: undefined, revises: undefined, hasFormerLapsed: false },
    },
  ])('$name', ({ input, at, want }) => {
    expect(grantOf(decideElection(input.build(), makeNow(at)))).toMatchObject({ holder: 'b', ...want });
  });
});

describe('a Lease is provisional (rule 12)', () => {
  const { memory } = provisional.build();
  const belief: Belief = {
    holder: 'a',
    renewedAt: -10_000,
    durationMs: 15_000,
    isOwnDuration: true,
    isParticipant: false,
    lostAt: 0,
  };
  const believedBy = (holder: string) => ({ ...memory, beliefs: [{ ...belief, holder }] });

  test.each([
    { name: 'while it is as our grant left it', memory, want: true },
    { name: 'not while its holder may believe in an earlier record', memory: believedBy('a'), want: false },
    { name: 'but after that', memory: believedBy('a'), at: 5000, want: true },
    { name: 'not while another may believe in one', memory: believedBy('x'), want: false },
    { name: 'but after that, though it may still disturb', memory: believedBy('x'), at: 5000, want: true },
    {
      name: 'not if it has no holder',
      memory: { ...noMemory, unrenewedGrant },
      lease: makeLease(''),
      want: false,
    },
    {
      name: 'while field ownership says so, of the grant of another replica',
      memory: { ...memory, unrenewedGrant: undefined },
      lease: makeLease('a').with({ isUnrenewedGrant: true }),
      want: true,
    },
    {
      name: 'not when nothing says so',
      memory: { ...memory, unrenewedGrant: undefined },
      want: false,
    },
    {
      name: 'not when the last grant was to another',
      memory: { ...memory, unrenewedGrant: { ...unrenewedGrant, holder: 'x' } },
      want: false,
    },
  ])('$name', ({ memory, lease = makeLease('a'), at = 4999, want }) => {
    expect(isProvisional(memory, lease.build(), at)).toBe(want);
  });
});

test('a holder that got its Lease back has it for as long as it may trust its former record (rule 8)', () => {
  // It may have renewed the Lease right before the deletion, and gets it for 10 s, from us or from another
  // coordinator.
  const grant = makeLease('a')
    .renewedAt(2000)
    .with({ acquireTime: wallAt(2000) });
  const deleted = makeInput().sees(makeLease('a').lasting(30), 0).sees(undefined, 1000);
  for (const returned of [
    deleted.remembers({ unrenewedGrant: makeUnrenewedGrant('a', 2000) }).sees(grant, 2000),
    deleted.sees(grant, 2000),
  ]) {
    const { expiresAt } = { expiresAt: Number.NaN, ...surveyTenure(returned.build(), 30_999) };
    expect(expiresAt).toBeGreaterThanOrEqual(31_000);
    // And not for more than one full duration of its own after the grant was seen.
    expect(surveyTenure(returned.build(), 32_000)).toMatchObject({ kind: 'vacant', need: 'LeaseExpired' });
  }
});

describe('a grant to another candidate than the preferred one (rule 7)', () => {
  const lease = makeLease('a').renewedAt(0);
  const silent = makeCandidate('b').seenAt(0).pingedAt(2000);
  const grantee = makeCandidate('c').seenAt(0).renewedAt(9000);

  test.each<{
    name: string;
    lease: typeof lease;
    others: readonly (typeof grantee)[];
    want: true | undefined;
  }>([
    {
      name: 'that has fallen silent is a failure',
      lease: lease.preferring('b'),
      others: [silent],
      want: true,
    },
    { name: 'that is deleted is a failure', lease: lease.preferring('b'), others: [], want: true },
    {
      name: 'that exists is none: a better one has appeared',
      lease: lease.preferring('b'),
      others: [makeCandidate('b').versions('1.37.0', '1.37.0').seenAt(0).renewedAt(9000)],
      want: undefined,
    },
    {
      name: 'that another set is none',
      lease: lease.preferring('b', false),
      others: [silent],
      want: undefined,
    },
    { name: 'goes to that one, and is none', lease: lease.preferring('c'), others: [], want: undefined },
    { name: 'is none if none was preferred', lease, others: [silent], want: undefined },
  ])('$name', ({ lease, others, want }) => {
    const input = makeInput()
      .sees(lease, 0)
      .candidates(grantee, ...others);
    const grant = grantOf(decideElection(input.build(), makeNow(10_000)));
    expect(grant?.holder).toBe('c');
    expect(grant?.hasPreferredFailed).toBe(want);
  });
});
