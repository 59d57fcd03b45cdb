import { describe, expect, test } from 'vitest';
import { decideElection } from '../../src/election/decide.ts';
import {
  type ObservedPod,
  observePod,
  type Pod,
  type PodContainer,
  type PossiblePods,
} from '../../src/election/holder-binding.ts';
import type { Instant, Lease } from '../../src/election/model.ts';
import { holderEndIn } from '../../src/election/view.ts';
import {
  type InputBuilder,
  makeCandidate,
  makeInput,
  makeLease,
  makeNow,
  OLDEST,
  wallAt,
} from '../support/election-builders.ts';

const HOLDER = 'web-0_5c7a';
const STARTED = -30_000;
const ACQUIRED = 1000;
const ENDED = 9500;

const instance = { id: 'containerd://1', startedAt: wallAt(STARTED) };
const main: PodContainer = { name: 'main', running: instance, ended: [] };
const sidecar: PodContainer = { name: 'proxy', running: { ...instance, id: 'containerd://p' }, ended: [] };
const pod: Pod = {
  ...{ namespace: 'kube-system', name: 'web-0', uid: 'uid-of-web-0', hostname: 'web-0' },
  ...{ isOnHostNetwork: false, isMirror: false, hasHostPid: false, sharesProcessNamespace: false },
  ...{
    leadingContainer: undefined,
    defaultContainer: undefined,
    unreadySince: undefined,
    containers: [main],
  },
};

/** A Pod, first seen at `seenAt`, whose first container ends at `ENDED`. */
function endedPod(change: Partial<Pod> = {}, seenAt: Instant = STARTED): ObservedPod {
  const before = observePod(undefined, { ...pod, ...change }, seenAt);
  const [first = main, ...others] = before.pod.containers;
  const end = { ...instance, finishedAt: wallAt(9000), reason: 'Error' };
  const containers = [{ ...first, running: undefined, ended: [end] }, ...others];
  return observePod(before, { ...before.pod, containers }, ENDED);
}

const runningPod = (change: Partial<Pod>) => observePod(undefined, { ...pod, ...change }, STARTED);

/** A Lease that asks for crash evidence. A plain elector takes it from another at 1 s, and renews it until 8 s. */
function heldPlainly(fields: Partial<Lease> = {}, until: Instant = 8000): InputBuilder {
  const lease = (holder: string, at: Instant) =>
    makeLease(holder)
      .lasting(15)
      .renewedAt(at)
      .with({
        ...{ strategy: undefined, isAcquireTimeRenewers: true, asksForEvidence: true },
        ...{ acquireTime: wallAt(holder === HOLDER ? ACQUIRED : 0), resourceVersion: `${at}`, ...fields },
      });
  let input = makeInput().settings({ isCrashEvidenceUsed: true }).sees(lease('', 0).lasting(1), 0);
  for (let at = ACQUIRED; at <= until; at += 1000)
    input = input.sees(lease(fields.holderIdentity ?? HOLDER, at), at);
  return input;
}

const endIn = (input: InputBuilder, ...pods: readonly ObservedPod[]) =>
  holderEndIn(input.with({ holderPods: { pods } }).build());

describe('the end of a plain elector is proven (rule 17)', () => {
  test('when the only container of its Pod has ended and one renewal is missing', () => {
    expect(endIn(heldPlainly(), endedPod())).toMatchObject({ kind: 'ends', at: ENDED + 1000 });
  });

  test('if its Namespace asks for it', () => {
    const input = heldPlainly({ asksForEvidence: undefined as never }).with({
      isEvidenceAskedByNamespace: true,
    });
    expect(endIn(input, endedPod())).toMatchObject({ kind: 'ends' });
  });

  test('if an annotation names its container', () => {
    const several = { containers: [main, sidecar], leadingContainer: 'main' };
    expect(endIn(heldPlainly(), endedPod(several))).toMatchObject({ kind: 'ends' });
  });

  test('only at the expiry if only kubectl’s annotation names the container and no renewal was seen', () => {
    const several = endedPod({ containers: [main, sidecar], defaultContainer: 'main' });
    expect(endIn(heldPlainly({}, ACQUIRED), several)).toMatchObject({ kind: 'ends', at: 16_000 });
  });
});

