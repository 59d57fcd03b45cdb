import { describe, expect, test } from 'vitest';
import { decideElection } from '../../src/election/decide.ts';
import { makeNow } from '../support/election-builders.ts';
import { SimElection } from '../support/sim-election.ts';

describe('a leaseName that no Lease can have', () => {
  test.each(['Upper', 'under_score', '-a', 'a-', '.a', 'a..b', 'a.-b', 'a.b-', 'a'.repeat(254), ''])(
    '%s is left alone',
    (name) => {
      const sim = new SimElection().add('a');
      const { reason, actions } = decideElection({ ...sim.input, name, lease: undefined }, makeNow(10));
      expect(reason).toBe('InvalidLeaseName');
      expect(actions).toEqual([]);
    },
  );

  test.each(['a', 'a-b.c', 'kube-system.scheduler-2', '0', 'a'.repeat(253)])(
    '%s is one that a Lease can have',
    (name) => {
      const sim = new SimElection().add('a');
      expect(decideElection({ ...sim.input, name, lease: undefined }, makeNow(10)).reason).not.toBe(
        'InvalidLeaseName',
      );
    },
  );
});
