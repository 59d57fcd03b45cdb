import { describe, expect, test } from 'vitest';
import { decideElection } from '../../src/election/decide.ts';
import { coordinatorLease } from '../../src/election/model.ts';
import { makeCandidate, makeInput, makeNow } from '../support/election-builders.ts';

describe('the coordinator’s own lock (rule 10)', () => {
  test('is never coordinated, even if candidates name it', () => {
    const input = makeInput()
      .with(coordinatorLease)
      .candidates(
        makeCandidate('a')
          .renewedAt(-3 * 3_600_000)
          .seenAt(0),
        makeCandidate('b').renewedAt(0).seenAt(0),
      );
    // In any namespace: a coordinator may have its lock there.
    for (const { namespace } of [coordinatorLease, { namespace: 'default' }]) {
      expect(decideElection(input.with({ namespace }).build(), makeNow(0))).toMatchObject({
        reason: 'CoordinatorLease',
        actions: [],
        requeue: { kind: 'awaitChange' },
      });
    }
    expect(decideElection(input.with({ name: 'scheduler' }).build(), makeNow(0)).reason).toBe('LeaseMissing');
  });
});