describe('there is no proof about a plain elector (rule 17)', () => {
  test.for<[name: string, missing: string, fields: Partial<Lease>, pods: readonly ObservedPod[]]>([
    ['nothing asks for it', 'NotAsked', { asksForEvidence: undefined as never }, [endedPod()]],
    ['no Pod has the hostname', 'NoPod', {}, []],
    ['it may run in another Pod', 'NoPod', {}, [endedPod({ name: 'web-1', hostname: 'web-1' })]],
    [
      'a Pod of another namespace has the same name',
      'SeveralPods',
      {},
      [endedPod(), runningPod({ namespace: 'other', uid: 'x' })],
    ],
    [
      'another Pod has its name as hostname',
      'SeveralPods',
      {},
      [endedPod(), runningPod({ name: 'forged', uid: 'x' })],
    ],
    [
      'its Pod has another hostname than the one with its name',
      'SeveralPods',
      {},
      [endedPod({ hostname: 'other' }), runningPod({ name: 'forged', uid: 'x' })],
    ],
    ['the Pod is in another namespace', 'PodInOtherNamespace', {}, [endedPod({ namespace: 'other' })]],
    ['the Pod has the hostname of its node', 'HostNetwork', {}, [endedPod({ isOnHostNetwork: true })]],
    ['the kubelet runs the Pod from a file', 'MirrorPod', {}, [endedPod({ isMirror: true })]],
    ['the Pod has hostPID', 'HostProcesses', {}, [endedPod({ hasHostPid: true })]],
    [
      'the containers share their processes',
      'SharedProcesses',
      {},
      [endedPod({ sharesProcessNamespace: true })],
    ],
    ['two containers may elect', 'ContainerUnknown', {}, [endedPod({ containers: [main, sidecar] })]],
    [
      'another container leads than the one that has ended',
      'ContainerRuns',
      { leadingContainer: 'proxy' },
      [endedPod({ containers: [main, sidecar] })],
    ],
    ['a restart keeps its identity', 'NoHostInIdentity', { holderIdentity: 'web-0' }, [endedPod()]],
    ['its identity has no random part', 'NoHostInIdentity', { holderIdentity: 'web-0_' }, [endedPod()]],
    [
      'its identity does not begin with the hostname',
      'NoHostInIdentity',
      { holderIdentity: '_web-0_5c7a' },
      [endedPod()],
    ],
    ['the Lease has no acquireTime', 'NoAcquireTime', { acquireTime: undefined }, [endedPod()]],
    [
      'another client has written acquireTime',
      'NoAcquireTime',
      { isAcquireTimeRenewers: undefined as never },
      [endedPod()],
    ],
    [
      'it has acquired the Lease before the container began to run',
      'OtherInstance',
      { acquireTime: wallAt(STARTED - 1000) },
      [endedPod()],
    ],
    ['the Lease names a strategy', 'NoOwnerReference', { strategy: OLDEST }, [endedPod()]],
    ['the Lease names a preferredHolder', 'NoOwnerReference', { preferredHolder: 'web-1' }, [endedPod()]],
    ['a participant renews it', 'NoOwnerReference', { isRenewedByParticipant: true }, [endedPod()]],
    [
      'the Lease is a heartbeat of a node',
      'NoOwnerReference',
      { namespace: 'kube-node-lease' },
      [endedPod()],
    ],
    ['a Pod of that name has come since it leads', 'PodTooNew', {}, [endedPod({}, ACQUIRED)]],
  ])('if %s', ([, missing, fields, pods]) => {
    expect(endIn(heldPlainly(fields), ...pods)).toEqual({ kind: 'unproven', missing });
  });

  test('if a later Pod has replaced the Pod of that name: the container status may be that of the later one', () => {
    const { pod: ended } = endedPod();
    const later = observePod(endedPod(), { ...ended, uid: 'uid-of-later' }, ENDED);
    expect(endIn(heldPlainly(), later)).toEqual({ kind: 'unproven', missing: 'PodTooNew' });
  });

  test('if another Pod had the hostname while it led: its process may live on', () => {
    const holderPods: PossiblePods = { pods: [endedPod()], sharedAt: 2000 };
    const end = holderEndIn(heldPlainly().with({ holderPods }).build());
    expect(end).toEqual({ kind: 'unproven', missing: 'PodTooNew' });
  });

  test('if the Lease has candidates, and the holder is not one of them', () => {
    const contested = heldPlainly().candidates(makeCandidate('b').seenAt(0));
    expect(endIn(contested, endedPod())).toEqual({ kind: 'unproven', missing: 'NoOwnerReference' });
  });

  test('if the first list shows that it leads: the Pod may be a later one', () => {
    const lease = makeLease(HOLDER)
      .renewedAt(5000)
      .with({
        strategy: undefined,
        isAcquireTimeRenewers: true,
        asksForEvidence: true,
        acquireTime: wallAt(1000),
      });
    const listed = makeInput().settings({ isCrashEvidenceUsed: true }).sees(lease, 6000, true);
    expect(endIn(listed, endedPod())).toEqual({ kind: 'unproven', missing: 'PodTooNew' });
  });
});

