import { describe, expect, test } from 'vitest';
import type { LeaseCandidate } from '../../src/election/model.ts';
import { type AuditFindingName, auditOf, type LeaseAudit } from '../../src/inspection/audit.ts';
import {
  type AuditObservation,
  seeLease,
  type WatchedLease,
} from '../../src/inspection/audit-observation.ts';
import { makeCandidate } from '../support/election-builders.ts';
import { makeObservation, makePod, rawLease, stampAt, watchedLease } from './audit-builders.ts';

/** Audits one Lease at an instant. */
function audit(lease: WatchedLease, at: number, parts: Partial<AuditObservation> = {}): LeaseAudit {
  const [only] = auditOf(makeObservation(at, { leases: [lease], ...parts })).leases;
  if (!only) throw new Error('no Lease was audited');
  return only;
}

function candidates(...names: readonly string[]): readonly LeaseCandidate[] {
  return names.map((name) => makeCandidate(name).with({ namespace: 'shop', leaseName: 'web' }).build());
}

const replicas = ['web-0', 'web-1'].map((name) =>
  makePod({ name, owner: { kind: 'StatefulSet', name: 'web' } }),
);

describe('the interval of renewals', () => {
  test.each([
    { name: 'is the mean of those seen', seenAt: [0, 1500, 3500, 5500], at: 6000, want: 2 },
    {
      name: 'follows from the stamps of the holder, for a single one',
      seenAt: [0, 9000],
      at: 10_000,
      want: 10,
    },
    { name: 'is unknown without one', seenAt: [0], at: 10_000, want: undefined },
  ])('$name', ({ seenAt, at, want }) => {
    expect(audit(watchedLease(seenAt), at).renewsEverySeconds).toBe(want);
  });

  test('ignores the renewal right after an acquisition', () => {
    const acquired = watchedLease([0, 40, 2040], { acquireTime: stampAt(-1000) });
    expect(audit(acquired, 3000).renewsEverySeconds).toBe(2);
  });

  test('sums up to the renewals per second of the cluster', () => {
    const leases = [watchedLease([0, 2000, 4000]), watchedLease([0, 4000, 8000], {}, { name: 'b' })];
    expect(auditOf(makeObservation(8000, { leases })).renewalsPerSecond).toBe(0.75);
  });
});

describe('the elector', () => {
  const byParticipant = {
    managedFields: [
      { manager: 'coordinated-leader-election-participant', fieldsV1: { 'f:spec': { 'f:renewTime': {} } } },
    ],
  };
  test.each([
    { name: 'a holder alone', spec: {}, metadata: {}, named: [], want: 'plain', cost: 17 },
    {
      name: 'a holder with a candidate',
      spec: {},
      metadata: {},
      named: ['web-0_1234', 'b'],
      want: 'coordinated',
      cost: 17,
    },
    { name: 'a strategy', spec: { strategy: 'x' }, metadata: {}, named: [], want: 'coordinated', cost: 17 },
    {
      name: 'a renewal by a participant',
      spec: {},
      metadata: byParticipant,
      named: [],
      want: 'participant',
      cost: 15,
    },
    {
      name: "the coordinators' lock",
      spec: {},
      metadata: { namespace: 'kube-system', name: 'leader-election-controller' },
      named: [],
      want: 'coordinator',
      cost: 17,
    },
  ])('is $want for $name, so that a crash costs $cost s', ({ spec, metadata, named, want, cost }) => {
    const { elector, crashCostsSeconds } = audit(watchedLease([0], spec, metadata), 1000, {
      candidates: candidates(...named),
    });
    expect({ elector, crashCostsSeconds }).toEqual({ elector: want, crashCostsSeconds: cost });
  });

  test('costs a seen interval', () => {
    const lease = watchedLease([0, 26_000, 52_000], { leaseDurationSeconds: 137 });
    expect(audit(lease, 53_000).crashCostsSeconds).toBe(163);
  });
});

