import { describe, expect, test } from 'vitest';
import {
  type CandidateApiVersion,
  CUSTOM_API_VERSION as OWN,
} from '../../src/coordination/candidate-sources.ts';
import { FENCE, GROUP } from '../../src/election/model.ts';
import { type Evidence, evidenceRights, labelRights } from '../../src/inspection/evidence.ts';
import { diagnose, type RunbookName, runbookPath } from '../../src/inspection/findings.ts';
import { makeCandidate, makeInput, makeLease, makeNow } from '../support/election-builders.ts';

const V1BETA1 = 'coordination.k8s.io/v1beta1';
const NOW = makeNow(10_000);
const lease = makeLease('a').renewedAt(9000);
const fenced = makeInput()
  .sees(makeLease(FENCE).lasting(15), 9000)
  .candidates(makeCandidate('a').seenAt(10_000));
const led = makeInput().sees(lease, 9000).candidates(makeCandidate('a').seenAt(10_000));

function sees(input: typeof led): Evidence['elections'] {
  return {
    candidateApis: [V1BETA1],
    forbiddenApis: [],
    now: NOW,
    elections: [{ input: input.build(), rawLease: undefined }],
  };
}

function nothing(...candidateApis: readonly CandidateApiVersion[]): Evidence['elections'] {
  return { candidateApis, forbiddenApis: [], now: NOW, elections: [] };
}

const well: Evidence = {
  serverVersion: 'v1.36.3',
  user: 'admin',
  elections: sees(led),
  lock: { kind: 'builtIn', holder: 'apiserver-1', renewedSecondsAgo: 1 },
  lockNamespace: 'kube-system',
  otherLocks: [],
  trial: { kind: 'created', keepsStrategy: true },
  serverAheadMs: { min: -900, max: 100 },
  missingRights: [],
  limitedTo: { elections: undefined, rights: undefined },
};

