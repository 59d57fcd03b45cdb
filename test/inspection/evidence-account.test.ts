import { describe, expect, test } from 'vitest';
import type { Lease } from '../../src/election/model.ts';
import { accountForEvidence } from '../../src/inspection/evidence-account.ts';
import { ApiError } from '../../src/kubernetes/errors.ts';
import type { KubernetesObject } from '../../src/kubernetes/objects.ts';
import { makeList, ScriptedClient } from '../kubernetes/scripted-client.ts';
import { makeCandidate, makeInput, makeLease, makeNow, wallAt } from '../support/election-builders.ts';
import { type PodParts, rawPod, stampAt } from './audit-builders.ts';

const ASKING = { 'coordinated-leader-election.dev/crash-evidence': 'enabled' };

/** A Pod whose container has run for long, and has ended at 8 s for this reason. */
function endedPod(reason = 'Error', parts: Partial<PodParts> = {}): KubernetesObject {
  const times = { startedAt: stampAt(-60_000), finishedAt: stampAt(8000) };
  const state = { terminated: { containerID: 'containerd://1', ...times, reason } };
  const containerStatuses = [{ name: 'app', containerID: 'containerd://1', state }];
  return { ...rawPod({ name: 'web-0', ...parts }), status: { containerStatuses } };
}

const runningPod = (parts: Partial<PodParts> = {}) => rawPod({ name: 'web-0', ...parts });

/** Describes the conditions for a holder that last renewed at 8 s, in a cluster with these Pods. */
async function explain({
  pods = [] as readonly KubernetesObject[],
  at = 20_000,
  fields = {} as Partial<Lease>,
  hasCandidate = false,
  isAskedByNamespace = false,
  refused = [] as readonly string[],
}) {
  const client = new ScriptedClient();
  client.onRequest = ({ path }) => {
    if (refused.includes(path))
      throw new ApiError({ method: 'GET', path, status: 403, reason: 'Forbidden', message: 'no' });
    const named = pods.find(({ metadata }) => path.endsWith(`/pods/${metadata.name}`));
    if (named) return named;
    if (path.endsWith('/pods')) return makeList(pods, '5');
    if (path === '/api/v1/namespaces/shop' && isAskedByNamespace)
      return { metadata: { name: 'shop', annotations: ASKING } };
    throw new ApiError({ method: 'GET', path, status: 404, reason: 'NotFound', message: 'no' });
  };
  const lease = makeLease('web-0_1')
    .lasting(15)
    .renewedAt(7500)
    .with({
      ...{ namespace: 'shop', strategy: undefined, acquireTime: wallAt(0) },
      ...{ isAcquireTimeRenewers: true, ...fields },
    });
  const holder = makeCandidate('web-0_1').with({ pod: { name: 'web-0', uid: 'uid-of-web-0' } });
  const input = makeInput()
    .with({ namespace: 'shop' })
    .sees(lease, 8000)
    .candidates(...(hasCandidate ? [holder.seenAt(8000)] : []));
  const conditions = await accountForEvidence(client, input.build(), makeNow(at));
  return conditions?.map(({ condition, holds, why }) => `${condition} ${holds}: ${why}`);
}

const unknown = ['SameIncarnation undefined: ', 'Silent undefined: '];
const asked = { asksForEvidence: true } as const;
const bound = 'Bound true: container app of the Pod shop/web-0';

describe('the account of crash evidence', () => {
  test('is omitted while the holder is not late, and without a holder', async () => {
    await expect(explain({ at: 10_000 })).resolves.toBeUndefined();
    await expect(explain({ fields: { holderIdentity: '' } })).resolves.toBeUndefined();
  });

  test('says that each condition holds, for a holder with a candidate', async () => {
    await expect(explain({ pods: [endedPod()], hasCandidate: true })).resolves.toEqual([
      bound,
      'Exited true: containerd://1 has ended: Error',
      'SameIncarnation true: that run of the container has written the last renewal',
      'Silent true: the holder has not renewed since then',
    ]);
  });

  test.each([
    { by: 'its Lease', fields: asked },
    { by: 'its Namespace', isAskedByNamespace: true },
  ])('says that each condition holds, for a plain elector that $by asks for', async (parts) => {
    const conditions = await explain({ pods: [endedPod()], ...parts });
    expect(conditions?.map((each) => each.split(':', 1)[0])).toEqual([
      ...['Bound true', 'Exited true', 'SameIncarnation true', 'Silent true'],
    ]);
  });

  test.each<{ name: string; parts: Parameters<typeof explain>[0]; want: readonly string[] }>([
    {
      name: 'nothing asks for evidence',
      parts: { pods: [endedPod()] },
      want: [
        'Bound false: NotAsked: Neither the Lease nor its Namespace has the annotation that asks for crash evidence.',
        'Exited undefined: ',
        ...unknown,
      ],
    },
    {
      name: 'its container runs',
      parts: { pods: [runningPod()], fields: asked },
      want: [bound, 'Exited false: ContainerRuns: The container has not ended.', ...unknown],
    },
    {
      name: 'the kubelet did not see the end',
      parts: { pods: [endedPod('ContainerStatusUnknown')], hasCandidate: true },
      want: [
        bound,
        'Exited false: EndMadeUp: The status has no reliable time and reason of the end: the kubelet did not see the end.',
        ...unknown,
      ],
    },
    {
      name: 'another run may have renewed',
      parts: { pods: [endedPod()], fields: { ...asked, acquireTime: wallAt(-90_000) } },
      want: [
        bound,
        'Exited true: the status contains an end that the kubelet has seen',
        'SameIncarnation false: OtherInstance: Another run of the container may have written the last renewal.',
        'Silent undefined: ',
      ],
    },
    {
      name: 'Pods may not be read',
      parts: { fields: asked, refused: ['/api/v1/pods', '/api/v1/namespaces/shop/pods'] },
      want: [
        expect.stringMatching(/^Bound undefined: Pods could not be read: .*403/),
        'Exited undefined: ',
        ...unknown,
      ],
    },
  ])('reports the failed condition if $name', async ({ parts, want }) => {
    await expect(explain(parts)).resolves.toEqual(want);
  });

  test('reads the Pods of the namespace if the user may not list those of all', async () => {
    const conditions = await explain({ pods: [endedPod()], fields: asked, refused: ['/api/v1/pods'] });
    expect(conditions?.[0]).toBe(bound);
  });

  test('says for how long the holder may still renew', async () => {
    const late = endedPod();
    const containers = (late['status'] as { containerStatuses: { state: { terminated: object } }[] })
      .containerStatuses;
    for (const { state } of containers)
      state.terminated = { ...state.terminated, finishedAt: stampAt(19_000) };
    const conditions = await explain({ pods: [late], fields: asked });
    expect(conditions?.at(-1)).toBe('Silent false: the holder may still renew for 1s');
  });
});