describe('the Lease of a plain elector that has ended (rule 17)', () => {
  const ended = heldPlainly().with({ holderPods: { pods: [endedPod()] } });
  const decidedAt = (input: InputBuilder, at: Instant) => decideElection(input.build(), makeNow(at));

  test('is emptied at the moment of the proof, as by a release', () => {
    expect(decidedAt(ended, ENDED)).toMatchObject({
      ...{ reason: 'PlainElector', actions: [] },
      requeue: { kind: 'at', time: ENDED + 1000 },
    });
    const { reason, actions } = decidedAt(ended, ENDED + 1000);
    expect(reason).toBe('HolderEnded');
    expect(actions).toMatchObject([
      {
        kind: 'UpdateLease',
        resourceVersion: '8000',
        change: { kind: 'release', renewTime: wallAt(10_500) },
      },
    ]);
  });

  test('is left to its electors when it has expired', () => {
    expect(decidedAt(ended, 8000 + 15_000)).toMatchObject({ reason: 'PlainElector', actions: [] });
  });

  test('is left alone while the elector renews', () => {
    const live = heldPlainly({}, 9000).with({ holderPods: { pods: [endedPod()] } });
    expect(decidedAt(live, ENDED + 1000).actions).toEqual([]);
  });

  test.for<[name: string, input: InputBuilder]>([
    ['without the setting', heldPlainly().settings({ isCrashEvidenceUsed: false })],
    ['if nothing asks for evidence', heldPlainly({ asksForEvidence: undefined as never })],
    [
      'if it has candidates, even if they are being deleted',
      heldPlainly().candidates(makeCandidate('b').deleting().seenAt(0)),
    ],
  ])('is left alone %s', ([, input]) => {
    expect(decidedAt(input.with({ holderPods: { pods: [endedPod()] } }), 10_600)).toMatchObject({
      ...{ reason: 'NoCandidates', actions: [] },
    });
  });

  test('is left alone while a former holder may believe that it leads', () => {
    // `x` renews for 60 s, and loses the Lease to another client at 1 s without a release.
    const before = makeLease('x').lasting(60).with({ strategy: undefined, isAcquireTimeRenewers: true });
    let input = makeInput()
      .settings({ isCrashEvidenceUsed: true })
      .sees(before.renewedAt(0).with({ acquireTime: wallAt(-5000) }), 0)
      .sees(before.renewedAt(900).with({ acquireTime: wallAt(-5000), resourceVersion: '900' }), 900);
    for (let at = ACQUIRED; at <= 8000; at += 1000)
      input = input.sees(
        makeLease(HOLDER)
          .lasting(15)
          .renewedAt(at)
          .with({
            ...{ strategy: undefined, isAcquireTimeRenewers: true, asksForEvidence: true },
            ...{ acquireTime: wallAt(ACQUIRED), leaseTransitions: 1, resourceVersion: `${at}` },
          }),
        at,
      );
    const decision = decidedAt(input.with({ holderPods: { pods: [endedPod()] } }), 10_600);
    expect(decision).toMatchObject({ reason: 'PlainElector', actions: [] });
    expect(decision.requeue).toEqual({ kind: 'at', time: 61_000 });
  });
});
