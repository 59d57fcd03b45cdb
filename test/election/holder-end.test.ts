import { describe, expect, test } from 'vitest';
import { decideElection } from '../../src/election/decide.ts';
import { grantOf } from '../../src/election/decision.ts';
import {
  type EndedInstance,
  type ObservedPod,
  observePod,
  type Pod,
  type PodContainer,
} from '../../src/election/holder-binding.ts';
import type { HolderEnd } from '../../src/election/holder-end.ts';
import { expiryOf } from '../../src/election/lease-memory.ts';
import type { Instant, Lease, LeaseCandidate } from '../../src/election/model.ts';
import { recordFailure, recordRefusal, recordSending } from '../../src/election/record-action.ts';
import { holderEndIn, surveyTenure } from '../../src/election/view.ts';
import {
  type InputBuilder,
  type LeaseBuilder,
  makeCandidate,
  makeInput,
  makeLease,
  makeNow,
  wallAt,
} from '../support/election-builders.ts';

const POD = { name: 'a-0', uid: 'uid-of-pod-a' };
const STARTED = -30_000;

const instance = { id: 'containerd://1', startedAt: wallAt(STARTED) };
/** Ended at `at`, according to the status: in whole seconds, by a clock that is slightly ahead. */
const endedAt = (at: Instant, fields: Partial<EndedInstance> = {}): EndedInstance => ({
  ...instance,
  finishedAt: wallAt(Math.floor(at / 1000) * 1000 + 1000),
  reason: 'Error',
  ...fields,
});
const running: PodContainer = { name: 'main', running: instance, ended: [] };
const pod: Pod = {
  namespace: 'kube-system',
  ...POD,
  hostname: POD.name,
  isOnHostNetwork: false,
  isMirror: false,
  hasHostPid: false,
  sharesProcessNamespace: false,
  leadingContainer: undefined,
  defaultContainer: undefined,
  unreadySince: undefined,
  containers: [running],
};

/** The Pod, seen while its container ran, and at `at`, after the container had ended. */
function seenEnded(at: Instant, end = endedAt(at), change: Partial<Pod> = {}): ObservedPod {
  const before = observePod(
    undefined,
    { ...pod, ...change, containers: change.containers ?? [running] },
    STARTED,
  );
  const containers = before.pod.containers.map((container) =>
    container.name === 'main'
      ? { ...container, running: undefined, ended: [end, ...container.ended] }
      : container,
  );
  return observePod(before, { ...before.pod, containers }, at);
}

/** A Lease that `a` got at 0 and renews every 2 s, for the last time at 8 s; `b` is alive. Leases last 15 s. */
function renewing(lease: Partial<Lease> = {}, candidate: Partial<LeaseCandidate> = {}): InputBuilder {
  const own = makeCandidate('a')
    .renewedAt(7000)
    .with({ pod: POD, ...candidate });
  let input = makeInput()
    .settings({ isCrashEvidenceUsed: true })
    .candidates(own.seenAt(7000), makeCandidate('b').renewedAt(7900).createdAt(7900).seenAt(7900))
    .sees(makeLease('a').lasting(15), 0);
  for (const at of [2000, 4000, 6000, 8000])
    input = input.sees(
      makeLease('a')
        .lasting(15)
        .renewedAt(at)
        .with({ ...lease, resourceVersion: `${at}` }),
      at,
    );
  return input;
}

const endIn = (input: InputBuilder, holderPod: ObservedPod | undefined): HolderEnd | undefined =>
  holderEndIn(input.with(holderPod ? podsOf(holderPod) : {}).build());
const podsOf = (...pods: readonly ObservedPod[]) => ({ holderPods: { pods } });

