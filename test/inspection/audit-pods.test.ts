import { describe, expect, test } from 'vitest';
import type { Lease } from '../../src/election/model.ts';
import {
  bindHolder,
  type CrashEvidence,
  crashEvidenceFor,
  PodIndex,
  type Sureness,
} from '../../src/inspection/audit-pods.ts';
import { makeCandidate, makeLease, OLDEST, wallAt } from '../support/election-builders.ts';
import { makePod, type PodParts } from './audit-builders.ts';

const UID = '1234abcd-0000-4000-8000-000000000000';
const LONG = `web-${'x'.repeat(70)}-7d8f6b5c9-x2x4z`;

function holding(holderIdentity: string, fields: Partial<Lease> = {}, ownerUid?: string) {
  const lease = makeLease(holderIdentity)
    .with({
      namespace: 'shop',
      name: 'web',
      strategy: undefined,
      acquireTime: wallAt(0),
      isAcquireTimeRenewers: true,
      ...fields,
    })
    .build();
  const owned = makeCandidate(holderIdentity).with({ pod: { name: 'web-0', uid: ownerUid ?? '' } });
  return { lease, candidate: ownerUid === undefined ? undefined : owned.build() };
}

function bind(identity: string, pods: readonly PodParts[], fields: Partial<Lease> = {}, ownerUid?: string) {
  const index = new PodIndex(pods.map(makePod));
  const { sureness, pod, gone } = bindHolder(holding(identity, fields, ownerUid), index);
  return { sureness, pod: pod && `${pod.namespace}/${pod.name}`, gone };
}

const static_ = { spec: { hostNetwork: true }, annotations: { 'kubernetes.io/config.mirror': 'x' } };