describe('the state', () => {
  test.each([
    {
      name: 'held, seen to be renewed within its duration',
      seenAt: [0, 5000],
      spec: {},
      at: 19_000,
      want: 'held',
    },
    {
      name: 'expired, seen to be silent for its duration',
      seenAt: [0, 5000],
      spec: {},
      at: 20_100,
      want: 'expired',
    },
    {
      name: 'expired, listed long after its renewTime',
      seenAt: [60_000],
      spec: { renewTime: stampAt(0) },
      at: 60_000,
      want: 'expired',
    },
    { name: 'held, listed soon after its renewTime', seenAt: [60_000], spec: {}, at: 60_000, want: 'held' },
    {
      name: 'expired, watched for its duration, whatever its renewTime says',
      seenAt: [0],
      spec: { renewTime: stampAt(900_000) },
      at: 16_000,
      want: 'expired',
    },
    { name: 'free', seenAt: [0], spec: { holderIdentity: '' }, at: 1000, want: 'free' },
    {
      name: 'free without the field',
      seenAt: [0],
      spec: { holderIdentity: undefined },
      at: 1000,
      want: 'free',
    },
    {
      name: 'fenced',
      seenAt: [0],
      spec: { holderIdentity: 'fence.coordinated-leader-election.dev' },
      at: 1000,
      want: 'fenced',
    },
    {
      name: 'free after a fence',
      seenAt: [0],
      spec: { holderIdentity: 'fence.coordinated-leader-election.dev' },
      at: 16_000,
      want: 'free',
    },
    {
      name: 'untimed without a duration',
      seenAt: [0],
      spec: { leaseDurationSeconds: undefined },
      at: 1000,
      want: 'untimed',
    },
  ])('is $want when $name', ({ seenAt, spec, at, want }) => {
    expect(audit(watchedLease(seenAt, spec), at).state).toBe(want);
  });

  test('is held if renewals by a holder with a slow clock were seen', () => {
    const hourAgo = (at: number) => rawLease({ renewTime: stampAt(at - 3_600_000) });
    const listed = seeLease(undefined, hourAgo(0), 0);
    expect(audit(listed, 6000).state).toBe('expired');
    expect(audit(seeLease(listed, hourAgo(5000), 5000), 6000).state).toBe('held');
  });
});

