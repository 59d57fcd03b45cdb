import { describe, expect, test } from 'vitest';
import { decodeLease } from '../../src/coordination/lease.ts';
import type { Lease } from '../../src/election/model.ts';
import { holderSeen, type LeaseSight, numberOfTerm, observe } from '../../src/participant/lease-sight.ts';
import type { JsonObject } from '../../src/support/json.ts';

const T = (second: number) => `2026-01-01T00:00:${String(second).padStart(2, '0')}.000000Z`;

/** A Lease that was granted at second 1, and so far not renewed. */
function lease(spec: JsonObject = {}, uid = 'uid'): Lease {
  return decodeLease({
    metadata: { name: 'checkout', namespace: 'default', uid },
    spec: {
      holderIdentity: 'me',
      leaseDurationSeconds: 10,
      leaseTransitions: 3,
      acquireTime: T(1),
      renewTime: T(1),
      ...spec,
    },
  });
}

/** What is known after seeing all these, a second apart. */
function seen(...leases: readonly (Lease | undefined)[]): LeaseSight {
  const [first, ...rest] = leases;
  return rest.reduce(
    (sight, next, index) => observe(sight, next, (index + 1) * 1000),
    observe(undefined, first, 0),
  );
}

describe('a record', () => {
  test.each([
    { name: 'seen once', leases: [lease()], want: 0 },
    { name: 'seen again unchanged', leases: [lease(), lease()], want: 0 },
    {
      name: 'of which only others’ fields have changed',
      leases: [lease(), lease({ preferredHolder: 'b' })],
      want: 0,
    },
    { name: 'that was renewed', leases: [lease(), lease({ renewTime: T(3) })], want: 1000 },
    { name: 'of another holder', leases: [lease(), lease({ holderIdentity: 'b' })], want: 1000 },
    { name: 'with another duration', leases: [lease(), lease({ leaseDurationSeconds: 1 })], want: 1000 },
    { name: 'under another number', leases: [lease(), lease({ leaseTransitions: 4 })], want: 1000 },
    { name: 'of a new Lease', leases: [lease(), lease({}, 'other')], want: 1000 },
  ])('$name is as old as it has been seen unchanged', ({ leases, want }) => {
    expect(seen(...leases).since).toBe(want);
  });

  test('names a holder until it has gone unchanged for its duration', () => {
    const sight = seen(lease());
    expect(holderSeen(sight, 9999)).toBe('me');
    expect(holderSeen(sight, 10_000)).toBeUndefined();
    expect(holderSeen(undefined, 0)).toBeUndefined();
    expect(holderSeen(seen(lease({ holderIdentity: '' })), 0)).toBeUndefined();
  });
});

describe('the number of a term (rule 15)', () => {
  const free = lease({ leaseTransitions: 2, holderIdentity: '' });
  test.each([
    { name: 'that of a grant to which it was seen to rise', leases: [free, lease()], want: 3 },
    {
      name: 'that of the first grant of a Lease that was seen to be absent',
      leases: [undefined, lease({ leaseTransitions: 0 })],
      want: 0,
    },
    {
      name: 'that of the grant when somebody has only added to it',
      leases: [free, lease(), lease({ preferredHolder: 'me' })],
      want: 3,
    },
    { name: 'one more where nobody has seen what was before', leases: [lease()], want: 4 },
    {
      name: 'one more where the grant has been renewed',
      leases: [free, lease({ renewTime: T(3) })],
      want: 4,
    },
    {
      name: 'one more once the grant was renewed',
      leases: [free, lease(), lease({ renewTime: T(3) })],
      want: 4,
    },
    {
      name: 'one more where the grant has counted nothing',
      leases: [lease({ holderIdentity: 'b' }), lease()],
      want: 4,
    },
    {
      name: 'one more where a grant says nothing of when',
      leases: [free, lease({ acquireTime: undefined })],
      want: 4,
    },
    {
      name: 'above all that were seen, though the Lease was made anew',
      leases: [lease(), undefined, lease({ leaseTransitions: 0 }, 'b')],
      want: 4,
    },
    {
      name: 'not above what the API takes',
      leases: [lease({ leaseTransitions: 2 ** 31 - 1 })],
      want: 2 ** 31 - 1,
    },
  ])('is $name', ({ leases, want }) => {
    expect(numberOfTerm(seen(...leases))).toBe(want);
  });
});
