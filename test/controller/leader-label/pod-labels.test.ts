import { describe, expect, test } from 'vitest';
import {
  decideLabels,
  type KnownLabels,
  labelKeyOf,
  leadershipOf,
  leasesLedBy,
} from '../../../src/controller/leader-label/pod-labels.ts';
import { FENCE } from '../../../src/election/model.ts';
import { makeCandidate, makeInput, makeLease, makeUnrenewedGrant } from '../../support/election-builders.ts';

const pod = (name: string, uid = `uid-${name}`) => ({ name, uid });
const granted = makeLease('a');
const candidate = makeCandidate('a')
  .with({ pod: pod('web-0') })
  .seenAt(0);
const nobody = makeInput().candidates(candidate);
/** Granted by another client at 0, and renewed by its holder at 2 s. */
const led = nobody.sees(granted, 0).sees(granted.renewedAt(2000), 2000);

describe('the leader', () => {
  test.each([
    { name: 'there is no Lease', input: nobody, at: 0, want: undefined },
    { name: 'a grant was not renewed yet', input: nobody.sees(granted, 0), at: 1000, want: undefined },
    { name: 'its holder has renewed it', input: led, at: 2000, want: { pod: pod('web-0'), until: 12_000 } },
    { name: 'it is about to expire', input: led, at: 11_999, want: { pod: pod('web-0') } },
    { name: 'it has expired', input: led, at: 12_000, want: undefined },
    { name: 'it was released', input: led.sees(granted.releasedAt(4000), 4000), at: 4000, want: undefined },
    {
      name: 'it is fenced',
      input: led.sees(granted.heldBy(FENCE).renewedAt(4000), 4000),
      at: 4000,
      want: undefined,
    },
    { name: 'it is deleted', input: led.sees(undefined, 4000), at: 4000, want: undefined },
    {
      name: 'it was granted to another',
      input: led.sees(
        granted
          .heldBy('b')
          .renewedAt(4000)
          .with({ acquireTime: granted.renewedAt(4000).build().renewTime }),
        4000,
      ),
      at: 4000,
      want: undefined,
    },
    {
      name: 'a plain elector has it, which writes no acquireTime',
      input: nobody.sees(granted.with({ acquireTime: undefined }), 0),
      at: 0,
      want: { pod: pod('web-0') },
    },
    {
      name: 'its holder is no candidate',
      input: led.with({ candidates: [] }),
      at: 2000,
      want: { holder: 'a', pod: undefined },
    },
  ])('follows from the Lease: $name', ({ input, at, want }) => {
    const leadership = leadershipOf(input.build(), at);
    if (want === undefined) expect(leadership).toBeUndefined();
    else expect(leadership).toMatchObject(want);
  });

  test('is not the holder of an unrenewed grant of ours, whatever its clock writes', () => {
    const { renewTime = 0n } = granted.build();
    const unrenewedGrant = { ...makeUnrenewedGrant('a'), renewTime };
    const input = nobody.remembers({ unrenewedGrant }).sees(granted.with({ acquireTime: undefined }), 0);
    expect(leadershipOf(input.build(), 0)).toBeUndefined();
  });
});

describe('labels', () => {
  const leads = (name: string | undefined, holder = 'a') => ({
    holder,
    pod: name === undefined ? undefined : pod(name),
    until: 0,
  });
  const known = (carriers: readonly string[], more: Partial<KnownLabels> = {}): KnownLabels => ({
    carriers: carriers.map((name) => pod(name)),
    doubtful: [],
    holder: undefined,
    ...more,
  });

  test.each([
    { name: 'there is no leader, and no label', was: known([]), leader: undefined, want: [] },
    { name: 'a leader has none yet', was: known([]), leader: leads('web-0'), want: ['add web-0'] },
    { name: 'the leader has it', was: known(['web-0']), leader: leads('web-0'), want: [] },
    { name: 'there is no leader any more', was: known(['web-0']), leader: undefined, want: ['remove web-0'] },
    {
      name: 'another leads: the old one is taken off first',
      was: known(['web-0', 'web-2']),
      leader: leads('web-1'),
      want: ['remove web-0', 'remove web-2', 'add web-1'],
    },
    {
      name: 'the leader has it, and other Pods after a crash',
      was: known(['web-0', 'web-1']),
      leader: leads('web-1'),
      want: ['remove web-0'],
    },
    {
      name: 'it is unknown whether the leader has it',
      was: known([], { doubtful: [pod('web-0')] }),
      leader: leads('web-0'),
      want: ['add web-0'],
    },
    {
      name: 'it is unknown whether a former leader has it',
      was: known([], { doubtful: [pod('web-0')] }),
      leader: leads('web-1'),
      want: ['remove web-0', 'add web-1'],
    },
    {
      name: 'the Pod is another one of the same name',
      was: { ...known([]), carriers: [pod('web-0', 'former')] },
      leader: leads('web-0'),
      want: ['remove web-0', 'add web-0'],
    },
    {
      name: 'the leader’s candidate is out of sight',
      was: known(['web-0'], { holder: 'a' }),
      leader: leads(undefined),
      want: [],
    },
    {
      name: 'another leads, without a Pod',
      was: known(['web-0'], { holder: 'a' }),
      leader: leads(undefined, 'b'),
      want: ['remove web-0'],
    },
  ])('are written if they are wrong: $name', ({ was, leader, want }) => {
    expect(decideLabels(was, leader).map(({ kind, pod: { name } }) => `${kind} ${name}`)).toEqual(want);
  });
});

const GROUP = 'coordinated-leader-election.dev';

test.each([
  { name: 'a name', lease: 'web', want: `${GROUP}/web` },
  { name: 'a name with dots', lease: 'web.v1', want: `${GROUP}/web.v1` },
  { name: '63 characters', lease: 'a'.repeat(63), want: `${GROUP}/${'a'.repeat(63)}` },
  { name: '64 characters, which no label may have', lease: 'a'.repeat(64), want: undefined },
  { name: 'a text that is not the name of a Lease', lease: 'Web!', want: undefined },
])('the key of a Lease’s label is: $name', ({ lease, want }) => {
  expect(labelKeyOf(lease)).toBe(want);
});

test('the leader’s Lease can be read from the labels of a Pod', () => {
  const labels = {
    app: 'web',
    [`${GROUP}/web`]: 'leader',
    [`${GROUP}/jobs`]: 'leader',
    [`${GROUP}/priority`]: '3',
    'example.com/web': 'leader',
  };
  expect(leasesLedBy(labels)).toEqual(['web', 'jobs']);
});