describe('the Pod of a holder', () => {
  test.each<{
    name: string;
    identity: string;
    pods: readonly PodParts[];
    fields?: Partial<Lease>;
    ownerUid?: string;
    want: { sureness: Sureness; pod?: string; gone?: string };
  }>([
    {
      name: 'is the owner of its LeaseCandidate',
      identity: 'anything',
      ownerUid: 'uid-of-web-0',
      pods: [{ name: 'web-0' }],
      want: { sureness: 'owner', pod: 'shop/web-0' },
    },
    {
      name: 'is gone if the owner of its LeaseCandidate is, even if a later Pod has the name',
      identity: 'web-0',
      ownerUid: 'a former uid',
      pods: [{ name: 'web-0' }],
      want: { sureness: 'owner', gone: 'web-0 is gone' },
    },
    {
      name: 'has the beginning of its uid in the identity of a participant',
      identity: 'web-0-1234abcd',
      pods: [{ name: 'web-0', uid: UID }],
      want: { sureness: 'uid', pod: 'shop/web-0' },
    },
    {
      name: 'is gone if a later Pod has another uid than the identity of a participant',
      identity: 'web-0-99999999',
      pods: [{ name: 'web-0', uid: UID }],
      fields: { isRenewedByParticipant: true },
      want: { sureness: 'uid', gone: 'web-0 is gone: a later Pod has its name' },
    },
    {
      name: 'has the host name in the identity of client-go',
      identity: 'web-0_6cb25b29-330d-4932-a546-1223209f7105',
      pods: [{ name: 'web-0' }, { name: 'web-1' }],
      want: { sureness: 'name', pod: 'shop/web-0' },
    },
    {
      name: 'has the host name after the prefix of a coordinator',
      identity: 'coordinated-leader-election_cle-0_6cb25b29',
      pods: [{ name: 'cle-0' }],
      want: { sureness: 'name', pod: 'shop/cle-0' },
    },
    {
      name: 'has a name that begins with the hostname, which is truncated',
      identity: `${LONG.slice(0, 63)}_6cb25b29`,
      pods: [{ name: LONG }],
      want: { sureness: 'name', pod: `shop/${LONG}` },
    },
    {
      name: 'has the hostname that its spec sets',
      identity: 'leader_6cb25b29',
      pods: [{ name: 'web-0', spec: { hostname: 'leader' } }],
      want: { sureness: 'name', pod: 'shop/web-0' },
    },
    {
      name: 'has its name at the beginning of the identity',
      identity: 'cert-manager-7d8-x2x4z-external-cert-manager-controller',
      pods: [{ name: 'cert-manager-7d8-x2x4z', namespace: 'cert-manager' }],
      want: { sureness: 'name', pod: 'cert-manager/cert-manager-7d8-x2x4z' },
    },
    {
      name: 'is the one in the namespace of the Lease, if others have the name, too',
      identity: 'web-0_1',
      pods: [{ name: 'web-0', namespace: 'a' }, { name: 'web-0' }],
      want: { sureness: 'name', pod: 'shop/web-0' },
    },
    {
      name: 'is unknown if two other namespaces have one with that name',
      identity: 'web-0_1',
      pods: [
        { name: 'web-0', namespace: 'a' },
        { name: 'web-0', namespace: 'b' },
      ],
      want: { sureness: 'none' },
    },
    {
      name: 'is gone if the Pod with that name was created after the Lease was acquired',
      identity: 'web-0_1',
      pods: [{ name: 'web-0', createdAt: 10_000 }],
      want: { sureness: 'none', gone: 'web-0 is gone: a later Pod has its name' },
    },
    {
      name: 'may be as old as the leadership, by clocks that differ a little',
      identity: 'web-0_1',
      pods: [{ name: 'web-0', createdAt: 1500 }],
      want: { sureness: 'name', pod: 'shop/web-0' },
    },
    {
      name: 'has ended if it was evicted',
      identity: 'web-0_1',
      pods: [{ name: 'web-0', phase: 'Failed' }],
      want: { sureness: 'name', pod: 'shop/web-0', gone: 'web-0 has ended' },
    },
    {
      name: 'is the one on the network of its node that is called as the Lease',
      identity: 'cp-1_87c54c26',
      fields: { name: 'kube-scheduler' },
      pods: [
        { name: 'kube-scheduler-cp-1', ...static_, spec: { hostNetwork: true, nodeName: 'cp-1' } },
        { name: 'kube-apiserver-cp-1', ...static_, spec: { hostNetwork: true, nodeName: 'cp-1' } },
        { name: 'kube-scheduler-cp-2', ...static_, spec: { hostNetwork: true, nodeName: 'cp-2' } },
      ],
      want: { sureness: 'node', pod: 'shop/kube-scheduler-cp-1' },
    },
    {
      name: 'is the one on its node whose container has the name at the beginning of the Lease’s',
      identity: 'worker-1_87c54c26',
      fields: { name: 'cilium-operator-resource-lock' },
      pods: [
        {
          name: 'op-x2x4z',
          containers: ['cilium-operator'],
          spec: { hostNetwork: true, nodeName: 'worker-1.example.com' },
        },
      ],
      want: { sureness: 'node', pod: 'shop/op-x2x4z' },
    },
    {
      name: 'is one of several on its node',
      identity: 'cp-1_87c54c26',
      pods: [
        { name: 'a', spec: { hostNetwork: true, nodeName: 'cp-1' } },
        { name: 'b', spec: { hostNetwork: true, nodeName: 'cp-1' } },
      ],
      want: { sureness: 'node' },
    },
    {
      name: 'is the API server of the node if the built-in coordinator holds the lock',
      identity: 'cp-1_87c54c26',
      fields: { namespace: 'kube-system', name: 'leader-election-controller' },
      pods: ['kube-scheduler-cp-1', 'kube-apiserver-cp-1'].map((name) => ({
        name,
        namespace: 'kube-system',
        spec: { hostNetwork: true, nodeName: 'cp-1' },
      })),
      want: { sureness: 'node', pod: 'kube-system/kube-apiserver-cp-1' },
    },
    {
      name: 'is unknown if the identity names nothing that exists',
      identity: 'build-server-7',
      pods: [{ name: 'web-0' }],
      want: { sureness: 'none' },
    },
  ])('$name', ({ identity, pods, fields, ownerUid, want }) => {
    expect(bind(identity, pods, fields, ownerUid)).toEqual({ pod: undefined, gone: undefined, ...want });
  });

  test('is unknown without the permission to list Pods', () => {
    expect(bindHolder(holding('web-0_1'), undefined)).toMatchObject({ sureness: 'unknown', pod: undefined });
  });
});

