import { describe, expect, test } from 'vitest';
import { decodePod } from '../../src/coordination/pod.ts';

const NOW = '2026-01-01T00:00:10Z';
const MICROS = BigInt(Date.UTC(2026, 0, 1, 0, 0, 10)) * 1000n;

const podWith = (spec: object, status: object = {}, annotations: object = {}) =>
  decodePod({ metadata: { namespace: 'team', name: 'web-0', uid: 'u', annotations }, spec, status });

describe('a Pod (rule 17)', () => {
  test('has the state of each container', () => {
    const { containers } = podWith(
      { containers: [{ name: 'main' }] },
      {
        containerStatuses: [
          {
            name: 'main',
            containerID: 'containerd://2',
            state: { running: { startedAt: NOW } },
            lastState: {
              terminated: { containerID: 'containerd://1', startedAt: NOW, finishedAt: NOW, reason: 'Error' },
            },
          },
        ],
      },
    );
    expect(containers).toEqual([
      {
        name: 'main',
        running: { id: 'containerd://2', startedAt: MICROS },
        ended: [{ id: 'containerd://1', startedAt: MICROS, finishedAt: MICROS, reason: 'Error' }],
      },
    ]);
  });

  test('has the end of a container that does not run again', () => {
    const terminated = {
      containerID: 'containerd://1',
      startedAt: NOW,
      finishedAt: NOW,
      reason: 'OOMKilled',
    };
    const { containers } = podWith(
      { containers: [{ name: 'main' }] },
      { containerStatuses: [{ name: 'main', containerID: 'containerd://1', state: { terminated } }] },
    );
    expect(containers).toMatchObject([{ running: undefined, ended: [{ reason: 'OOMKilled' }] }]);
  });

  test.for<[name: string, status: string, type: string, want: bigint | undefined]>([
    ['not ready', 'False', 'ContainersReady', MICROS],
    ['ready', 'True', 'ContainersReady', undefined],
    ['not ready by a condition that others may change, too', 'False', 'Ready', undefined],
  ])('knows since when its containers are %s', ([, status, type, want]) => {
    const conditions = [
      { type: 'PodScheduled', status: 'True' },
      { type, status, lastTransitionTime: NOW },
    ];
    expect(podWith({}, { conditions }).unreadySince).toBe(want);
  });

  test('counts restartable init containers and ephemeral ones among its containers, and no others', () => {
    const { containers } = podWith({
      containers: [{ name: 'main' }],
      ephemeralContainers: [{ name: 'debugger' }],
      initContainers: [{ name: 'migrate' }, { name: 'proxy', restartPolicy: 'Always' }],
    });
    expect(containers.map(({ name }) => name)).toEqual(['main', 'proxy', 'debugger']);
  });

  test.for<[name: string, spec: object, annotations: object, want: object]>([
    ['its name as hostname', {}, {}, { hostname: 'web-0', isOnHostNetwork: false }],
    ['another hostname', { hostname: 'web' }, {}, { hostname: 'web' }],
    [
      'a hostname that overrides all others',
      { hostname: 'web', hostnameOverride: 'x' },
      {},
      { hostname: 'x' },
    ],
    ['the network of its node', { hostNetwork: true }, {}, { isOnHostNetwork: true }],
    ['hostPID', { hostPID: true }, {}, { hasHostPid: true }],
    ['shared processes', { shareProcessNamespace: true }, {}, { sharesProcessNamespace: true }],
    ['being a mirror Pod', {}, { 'kubernetes.io/config.mirror': 'hash' }, { isMirror: true }],
    [
      'the container that leads',
      {},
      { 'coordinated-leader-election.dev/container': 'main' },
      { leadingContainer: 'main' },
    ],
    [
      'the default container',
      {},
      { 'kubectl.kubernetes.io/default-container': 'main' },
      { defaultContainer: 'main' },
    ],
  ])('reads %s', ([, spec, annotations, want]) => {
    expect(podWith(spec, {}, annotations)).toMatchObject(want);
  });

  test.for<[name: string, terminated: unknown, want: object]>([
    ['a time that is missing', { containerID: 'c', finishedAt: NOW }, { startedAt: undefined }],
    [
      'a time that the kubelet does not know',
      { containerID: 'c', startedAt: '1970-01-01T00:00:00Z' },
      { startedAt: undefined },
    ],
    ['a time that is none', { containerID: 'c', startedAt: 'soon' }, { startedAt: undefined }],
    ['a missing id', { startedAt: NOW }, { id: '' }],
  ])('reads %s as unknown', ([, terminated, want]) => {
    const { containers } = podWith(
      { containers: [{ name: 'main' }] },
      { containerStatuses: [{ name: 'main', state: { terminated } }] },
    );
    expect(containers[0]?.ended[0]).toMatchObject(want);
  });

  test('that is malformed has no containers', () => {
    const pod = decodePod({ metadata: { name: 'web-0' }, spec: { containers: 'none' }, status: 'none' });
    expect(pod).toMatchObject({ uid: '', containers: [], isMirror: false });
  });
});
