import { expect, test } from 'vitest';
import { labelKeyOf, leasesLedBy } from '../../../src/controller/leader-label/label-key.ts';

const GROUP = 'coordinated-leader-election.dev';

test.each([
  { name: 'a name', lease: 'web', want: `${GROUP}/web` },
  { name: 'a name with dots', lease: 'web.v1', want: `${GROUP}/web.v1` },
  { name: '63 characters', lease: 'a'.repeat(63), want: `${GROUP}/${'a'.repeat(63)}` },
  { name: '64 characters, which no label may have', lease: 'a'.repeat(64), want: undefined },
  { name: 'what no Lease can be called', lease: 'Web!', want: undefined },
])('the label for a Lease is called by it: $name', ({ lease, want }) => {
  expect(labelKeyOf(lease)).toBe(want);
});

test('whose leader a Pod is can be read from its labels, among those of others', () => {
  const labels = {
    app: 'web',
    [`${GROUP}/web`]: 'leader',
    [`${GROUP}/jobs`]: 'leader',
    [`${GROUP}/priority`]: '3',
    'example.com/web': 'leader',
  };
  expect(leasesLedBy(labels)).toEqual(['web', 'jobs']);
});