describe('the end of a holder is proven (rule 17)', () => {
  test('when its container has ended and one renewal is missing', () => {
    expect(endIn(renewing(), seenEnded(8500))).toMatchObject({ kind: 'ends', at: 10_500 });
  });

  test.each([
    { name: 'a usual grant', acquireTime: wallAt(0) },
    { name: 'a grant that gave the Lease back', acquireTime: wallAt(0) - 1n },
    { name: 'a grant by the built-in', acquireTime: undefined },
  ])('the time to take up $name is not the time between two renewals', ({ acquireTime }) => {
    const input = makeInput()
      .settings({ isCrashEvidenceUsed: true })
      .sees(makeLease('a').lasting(15).with({ acquireTime, isRenewedByCoordinator: true }), 0)
      .sees(makeLease('a').lasting(15).with({ acquireTime, resourceVersion: '2' }).renewedAt(100), 100);
    expect(input.build().memory.record).toMatchObject({ holder: 'a', renewedEveryMs: undefined });
    const next = input.sees(
      makeLease('a').lasting(15).with({ acquireTime, resourceVersion: '3' }).renewedAt(2100),
      2100,
    );
    expect(next.build().memory.record?.renewedEveryMs).toBe(2000);
  });

  test('no earlier than a renewal interval after the last seen renewal', () => {
    // The watch of Leases is behind that of Pods.
    const late = renewing().sees(
      makeLease('a').lasting(15).renewedAt(8400).with({ resourceVersion: '9' }),
      9100,
    );
    expect(endIn(late, seenEnded(8500))).toMatchObject({ kind: 'ends', at: 11_100 });
  });

  test('not if a renewal is seen more than 1 s after the end: a later run may have written it, with a clock that was set back', () => {
    const later = renewing().sees(
      makeLease('a').lasting(15).renewedAt(8400).with({ resourceVersion: '9' }),
      9600,
    );
    expect(endIn(later, seenEnded(8500))).toEqual({ kind: 'unproven', missing: 'OtherInstance' });
  });

  test.for<[name: string, everyMs: number, pod: Partial<Pod>, want: number]>([
    ['the interval of its renewals, if that is longer than 1 s', 4000, {}, 4000],
    ['1 s at least, for requests on their way', 300, {}, 1000],
    ['5 s at most, where the container is the only one', 40_000, {}, 5000],
    [
      'all of a long interval, where the container is only the default one',
      40_000,
      { defaultContainer: 'main', containers: [running, { ...running, name: 'other' }] },
      40_000,
    ],
    [
      '5 s at most, where our annotation names the container',
      40_000,
      { leadingContainer: 'main', containers: [running, { ...running, name: 'other' }] },
      5000,
    ],
  ])('after a silence of %s', ([, everyMs, change, want]) => {
    let input = makeInput()
      .settings({ isCrashEvidenceUsed: true })
      .candidates(makeCandidate('a').with({ pod: POD }).seenAt(0))
      .sees(makeLease('a').lasting(137), 0);
    for (const at of [1000, 1000 + everyMs])
      input = input.sees(
        makeLease('a')
          .lasting(137)
          .renewedAt(at)
          .with({ resourceVersion: `${at}` }),
        at,
      );
    const at = 1000 + everyMs + 100;
    expect(endIn(input, seenEnded(at, endedAt(at), change))).toMatchObject({ kind: 'ends', at: at + want });
  });

  test('after 2 s if only one renewal was seen', () => {
    const input = makeInput()
      .settings({ isCrashEvidenceUsed: true })
      .candidates(makeCandidate('a').with({ pod: POD }).seenAt(0))
      .sees(makeLease('a').lasting(15), 0)
      .sees(makeLease('a').lasting(15).renewedAt(4000).with({ resourceVersion: '2' }), 4000);
    expect(endIn(input, seenEnded(4100))).toMatchObject({ kind: 'ends', at: 6100 });
  });

  test('no earlier than its Lease expires, if only one renewal was seen and the container is only the default one', () => {
    // The first list shows a Lease of 5 s. Another client may have shortened it, so the holder may lead for 15 s.
    const input = makeInput()
      .settings({ isCrashEvidenceUsed: true })
      .candidates(makeCandidate('a').with({ pod: POD }).seenAt(0))
      .sees(makeLease('a').lasting(5).renewedAt(1000).with({ resourceVersion: '2' }), 1000, true);
    const change = { defaultContainer: 'main', containers: [running, { ...running, name: 'other' }] };
    const seen = input.with(podsOf(seenEnded(1500, endedAt(1500), change))).build();
    expect(expiryOf(seen.memory)).toBe(16_000);
    expect(holderEndIn(seen)).toMatchObject({ kind: 'ends', at: 16_000 });
    expect(surveyTenure(seen, 15_999)).toMatchObject({ kind: 'held' });
  });

  test('by the earlier run, when the container runs again', () => {
    const again = { id: 'containerd://2', startedAt: wallAt(10_000) };
    const ended = seenEnded(8500);
    const [container] = ended.pod.containers;
    const restarted = observePod(
      ended,
      { ...pod, containers: [{ name: 'main', running: again, ended: container?.ended ?? [] }] },
      10_200,
    );
    expect(endIn(renewing(), restarted)).toMatchObject({ kind: 'ends', at: 10_500 });
  });

  test('by its own Pod and its own candidate, whatever others there are', () => {
    const others = [{ ...running, running: { ...instance, id: 'containerd://b' } }];
    const otherPod = observePod(
      undefined,
      { ...pod, name: 'b-0', uid: 'uid-of-pod-b', containers: others },
      0,
    );
    const { candidates } = renewing().build();
    const input = renewing().with({ candidates: candidates.toReversed() });
    const end = holderEndIn(input.with(podsOf(otherPod, seenEnded(8500))).build());
    expect(end).toMatchObject({ kind: 'ends', at: 10_500 });
  });

  test.for<[name: string, end: EndedInstance]>([
    ['of its start', endedAt(8500, { startedAt: wallAt(8000) })],
    ['before the second of its end is over', endedAt(6500)],
  ])('by the run that last renewed at the moment %s', ([, end]) => {
    const before = seenEnded(8500, end);
    const later = { id: 'containerd://2', startedAt: wallAt(9000) };
    const containers = [{ name: 'main', running: later, ended: [end] }];
    const restarted = observePod(before, { ...before.pod, containers }, 9200);
    expect(endIn(renewing(), restarted)).toMatchObject({ kind: 'ends', at: 10_500 });
  });
});

