import { expect, test } from 'vitest';
import { type CachedObject, differencesOf } from './cached-objects.ts';

const lease = { metadata: { namespace: 'team', name: 'web', uid: 'a', resourceVersion: '7' }, spec: {} };
const same: CachedObject = ['team/web', 'a', '7'];

const cases: readonly { name: string; cached: readonly CachedObject[]; want?: string }[] = [
  { name: 'a cache that has what the server has', cached: [same] },
  { name: 'a Lease that was never heard of', cached: [], want: 'team/web is missing' },
  {
    name: 'a change that was missed',
    cached: [['team/web', 'a', '6']],
    want: 'team/web is at 6, and not at 7 yet',
  },
  { name: 'a cache that has heard of a later renewal', cached: [['team/web', 'a', '10']] },
  {
    name: 'a deletion that was missed, of one that was created anew',
    cached: [['team/web', 'b', '5']],
    want: 'team/web is one that was deleted',
  },
  {
    name: 'a deletion that was missed',
    cached: [same, ['team/db', 'c', '3']],
    want: 'team/db is there no more',
  },
  {
    name: 'a Lease in two caches that should be one',
    cached: [same, same],
    want: 'team/web is there 2 times',
  },
  {
    name: "the coordinators' own lock, which is renewed all the time",
    cached: [same, ['kube-system/leader-election-controller', 'd', '9']],
  },
];

test.each(cases)('$name', ({ cached, want }) => {
  const served = { leases: [lease], candidates: [] };
  const differences = [...differencesOf({ leases: cached, candidates: [] }, served)];
  expect(differences.map((each) => each.join(' '))).toEqual(want === undefined ? [] : [`leases ${want}`]);
});

test('candidates are compared as well', () => {
  const served = { leases: [], candidates: [lease] };
  const differences = differencesOf({ leases: [], candidates: [] }, served);
  expect([...differences]).toEqual([['candidates team/web', 'is missing']]);
});
