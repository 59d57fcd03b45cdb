import { describe, expect, test } from 'vitest';
import { emptyTexts, noticesFor } from '../../../src/status-page/page/notices.js';
import { durationText, keyInHash, splitKey, versionText } from '../../../src/status-page/page/words.js';
import { catalogue } from '../../../src/status-page/status-page.ts';
import type { HelloMessage, StateMessage } from '../../../src/status-page/wire.ts';

const words: HelloMessage = {
  version: '1.2.3',
  startedAt: 0,
  namespaces: [],
  notServedAdvice: 'Turn the API on.',
  ...catalogue,
};
const active: StateMessage = { replica: 'active', api: 'served', hasSynced: true };
const live = { kind: 'live' } as const;

describe('a notice', () => {
  test.each<{ name: string; state: StateMessage; want: readonly RegExp[] }>([
    { name: 'the active replica', state: active, want: [] },
    {
      name: 'a standby',
      state: { ...active, replica: 'standby', lockHolder: 'cle-1' },
      want: [/^This replica stands by cle-1 holds the lock/],
    },
    {
      name: 'a standby without an active replica',
      state: { ...active, replica: 'standby' },
      want: [/No known replica holds the lock.*tries to take the lock\.$/],
    },
    {
      name: 'a standby that has no use for the lock',
      state: { ...active, replica: 'standby', api: 'notServed' },
      want: [/^LeaseCandidates are not served/, /leaves the lock to replicas that see LeaseCandidates\.$/],
    },
    {
      name: 'one behind the built-in coordinator',
      state: { ...active, replica: 'waiting', lockHolder: 'apiserver-1' },
      want: [/^Another coordinator decides apiserver-1 .*built into kube-apiserver/],
    },
    { name: 'one that takes over', state: { ...active, replica: 'settling' }, want: [/^Taking over/] },
    { name: 'a dry run', state: { ...active, replica: 'dryRun' }, want: [/^Dry run/] },
    {
      name: 'one whose API server lacks the API',
      state: { ...active, api: 'notServed' },
      want: [/^LeaseCandidates are not served Turn the API on\.$/],
    },
    {
      name: 'a standby that has lost the API server, and does not know the active replica',
      state: { ...active, replica: 'standby', lockHolder: 'cle-1', blindSince: 0 },
      want: [
        /^The API server is out of reach This replica has seen no changes since [^.]*\. This replica goes on trying to reach the API server\.$/,
      ],
    },
  ])('about $name is shown', ({ state, want }) => {
    const told = noticesFor(live, state, words, 0).map(({ title, text }) => `${title} ${text}`);
    expect(told).toHaveLength(want.length);
    for (const [index, pattern] of want.entries()) expect(told[index]).toMatch(pattern);
  });

  test('about a lost connection contains the age of the page, and the server’s message', () => {
    const [notice] = noticesFor(
      { kind: 'lost', since: 0, why: '16 pages are open already' },
      active,
      words,
      0,
    );
    expect(notice?.title).toBe('Connection lost');
    expect(notice?.text).toMatch(
      /^The page shows the state of .* The coordinator says: 16 pages are open already\. The page tries again\.$/,
    );
  });
});

describe('an empty list', () => {
  test.each<{
    name: string;
    state: StateMessage | undefined;
    isComplete: boolean;
    isFiltered: boolean;
    want: string;
  }>([
    {
      name: 'that is still read',
      state: active,
      isComplete: false,
      isFiltered: false,
      want: 'Reading the Leases.',
    },
    {
      name: 'of a replica that has not listed yet',
      state: { ...active, hasSynced: false },
      isComplete: true,
      isFiltered: false,
      want: 'Reading the Leases from the API server.',
    },
    {
      name: 'after a search',
      state: active,
      isComplete: true,
      isFiltered: true,
      want: 'No Lease matches.',
    },
    {
      name: 'without the API',
      state: { ...active, api: 'notServed', hasSynced: false },
      isComplete: true,
      isFiltered: false,
      want: 'Nothing can be coordinated yet.',
    },
    {
      name: 'of two namespaces',
      state: active,
      isComplete: true,
      isFiltered: false,
      want: 'No component is a candidate for a Lease in a, b yet.',
    },
  ])('$name says $want', ({ state, isComplete, isFiltered, want }) => {
    expect(emptyTexts(state, isComplete, isFiltered, ['a', 'b'])[0]).toBe(want);
  });
});

test.each([
  [-5000, '0 s'],
  [999, '0 s'],
  [59_999, '59 s'],
  [60_000, '1 min'],
  [3_600_000, '1 h'],
  [172_800_000, '2 d'],
])('%d ms are shown as %s', (durationMs, want) => {
  expect(durationText(durationMs)).toBe(want);
});

test.each([
  ['', undefined],
  ['#', undefined],
  ['#leases', undefined],
  ['#shop/cart', 'shop/cart'],
  ['#shop%2Fcart', 'shop/cart'],
  ['#shop/50%', undefined],
])('the address %j names the Lease %j', (hash, want) => {
  expect(keyInHash(hash)).toBe(want);
});

test('versions are shown in short form', () => {
  expect(
    [
      { binary: '1.36.0', emulation: '1.36.0' },
      { binary: '1.36.0', emulation: '1.35.0' },
      { binary: '1.36.0' },
      {},
    ].map(versionText),
  ).toEqual(['1.36.0', '1.36.0 as 1.35.0', '1.36.0 as no version', 'no version']);
  expect(splitKey('kube-system/a')).toEqual({ namespace: 'kube-system/', name: 'a' });
});