describe('the end of a holder is not proven (rule 17)', () => {
  const other = (id: string, startedAt: Instant) => ({ id, startedAt: wallAt(startedAt) });
  const lost = { id: 'containerd://0', startedAt: undefined, finishedAt: undefined, reason: 'Unknown' };
  /** The Pod with an ended container, and other fields. */
  const statusWith = (change: Partial<PodContainer>): ObservedPod => {
    const before = seenEnded(8500);
    const [container = running] = before.pod.containers;
    return observePod(before, { ...before.pod, containers: [{ ...container, ...change }] }, 8600);
  };

  test.for<[name: string, missing: string, pod: ObservedPod | undefined]>([
    ['its Pod is not known, which a deletion may mean', 'NoPod', undefined],
    ['a later Pod has its name', 'NoPod', seenEnded(8500, endedAt(8500), { uid: 'another' })],
    ['the kubelet runs the Pod from a file', 'MirrorPod', seenEnded(8500, undefined, { isMirror: true })],
    ['its Pod has hostPID', 'HostProcesses', seenEnded(8500, undefined, { hasHostPid: true })],
    [
      'the containers share their processes',
      'SharedProcesses',
      seenEnded(8500, undefined, { sharesProcessNamespace: true }),
    ],
    [
      'any of several containers may lead',
      'ContainerUnknown',
      seenEnded(8500, undefined, { containers: [running, { ...running, name: 'sidecar' }] }),
    ],
    [
      'another container than the one that leads has ended',
      'ContainerRuns',
      seenEnded(8500, undefined, {
        leadingContainer: 'sidecar',
        containers: [running, { name: 'sidecar', running: other('containerd://s', STARTED), ended: [] }],
      }),
    ],
    [
      'an annotation names a container that does not exist',
      'ContainerUnknown',
      seenEnded(8500, undefined, { leadingContainer: 'gone' }),
    ],
    ['its container runs', 'ContainerRuns', observePod(undefined, pod, 0)],
    [
      'this process has never seen the container run: it may be from before a restart',
      'NeverSeenRunning',
      observePod(undefined, seenEnded(8500).pod, 8500),
    ],
    ...['ContainerStatusUnknown', 'Unknown', 'RestartingAllContainers'].map(
      (reason): [string, string, ObservedPod] => [
        `the kubelet has made up the reason ${reason}`,
        'EndMadeUp',
        seenEnded(8500, endedAt(8500, { reason })),
      ],
    ),
    [
      'the status has no time of the end',
      'EndMadeUp',
      seenEnded(8500, endedAt(8500, { finishedAt: undefined })),
    ],
    [
      'the status has no time of the start',
      'EndMadeUp',
      seenEnded(8500, endedAt(8500, { startedAt: undefined })),
    ],
    ['the status does not name the run that ended', 'EndMadeUp', seenEnded(8500, endedAt(8500, { id: '' }))],
    ['it has renewed after the end', 'OtherInstance', seenEnded(8500, endedAt(5000))],
    [
      'it has renewed after the end, and the kubelet did not see the end of an earlier run',
      'OtherInstance',
      statusWith({ ended: [endedAt(5000), lost] }),
    ],
    [
      'it has renewed before the container began to run',
      'OtherInstance',
      seenEnded(8500, endedAt(8500, { startedAt: wallAt(8100) })),
    ],
    [
      'the container runs again, and the last renewal may be by the new run under the same name',
      'OtherInstance',
      statusWith({ running: other('containerd://2', 8000) }),
    ],
    [
      'the container ended and ran again in the second of its start, and either run may have renewed then',
      'OtherInstance',
      statusWith({
        running: other('containerd://2', 8000),
        ended: [endedAt(8500, { startedAt: wallAt(8000), finishedAt: wallAt(8000) })],
      }),
    ],
  ])('if %s', ([, missing, holderPod]) => {
    expect(endIn(renewing(), holderPod)).toEqual({ kind: 'unproven', missing });
  });

  test('if the candidate names no Pod', () => {
    const input = renewing({}, { pod: undefined as never });
    expect(endIn(input, seenEnded(8500))).toEqual({ kind: 'unproven', missing: 'NoOwnerReference' });
  });

  test('if the holder has not renewed itself: a grant has the time of the coordinator', () => {
    const input = makeInput()
      .settings({ isCrashEvidenceUsed: true })
      .candidates(makeCandidate('a').with({ pod: POD }).seenAt(0))
      .sees(makeLease('a').lasting(15), 0);
    expect(endIn(input, seenEnded(500))).toEqual({ kind: 'unproven', missing: 'HolderNeverRenewed' });
  });

  test('if a former coordinator returned the Lease, and the holder has not renewed it: the times differ by a microsecond', () => {
    const returned = makeLease('a')
      .lasting(15)
      .renewedAt(7000)
      .with({ acquireTime: wallAt(7000) - 1n });
    const seen = (lease: LeaseBuilder) =>
      makeInput()
        .settings({ isCrashEvidenceUsed: true })
        .candidates(makeCandidate('a').with({ pod: POD }).seenAt(0))
        .sees(lease, 7000);
    const byCoordinator = seen(returned.with({ isRenewedByCoordinator: true }));
    expect(endIn(byCoordinator, seenEnded(8500))).toEqual({
      kind: 'unproven',
      missing: 'HolderNeverRenewed',
    });
    expect(endIn(seen(returned), seenEnded(8500))).toMatchObject({ kind: 'ends' });
  });

  test('if the holder renewed in the second of the end, unless a later second has another run', () => {
    const end = endedAt(7500);
    expect(endIn(renewing(), seenEnded(8500, end))).toEqual({ kind: 'unproven', missing: 'RenewedAtEnd' });
    const again = statusWith({ ended: [end], running: other('containerd://2', 9000) });
    expect(endIn(renewing(), again)).toMatchObject({ kind: 'ends' });
  });

  test.for<[name: string, missing: string | undefined, change: Partial<Pod>]>([
    ['in a later second', undefined, { unreadySince: wallAt(9000) }],
    ['in the same second', 'RenewedAtEnd', { unreadySince: wallAt(8000) }],
    [
      'in a later second, but another container may be the reason',
      'RenewedAtEnd',
      {
        unreadySince: wallAt(9000),
        leadingContainer: 'main',
        containers: [running, { ...running, name: 'sidecar' }],
      },
    ],
  ])(
    'if the holder renewed in the second of the end, and the kubelet found that %s',
    ([, missing, change]) => {
      const end = endIn(renewing(), seenEnded(8500, endedAt(7500), change));
      expect(end).toMatchObject(missing === undefined ? { kind: 'ends' } : { kind: 'unproven', missing });
    },
  );

  test.for<[name: string, status: Partial<PodContainer>]>([
    ['has ended', { ended: [lost, endedAt(7500)] }],
    ['runs', { ended: [endedAt(7500)], running: { id: 'containerd://2', startedAt: undefined } }],
  ])(
    'if the holder renewed in the second of the end, and the kubelet found an end later, but a later run of unknown time %s',
    ([, status]) => {
      const { pod: before, ...observed } = statusWith(status);
      const later = { ...observed, pod: { ...before, unreadySince: wallAt(9000) } };
      expect(endIn(renewing(), later)).toEqual({ kind: 'unproven', missing: 'RenewedAtEnd' });
    },
  );

  test('if the holder itself acquired the Lease before the container began to run', () => {
    const acquired = { isAcquireTimeRenewers: true, acquireTime: wallAt(STARTED - 5000) } as const;
    expect(endIn(renewing(acquired), seenEnded(8500))).toEqual({
      kind: 'unproven',
      missing: 'OtherInstance',
    });
  });

  test('if Pods are not watched', () => {
    const input = renewing().settings({ isCrashEvidenceUsed: false });
    expect(endIn(input, seenEnded(8500))).toBeUndefined();
  });
});