describe('a diagnosis', () => {
  test('does not ask for a coordinator if none could work', () => {
    const lock = { kind: 'none', formerHolder: '' } as const;
    const adviceOf = (...candidateApis: readonly CandidateApiVersion[]) =>
      diagnose({ ...well, lock, elections: nothing(...candidateApis) }).find(
        ({ check }) => check === 'CoordinatorLock',
      );
    expect(adviceOf()).toMatchObject({ advice: expect.stringMatching(/^Serve LeaseCandidates first/) });
    expect(adviceOf(V1BETA1)).toMatchObject({ advice: expect.stringMatching(/^Start the coordinator/) });
  });

  test('does not need the version of the server', () => {
    expect(diagnose({ ...well, serverVersion: '' })[0]).toMatchObject({
      check: 'APIServed',
      severity: 'ok',
      what: `The server (of unknown version) serves LeaseCandidates as ${V1BETA1}.`,
    });
  });

  test('reports another namespace with a lock', () => {
    const lock = { kind: 'none', formerHolder: '' } as const;
    const found = diagnose({ ...well, lock, otherLocks: [{ namespace: 'infra', holder: 'us' }] });
    expect(found.find(({ check }) => check === 'CoordinatorLock')?.advice).toMatch(
      /--lock-namespace infra\.$/,
    );
  });

  test.each([
    { lockNamespace: 'kube-system', want: /If the provider closes kube-system/ },
    { lockNamespace: 'infra', want: /^(?!.*closes kube-system)/ },
  ])('explains what to do if $lockNamespace is closed', ({ lockNamespace, want }) => {
    const right = {
      group: 'coordination.k8s.io',
      resource: 'leases',
      verb: 'create',
      namespace: lockNamespace,
    } as const;
    const elections = nothing(OWN);
    const found = diagnose({ ...well, elections, lockNamespace, missingRights: [right] });
    expect(found.find(({ check }) => check === 'Permissions')?.advice).toMatch(want);
  });

  test('separates permissions for labels from permissions for elections', () => {
    const missingRights = labelRights.filter(({ verb }) => verb === 'patch');
    const found = diagnose({ ...well, missingRights }).filter(({ check }) => check === 'Permissions');
    expect(found).toMatchObject([
      { severity: 'ok' },
      {
        severity: 'warning',
        what: 'admin may not: patch pods.',
        meaning: expect.stringContaining('elects leaders, but the label'),
        advice: expect.stringMatching(/--set config\.leaderLabel=true\.$/),
      },
    ]);
    expect(found[1]).not.toHaveProperty('runbook');
  });

  test('reports the loss of a coordinator that may not watch Pods', () => {
    const missingRights = evidenceRights.filter(({ verb }) => verb === 'watch');
    const found = diagnose({ ...well, missingRights }).filter(({ check }) => check === 'Permissions');
    expect(found).toMatchObject([
      { severity: 'ok' },
      {
        severity: 'warning',
        what: 'admin may not: watch pods, watch namespaces.',
        meaning: expect.stringContaining('only when it expires'),
        advice: expect.stringMatching(/--set crashEvidence\.enabled=true\.$/),
      },
    ]);
  });

  const onOwn = { group: GROUP, resource: 'leasecandidates' } as const;
  test.each<{ name: string; evidence: Partial<Evidence>; want: readonly [check: string, text: RegExp][] }>([
    {
      name: 'the feature gate is off, and our own LeaseCandidates are not defined',
      evidence: { elections: nothing(), trial: { kind: 'created', keepsStrategy: false } },
      want: [
        [
          'APIServed',
          /kubectl apply -f deploy\/crd\.yaml, .*instead: Start every kube-apiserver with --feature-gates/,
        ],
      ],
    },
    {
      name: 'our own LeaseCandidates are defined, and may not be read',
      evidence: { elections: undefined, missingRights: [{ ...onOwn, verb: 'list' }] },
      want: [
        ['APIServed', /credentials that may list leases and leasecandidates/],
        [
          'Permissions',
          /may not: list leasecandidates\.coordinated-leader-election\.dev\. .*kubectl apply -f deploy\/rbac\.yaml/,
        ],
      ],
    },
    {
      name: 'only those of the server may be read',
      evidence: {
        elections: { candidateApis: [V1BETA1, OWN], forbiddenApis: [OWN], now: NOW, elections: [] },
        missingRights: [{ ...onOwn, verb: 'watch' }],
      },
      want: [
        [
          'APIServed',
          /leasecandidates of coordinated-leader-election\.dev\/v1alpha1\. .* ClusterRole reader/,
        ],
        ['Permissions', /watch leasecandidates\.coordinated-leader-election\.dev/],
      ],
    },
  ])('explains what to do if $name', ({ evidence, want }) => {
    const findings = diagnose({ ...well, ...evidence }).filter(({ severity }) => severity !== 'ok');
    expect(findings.map(({ check }) => check)).toEqual(want.map(([check]) => check));
    for (const [index, [, text]] of want.entries()) {
      expect(`${findings[index]?.what} ${findings[index]?.advice}`).toMatch(text);
    }
  });

  test('explains how to list each group, if both are served', () => {
    const [found] = diagnose({ ...well, elections: nothing(V1BETA1, OWN) });
    expect(found).toMatchObject({ check: 'APIServed', severity: 'ok' });
    expect(found?.what).toMatch(
      /as coordination\.k8s\.io\/v1beta1 and coordinated-\S+\. .*kubectl get lcand\.$/,
    );
  });

  test('has no complaints about a healthy cluster', () => {
    expect(diagnose(well).filter(({ severity }) => severity !== 'ok')).toEqual([]);
  });

  test.each([
    { name: 'expired a minute ago', renewedAt: -65_000, createdAt: -60_000, seconds: 15 },
    { name: 'lasts long, and has just expired', renewedAt: -128_000, createdAt: -60_000, seconds: 137 },
    { name: 'has a first candidate that has just started', renewedAt: -90_000, createdAt: 0, seconds: 15 },
  ])('has no complaints about a Lease that $name', ({ renewedAt, createdAt, seconds }) => {
    const input = makeInput()
      .sees(makeLease('a').lasting(seconds).renewedAt(renewedAt), renewedAt)
      .candidates(makeCandidate('b').createdAt(createdAt).seenAt(0));
    expect(diagnose({ ...well, elections: sees(input) }).filter(({ severity }) => severity !== 'ok')).toEqual(
      [],
    );
  });

  test('explains how leaders yield with the feature gate off, and is no warning', () => {
    const findings = diagnose({ ...well, trial: { kind: 'created', keepsStrategy: false } });
    expect(findings.filter(({ severity }) => severity !== 'ok')).toEqual([]);
    expect(findings.find(({ check }) => check === 'FeatureGate')?.what).toMatch(/annotations, .* a fence/);
  });

  test.each([
    { name: 'there are', candidateApis: [V1BETA1], want: ['There are no coordinated Leases.'] },
    { name: 'can be', candidateApis: [], want: [] },
  ] as const)('does not praise Leases where none $name', ({ candidateApis, want }) => {
    const findings = diagnose({ ...well, elections: nothing(...candidateApis) });
    expect(findings.filter(({ check }) => check === 'Leases').map(({ what }) => what)).toEqual(want);
  });

  test.each<{
    name: string;
    evidence: Partial<Evidence>;
    want: [check: string, severity: string, what: RegExp, runbook?: RunbookName];
  }>([
    {
      name: 'the API is not served',
      evidence: { elections: nothing() },
      want: ['APIServed', 'error', /v1.36.3.*serves no LeaseCandidates/, 'LeaseCoordinatorWatchStale'],
    },
    {
      name: 'nothing may be listed',
      evidence: { elections: undefined },
      want: ['APIServed', 'warning', /may not list/],
    },
    {
      name: 'no Lease may be created',
      evidence: { trial: { kind: 'refused', message: 'no!' } },
      want: ['FeatureGate', 'warning', /no!/],
    },
    {
      name: 'the lock is free',
      evidence: { lock: { kind: 'none', formerHolder: '' } },
      want: ['CoordinatorLock', 'error', /^No coordinator/, 'LeaseCoordinatorAbsent'],
    },
    {
      name: 'the holder of the lock is gone',
      evidence: { lock: { kind: 'none', formerHolder: 'us' } },
      want: ['CoordinatorLock', 'error', /^us held the lock/, 'LeaseCoordinatorAbsent'],
    },
    {
      name: 'the lock may not be read',
      evidence: { lock: { kind: 'unknown' } },
      want: ['CoordinatorLock', 'warning', /may not read the lock/],
    },
    {
      name: 'the lock is where the built-in coordinator does not look, and that one may elect',
      evidence: { lockNamespace: 'infra' },
      want: ['CoordinatorLock', 'error', /^A lock in infra is refused/, 'LeaseCoordinatorAbsent'],
    },
    {
      name: 'another coordinator has another lock',
      evidence: { otherLocks: [{ namespace: 'infra', holder: 'them' }] },
      want: ['CoordinatorLock', 'warning', /^them in infra holds a lock, too\.$/, 'LeaseCoordinatorNotAlone'],
    },
    {
      name: 'the coordinator has its lock elsewhere',
      evidence: {
        lock: { kind: 'none', formerHolder: '' },
        otherLocks: [{ namespace: 'infra', holder: 'us' }],
      },
      want: [
        'CoordinatorLock',
        'error',
        /^No coordinator holds the lock kube-system/,
        'LeaseCoordinatorAbsent',
      ],
    },
    {
      name: 'rights are missing',
      evidence: { missingRights: [{ group: 'coordination.k8s.io', resource: 'leases', verb: 'patch' }] },
      want: ['Permissions', 'warning', /^admin may not: patch leases\.$/, 'LeaseCoordinatorWriteErrors'],
    },
    {
      name: 'rights to see are missing',
      evidence: {
        missingRights: [{ group: 'coordination.k8s.io', resource: 'leasecandidates', verb: 'watch' }],
      },
      want: ['Permissions', 'warning', /watch leasecandidates/, 'LeaseCoordinatorWatchStale'],
    },
    {
      name: 'the server is ahead',
      evidence: { serverAheadMs: { min: 4000, max: 4800 } },
      want: ['Clocks', 'warning', /^This machine's clock is about 4 s behind the server's/],
    },
    {
      name: 'the server is behind',
      evidence: { serverAheadMs: { min: -6000, max: -5200 } },
      want: ['Clocks', 'warning', /^This machine's clock is about 6 s ahead of the server's/],
    },
    {
      name: 'the time of the server is unknown',
      evidence: { serverAheadMs: undefined },
      want: ['Clocks', 'warning', /^The time of the server is unknown/],
    },
    {
      name: 'a candidate renewed in the future',
      evidence: { elections: sees(led.candidates(makeCandidate('b').renewedAt(60_000).seenAt(10_000))) },
      want: ['Clocks', 'warning', /^kube-system\/b renewed at a time in the future/],
    },
    {
      name: 'a candidate does not answer',
      evidence: { elections: sees(led.candidates(makeCandidate('b').seenAt(0).pingedAt(1000))) },
      want: ['Candidates', 'warning', /^kube-system\/b: did not answer/, 'LeaseCandidatesUnresponsive'],
    },
    {
      name: 'no electable candidate is alive',
      evidence: {
        elections: sees(
          makeInput().candidates(makeCandidate('b').versions(undefined).renewedAt(9000).seenAt(10_000)),
        ),
      },
      want: ['Leases', 'error', /NoLiveCandidates/, 'LeaseWithoutLeader'],
    },
    {
      name: 'candidates want different strategies, and there is no leader',
      evidence: {
        elections: sees(
          makeInput().candidates(
            makeCandidate('b').renewedAt(9000).seenAt(10_000),
            makeCandidate('c').wants('example.com/x').renewedAt(9000).seenAt(10_000),
          ),
        ),
      },
      want: ['Leases', 'error', /^kube-system\/scheduler: StrategyConflict\.$/, 'LeaseStrategyConflict'],
    },
    {
      name: 'no coordinator gives an expired Lease to a candidate that has waited for long',
      evidence: {
        elections: sees(
          makeInput()
            .sees(makeLease('a').lasting(15).renewedAt(-66_000), -66_000)
            .candidates(makeCandidate('b').createdAt(-60_000).seenAt(0)),
        ),
      },
      want: ['Leases', 'error', /^kube-system\/scheduler: AwaitingAcks\.$/, 'LeaseWithoutLeader'],
    },
    {
      name: 'no coordinator creates a Lease for a candidate that has waited for long',
      evidence: { elections: sees(makeInput().candidates(makeCandidate('b').createdAt(-60_000).seenAt(0))) },
      want: ['Leases', 'error', /^kube-system\/scheduler: AwaitingAcks\.$/, 'LeaseWithoutLeader'],
    },
    {
      name: 'a Lease is fenced',
      evidence: { elections: sees(fenced) },
      want: ['Leases', 'warning', /^kube-system\/scheduler: LeaseFenced/, 'LeaseWithoutLeader'],
    },
    {
      name: 'candidates want different strategies, according to a single read, and one leads',
      evidence: {
        elections: sees(led.candidates(makeCandidate('c').wants('example.com/x').seenAt(0))),
      },
      want: [
        'Leases',
        'warning',
        /^kube-system\/scheduler: StrategyConflict, if all candidates answer/,
        'LeaseStrategyConflict',
      ],
    },
  ])('reports if $name', ({ evidence, want: [check, severity, what, runbook] }) => {
    const findings = diagnose({ ...well, ...evidence }).filter((finding) => finding.severity !== 'ok');
    expect(findings).toEqual([
      expect.objectContaining({ check, severity, what: expect.stringMatching(what) }),
    ]);
    expect(findings[0]?.meaning).toBeTruthy();
    expect(findings[0]?.advice).toBeTruthy();
    expect(findings[0]?.runbook).toBe(runbook && runbookPath(runbook));
  });
});