describe('the container of a holder', () => {
  const ours = 'coordinated-leader-election.dev/container';
  const kubectls = 'kubectl.kubernetes.io/default-container';
  test.each([
    { name: 'is the only one', pod: {}, named: undefined, want: 'app' },
    {
      name: 'is unknown among several',
      pod: { containers: ['app', 'proxy'] },
      named: undefined,
      want: undefined,
    },
    {
      name: 'is unknown beside a sidecar among the init containers',
      pod: { spec: { initContainers: [{ name: 'proxy', restartPolicy: 'Always' }, { name: 'setup' }] } },
      named: undefined,
      want: undefined,
    },
    {
      name: 'is the only one beside init containers that end',
      pod: { spec: { initContainers: [{ name: 'setup' }] } },
      named: undefined,
      want: 'app',
    },
    {
      name: "is kubectl's default",
      pod: { containers: ['app', 'proxy'], annotations: { [kubectls]: 'app' } },
      named: undefined,
      want: 'app',
    },
    {
      name: 'is that of our annotation on the Pod before the default',
      pod: { containers: ['app', 'proxy'], annotations: { [kubectls]: 'proxy', [ours]: 'app' } },
      named: undefined,
      want: 'app',
    },
    {
      name: 'is that of our annotation on the candidate or the Lease before those on the Pod',
      pod: { containers: ['app', 'proxy'], annotations: { [ours]: 'proxy' } },
      named: 'app',
      want: 'app',
    },
    { name: 'is unknown if no container has the name', pod: {}, named: 'other', want: undefined },
  ])('$name', ({ pod, named, want }) => {
    const index = new PodIndex([makePod({ name: 'web-0', ...pod })]);
    const binding = bindHolder(
      holding('web-0_1', named === undefined ? {} : { leadingContainer: named }),
      index,
    );
    expect(binding.container).toBe(want);
  });
});

describe('crash evidence', () => {
  test.each<{
    want: CrashEvidence;
    name: string;
    pod?: Partial<PodParts>;
    identity?: string;
    fields?: Partial<Lease>;
    ownerUid?: string;
    hasCandidates?: boolean;
  }>([
    { name: 'a plain elector in its Pod', want: 'Applies' },
    {
      name: 'a participant with its Pod as owner',
      ownerUid: 'uid-of-web-0',
      hasCandidates: true,
      want: 'Applies',
    },
    { name: 'a candidate without an owner', hasCandidates: true, want: 'NoOwnerReference' },
    { name: 'no Pod', identity: 'elsewhere_1', want: 'NoPod' },
    { name: 'a Pod of another namespace', pod: { namespace: 'a' }, want: 'PodInOtherNamespace' },
    { name: 'a static Pod', pod: { annotations: { 'kubernetes.io/config.mirror': 'x' } }, want: 'MirrorPod' },
    {
      name: 'the name of a node',
      identity: 'node-1_1',
      pod: { name: 'web-x', spec: { hostNetwork: true, nodeName: 'node-1' } },
      want: 'HostNetwork',
    },
    { name: 'an identity that a restarted container has, too', identity: 'web-0', want: 'NoHostInIdentity' },
    { name: 'no time from which on it leads', fields: { acquireTime: undefined }, want: 'NoAcquireTime' },
    { name: 'processes of the node', pod: { spec: { hostPID: true } }, want: 'HostProcesses' },
    {
      name: 'processes that containers share',
      pod: { spec: { shareProcessNamespace: true } },
      want: 'SharedProcesses',
    },
    { name: 'a Lease that names a strategy', fields: { strategy: OLDEST }, want: 'NoOwnerReference' },
    {
      name: 'an acquireTime of another writer',
      fields: { isAcquireTimeRenewers: undefined as never },
      want: 'NoAcquireTime',
    },
    { name: 'several containers', pod: { containers: ['app', 'proxy'] }, want: 'ContainerUnknown' },
  ])(
    'for $name: $want',
    ({ pod = {}, identity = 'web-0_1', fields, ownerUid, hasCandidates = false, want }) => {
      const index = new PodIndex([makePod({ name: 'web-0', ...pod })]);
      const held = holding(identity, fields, ownerUid);
      expect(crashEvidenceFor(held, hasCandidates, index)).toBe(want);
    },
  );

  test('is doubtful if a Pod of another namespace has the same hostname', () => {
    const pods = [{ name: 'web-0' }, { name: 'db-0', namespace: 'a', spec: { hostname: 'web-0' } }];
    const index = new PodIndex(pods.map(makePod));
    expect(crashEvidenceFor(holding('web-0_1'), false, index)).toBe('SeveralPods');
  });

  test('is unknown without the permission to list Pods', () => {
    expect(crashEvidenceFor(holding('web-0_1'), false, undefined)).toBe('PodsUnknown');
  });
});