describe('the Lease of a holder that has ended (rule 17)', () => {
  const ended = renewing().with(podsOf(seenEnded(8500)));
  const decidedAt = (input: InputBuilder, at: Instant) => decideElection(input.build(), makeNow(at));

  test('goes to another candidate at the moment of the proof, not at its expiry', () => {
    const before = decidedAt(ended, 10_499);
    expect(grantOf(before)).toBeUndefined();
    const decision = decidedAt(ended, 10_500);
    expect(decision.reason).toBe('HolderEnded');
    expect(grantOf(decision)).toMatchObject({ holder: 'b', former: 'a', hasFormerEnded: true });
  });

  test('is decided again at the moment of the proof', () => {
    expect(decidedAt(ended, 9000).requeue).toEqual({ kind: 'at', time: 10_500 });
  });

  test('stays with a holder that renews after the end', () => {
    const renewed = ended.sees(
      makeLease('a').lasting(15).renewedAt(9900).with({ resourceVersion: '10' }),
      9900,
    );
    expect(decidedAt(renewed, 10_600).reason).not.toBe('HolderEnded');
  });

  test('does not go back to the ended identity while another candidate can lead', () => {
    const alone = decidedAt(ended, 10_500).standings.find(({ candidate }) => candidate.name === 'a');
    expect(alone?.state).toBe('Withdrawn');
  });

  test('is reserved for former holders that may still believe that they lead', () => {
    // `c` led until 5 s under a Lease of 20 s, and lost it to another client.
    let input = makeInput()
      .settings({ isCrashEvidenceUsed: true })
      .candidates(
        makeCandidate('a').with({ pod: POD }).renewedAt(7900).seenAt(7900),
        makeCandidate('b').renewedAt(7900).createdAt(7900).seenAt(7900),
      );
    for (const at of [1000, 3000, 5000])
      input = input.sees(
        makeLease('c')
          .lasting(20)
          .renewedAt(at)
          .with({ resourceVersion: `c${at}` }),
        at,
      );
    for (const at of [6000, 8000])
      input = input.sees(
        makeLease('a')
          .lasting(15)
          .renewedAt(at)
          .with({ resourceVersion: `a${at}` }),
        at,
      );
    const decision = decidedAt(input.with(podsOf(seenEnded(8500))), 12_000);
    expect(decision.tenure).toMatchObject({
      kind: 'vacant',
      need: 'HolderEnded',
      reservation: { holder: 'c' },
    });
    expect(grantOf(decision)).toBeUndefined();
  });

  test.for<[name: string, endSeenAt: Instant]>([
    ['later than', 4100],
    ['at', 3500],
  ])('is held as usual if the proof would come %s the expiry', ([, endSeenAt]) => {
    // Only kubectl's annotation names the container, and this process saw only one renewal.
    const several = { defaultContainer: 'main', containers: [running, { ...running, name: 'other' }] };
    const input = makeInput()
      .settings({ isCrashEvidenceUsed: true })
      .candidates(makeCandidate('a').with({ pod: POD }).seenAt(0))
      .sees(makeLease('a').lasting(15), 0)
      .sees(makeLease('a').lasting(15).renewedAt(3400).with({ resourceVersion: '2' }), 4000)
      .with(podsOf(seenEnded(endSeenAt, endedAt(endSeenAt), several)));
    expect(surveyTenure(input.build(), 10_000)).toMatchObject({ lateAt: 16_000, expiresAt: 19_000 });
  });

  test('leaves no belief of the holder behind, so that the next release is not doubted', () => {
    const decision = decidedAt(ended, 10_500);
    const [grant] = decision.actions;
    const { memory } = recordSending(ended.build(), grant as never, 10_500);
    const renewTime = grantOf(decision)?.renewTime ?? 0n;
    const seen = makeLease('b').with({
      ...{ renewTime, acquireTime: renewTime, leaseTransitions: 1, resourceVersion: 'granted' },
    });
    const granted = ended.remembers(memory).sees(seen, 10_510).build();
    expect(granted.memory.beliefs.map(({ holder }) => holder)).not.toContain('a');
    // Like after a release, the ended candidate is held back for a while. But an end is no clean shutdown.
    expect(granted.memory).toMatchObject({ withdrawals: new Map([['a', 10_510]]), endedAt: 10_510 });
  });

  test.each<{ name: string; answer: typeof recordRefusal }>([
    { name: 'refused, because a later run has renewed', answer: recordRefusal },
    { name: 'lost', answer: (known, action) => recordFailure(known, action, 10_500, 10_600) },
  ])('is still a former holder if the grant to the next one is $name', ({ answer }) => {
    const [grant] = decidedAt(ended, 10_500).actions;
    const { memory } = answer(recordSending(ended.build(), grant as never, 10_500), grant as never);
    // The Lease was deleted. A later run of the holder may have renewed it before.
    const gone = ended.remembers(memory).with({ candidates: [] }).sees(undefined, 20_000, true).build();
    expect(decideElection(gone, makeNow(20_000)).tenure).toMatchObject({
      need: 'LeaseMissing',
      reservation: { until: 35_000 },
    });
    expect(gone.memory.beliefs).toContainEqual(expect.objectContaining({ holder: 'a', renewedAt: 20_000 }));
  });
});