describe('a finding', () => {
  const HOUR = 3_600_000;
  test.each<{
    name: string;
    lease: WatchedLease;
    at: number;
    parts?: Partial<AuditObservation>;
    want: readonly (readonly [AuditFindingName, string])[];
  }>([
    {
      name: 'is not there in good order',
      lease: watchedLease([0, 2000]),
      at: 3000,
      parts: { pods: replicas },
      want: [],
    },
    {
      name: 'is not there for a fence',
      lease: watchedLease([0], { holderIdentity: 'fence.coordinated-leader-election.dev' }),
      at: 1000,
      want: [],
    },
    {
      name: 'reports an existing, silent holder',
      lease: watchedLease([0]),
      at: 20_000,
      parts: { pods: replicas },
      want: [
        ['HolderSilent', 'web-0_1234 has not renewed it for 21s; it lasts 15s. Its Pod web-0 is there.'],
      ],
    },
    {
      name: 'reports a silent holder if Pods are unknown',
      lease: watchedLease([0]),
      at: 20_000,
      parts: { pods: undefined },
      want: [['HolderSilent', 'web-0_1234 has not renewed it for 21s; it lasts 15s.']],
    },
    {
      name: 'names a silent holder without a Pod',
      lease: watchedLease([0]),
      at: 20_000,
      want: [['HolderGone', 'web-0_1234 has not renewed it for 21s; it lasts 15s. No Pod was found for it.']],
    },
    {
      name: 'reports a holder whose Pod has been replaced, before its Lease expires',
      lease: watchedLease([0, 2000]),
      at: 9000,
      parts: { pods: [makePod({ name: 'web-0', createdAt: 5000 })] },
      want: [
        [
          'HolderGone',
          'Its Pod web-0 is gone: a later Pod has its name; the Lease of web-0_1234 ends in 8s.',
        ],
      ],
    },
    {
      name: 'is not there for a holder that renews, whatever clocks say of its Pod',
      lease: watchedLease([0, 2000, 4000]),
      at: 5000,
      parts: { pods: [makePod({ name: 'web-0', createdAt: 60_000 })] },
      want: [],
    },
    {
      name: 'reports a release without a successor',
      lease: watchedLease([0], { holderIdentity: '', leaseDurationSeconds: 1 }),
      at: 30_000,
      want: [['NoHolder', 'It has no holder, and was last written 31s ago.']],
    },
    {
      name: 'reports an old release although candidates exist',
      lease: watchedLease([0], { holderIdentity: '' }),
      at: 2 * HOUR,
      parts: { candidates: candidates('web-0') },
      want: [['NoHolder', 'It has no holder, and was last written 120m ago.']],
    },
    {
      name: 'reports a held, leftover Lease',
      lease: watchedLease([0]),
      at: 2 * HOUR,
      want: [['LeftOver', 'web-0_1234 has not renewed it for 120m; it lasts 15s. No Pod was found for it.']],
    },
    {
      name: 'does not call a Lease with candidates leftover, however long it has been expired',
      lease: watchedLease([0]),
      at: 2 * HOUR,
      parts: { candidates: candidates('web-1_5678') },
      want: [
        ['HolderGone', 'web-0_1234 has not renewed it for 120m; it lasts 15s. No Pod was found for it.'],
      ],
    },
    {
      name: 'does not call a Lease leftover if Pods are unknown',
      lease: watchedLease([0]),
      at: 2 * HOUR,
      parts: { pods: undefined },
      want: [['HolderSilent', 'web-0_1234 has not renewed it for 120m; it lasts 15s.']],
    },
    {
      name: 'reports a leftover Lease, without a holder or a renewTime',
      lease: watchedLease([0], { holderIdentity: '', renewTime: undefined }),
      at: 2 * HOUR,
      want: [['LeftOver', 'It has no holder, and was last written 120m ago.']],
    },
    {
      name: 'reports missing fields',
      lease: watchedLease([0], { renewTime: undefined }),
      at: 1000,
      want: [['NoTimes', 'It has the holder web-0_1234, but no renewTime.']],
    },
    {
      name: 'names the only Pod of a workload',
      lease: watchedLease([0, 2000], { holderIdentity: 'web-7d8-x2x4z_1' }),
      at: 3000,
      parts: { pods: [makePod({ name: 'web-7d8-x2x4z', owner: { kind: 'ReplicaSet', name: 'web-7d8' } })] },
      want: [['NoStandby', 'web-7d8-x2x4z is the only Pod of Deployment web.']],
    },
    {
      name: 'is not there in a rolling update, with a replica of another ReplicaSet',
      lease: watchedLease([0, 2000], { holderIdentity: 'web-7d8-x2x4z_1' }),
      at: 3000,
      parts: {
        pods: ['web-7d8', 'web-9f6'].map((name) =>
          makePod({ name: `${name}-x2x4z`, owner: { kind: 'ReplicaSet', name } }),
        ),
      },
      want: [],
    },
    {
      name: 'names the only candidate',
      lease: watchedLease([0, 2000]),
      at: 3000,
      parts: { candidates: candidates('web-0_1234') },
      want: [['NoStandby', 'web-0_1234 is the only candidate.']],
    },
    {
      name: 'counts no candidate that has been silent for half an hour',
      lease: watchedLease([HOUR, HOUR + 2000]),
      at: HOUR + 3000,
      parts: { candidates: candidates('web-0_1234', 'ghost') },
      want: [['NoStandby', 'web-0_1234 is the only candidate.']],
    },
    {
      name: 'reports a slow failover',
      lease: watchedLease([0, 26_000, 52_000], { leaseDurationSeconds: 137 }),
      at: 53_000,
      want: [['SlowFailover', 'A crash of its holder costs about 163s.']],
    },
    {
      name: 'reports late renewals',
      lease: watchedLease([0, 2000, 13_000]),
      at: 14_000,
      want: [['RenewsLate', 'It was not renewed for 11s; it lasts 15s.']],
    },
    {
      name: 'reports a leader that changes often',
      lease: watchedLease([5 * HOUR, 5 * HOUR + 2000], { leaseTransitions: 12 }),
      at: 5 * HOUR + 3000,
      want: [['ChangesOften', 'Its holder has changed 12 times in 5h.']],
    },
    {
      name: 'is not there for changes over a long time',
      lease: watchedLease([20 * HOUR, 20 * HOUR + 2000], { leaseTransitions: 12 }),
      at: 20 * HOUR + 3000,
      want: [],
    },
  ])('$name', ({ lease, at, parts, want }) => {
    const { findings } = audit(lease, at, parts);
    expect(findings.map(({ finding, what }) => [finding, what])).toEqual(want);
  });

  test('comes with its severity, its meaning and advice', () => {
    const [finding] = audit(watchedLease([0]), 20_000).findings;
    expect(finding).toMatchObject({
      severity: 'error',
      meaning: expect.stringContaining('seems not to exist'),
      advice: expect.stringContaining('no replica takes over'),
    });
  });
});

test('Leases are sorted by severity, then by the cost of a crash, then by name', () => {
  const named = (name: string, spec: object = {}) => watchedLease([0, 2000], spec, { name });
  const leases = [
    named('b'),
    named('a'),
    named('longer', { leaseDurationSeconds: 25 }),
    named('slow', { leaseDurationSeconds: 60 }),
    named('slower', { leaseDurationSeconds: 90 }),
    watchedLease([0], { leaseDurationSeconds: 1 }, { name: 'silent' }),
  ];
  const { leases: sorted } = auditOf(makeObservation(3000, { leases }));
  expect(sorted.map(({ name }) => name)).toEqual(['silent', 'slower', 'slow', 'longer', 'a', 'b']);
});

test('the unread parts and the number of heartbeats are passed on', () => {
  const unread = [{ what: 'pods', why: '403 Forbidden', grant: 'list pods' }] as const;
  const heartbeats = { nodes: 3, apiServers: 1 };
  expect(auditOf(makeObservation(0, { unread, heartbeats }))).toMatchObject({ unread, heartbeats });
});
