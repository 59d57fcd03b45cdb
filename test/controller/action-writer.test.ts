import nock from 'nock';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createActionWriter } from '../../src/controller/action-writer.ts';
import { LONGEST_WRITE_MS } from '../../src/controller/lock/lock-settings.ts';
import { type CandidateApiVersion, candidateResources } from '../../src/coordination/candidate-sources.ts';
import type { Action } from '../../src/election/decision.ts';
import { makeClient } from '../kubernetes/make-client.ts';
import { ScriptedClient } from '../kubernetes/scripted-client.ts';
import { OLDEST, wallAt } from '../support/election-builders.ts';
import { VirtualClock, waitFor } from '../support/virtual-clock.ts';

const SERVER = 'https://api.test:6443';
const GROUP = '/apis/coordination.k8s.io';
const META = { uid: 'u', resourceVersion: '7' };
const GRANT = {
  holder: 'a',
  renewTime: wallAt(1500) + 250n,
  former: undefined,
  hasFormerLapsed: false,
  revises: undefined,
  isPreemption: false,
  leaseDurationSeconds: 10,
};

beforeEach(() => {
  nock.disableNetConnect();
});

afterEach(() => {
  nock.abortPendingRequests();
  nock.cleanAll();
  nock.enableNetConnect();
  nock.restore();
  nock.activate();
});

function write(action: Action, apiVersion: CandidateApiVersion = 'coordination.k8s.io/v1beta1') {
  return createActionWriter(makeClient(), () => apiVersion).write('default', 'scheduler', action);
}

interface WantedRequest {
  readonly method: 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly contentType: string;
  readonly body: Record<string, unknown>;
  readonly query: Record<string, string>;
}

/** A server that answers nothing but exactly this. */
function expectRequest({ method, path, contentType, body, query }: WantedRequest): void {
  nock(SERVER, { reqheaders: { 'content-type': contentType } })
    .intercept(path, method, (sent) => {
      expect(sent).toEqual(body);
      return true;
    })
    .query(query)
    .reply(200, { kind: 'Any', metadata: { name: 'answer', resourceVersion: '8' } });
}

const BY_US = { fieldManager: 'coordinated-leader-election' };
const JSON_TYPE = 'application/json';
const PATCH_TYPE = 'application/merge-patch+json';
const TIME = '2026-01-01T00:00:01.500250Z';
const LEASE = `${GROUP}/v1/namespaces/default/leases/scheduler`;

const leaseWrites: readonly { name: string; action: Action; want: WantedRequest }[] = [
  {
    name: 'a Lease is made for its first holder',
    action: { kind: 'CreateLease', strategy: OLDEST, grant: GRANT },
    want: {
      method: 'POST',
      path: `${GROUP}/v1/namespaces/default/leases`,
      contentType: JSON_TYPE,
      query: BY_US,
      body: {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { namespace: 'default', name: 'scheduler' },
        spec: {
          holderIdentity: 'a',
          leaseDurationSeconds: 10,
          acquireTime: TIME,
          renewTime: TIME,
          leaseTransitions: 0,
          strategy: OLDEST,
        },
      },
    },
  },
  {
    name: 'a Lease is made without a holder for somebody else to fill',
    action: { kind: 'CreateLease', strategy: 'example.com/custom', grant: undefined },
    want: {
      method: 'POST',
      path: `${GROUP}/v1/namespaces/default/leases`,
      contentType: JSON_TYPE,
      query: BY_US,
      body: {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { namespace: 'default', name: 'scheduler' },
        spec: { holderIdentity: '', strategy: 'example.com/custom' },
      },
    },
  },
  {
    name: 'a Lease is granted',
    action: {
      kind: 'UpdateLease',
      ...META,
      change: { kind: 'grant', grant: GRANT, leaseTransitions: 3, strategy: OLDEST },
    },
    want: {
      method: 'PATCH',
      path: LEASE,
      contentType: PATCH_TYPE,
      query: BY_US,
      body: {
        metadata: META,
        spec: {
          holderIdentity: 'a',
          leaseDurationSeconds: 10,
          acquireTime: TIME,
          renewTime: TIME,
          leaseTransitions: 3,
          strategy: OLDEST,
          preferredHolder: null,
        },
      },
    },
  },
  {
    name: 'a better candidate is preferred',
    action: {
      kind: 'UpdateLease',
      ...META,
      change: { kind: 'prefer', preferredHolder: 'b', strategy: OLDEST },
    },
    want: {
      method: 'PATCH',
      path: LEASE,
      contentType: PATCH_TYPE,
      query: BY_US,
      body: { metadata: META, spec: { preferredHolder: 'b', strategy: OLDEST } },
    },
  },
  {
    name: 'a preference is taken back',
    action: { kind: 'UpdateLease', ...META, change: { kind: 'clearPreferredHolder', hasFailed: true } },
    want: {
      method: 'PATCH',
      path: LEASE,
      contentType: PATCH_TYPE,
      query: BY_US,
      body: { metadata: META, spec: { preferredHolder: null } },
    },
  },
  {
    name: 'a strategy is named',
    action: {
      kind: 'UpdateLease',
      ...META,
      change: {
        kind: 'strategy',
        strategy: 'example.com/custom',
        isHolderAbsent: true,
        removesPreferredHolder: true,
      },
    },
    want: {
      method: 'PATCH',
      path: LEASE,
      contentType: PATCH_TYPE,
      query: BY_US,
      body: {
        metadata: META,
        spec: { strategy: 'example.com/custom', holderIdentity: '', preferredHolder: null },
      },
    },
  },
];

describe.each(leaseWrites)('$name', ({ action, want }) => {
  test('by one request, whose answer is the object as it is now', async () => {
    expectRequest(want);
    await expect(write(action)).resolves.toMatchObject({ metadata: { resourceVersion: '8' } });
    expect(nock.isDone()).toBe(true);
  });
});

describe.each([
  ...candidateResources.native.apiVersions.map((apiVersion) => ({ source: 'native', apiVersion }) as const),
  ...candidateResources.custom.apiVersions.map((apiVersion) => ({ source: 'custom', apiVersion }) as const),
])('a candidate of $apiVersion', ({ source, apiVersion }) => {
  const path = `/apis/${apiVersion}/namespaces/default/leasecandidates/My_Candidate.0`;

  test('is pinged in the version that is served (rule 11)', async () => {
    expectRequest({
      method: 'PATCH',
      path,
      contentType: PATCH_TYPE,
      query: BY_US,
      body: { metadata: META, spec: { pingTime: TIME } },
    });
    const pingTime = GRANT.renewTime;
    await write(
      { kind: 'PingCandidate', source, name: 'My_Candidate.0', ...META, pingTime, purpose: 'election' },
      apiVersion,
    );
    expect(nock.isDone()).toBe(true);
  });

  test('is deleted only if it is still the one that was decided on', async () => {
    expectRequest({
      method: 'DELETE',
      path,
      contentType: JSON_TYPE,
      query: {},
      body: { preconditions: META },
    });
    await write({ kind: 'DeleteCandidate', source, name: 'My_Candidate.0', ...META }, apiVersion);
    expect(nock.isDone()).toBe(true);
  });
});

describe('a write', () => {
  const ping: Action = {
    kind: 'PingCandidate',
    source: 'native',
    name: 'a',
    ...META,
    pingTime: 1n,
    purpose: 'election',
  };

  test.each([
    ...leaseWrites.map(({ action }) => action),
    ping,
    { kind: 'DeleteCandidate', source: 'native', name: 'a', ...META } as const,
  ])('ends before another replica may act, whatever it is ($kind)', async (action) => {
    const client = new ScriptedClient();
    await createActionWriter(client, () => 'coordination.k8s.io/v1beta1').write(
      'default',
      'scheduler',
      action,
    );
    expect(client.requests.map(({ deadlineMs }) => deadlineMs)).toEqual([LONGEST_WRITE_MS]);
  });

  test('without an answer is given up at that deadline', async () => {
    const clock = new VirtualClock();
    let hasArrived = false;
    nock(SERVER)
      .patch(`${GROUP}/v1beta1/namespaces/default/leasecandidates/a`, () => {
        hasArrived = true;
        return true;
      })
      .query(BY_US)
      .delay(3_600_000)
      .reply(200, {});
    const answer = createActionWriter(makeClient({ clock }), () => 'coordination.k8s.io/v1beta1').write(
      'default',
      'scheduler',
      ping,
    );
    const outcome = answer.catch((error: unknown) => error);
    await waitFor(() => hasArrived);
    await clock.advance(LONGEST_WRITE_MS);
    await expect(outcome).resolves.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
  });

  test('is not sent while no version of LeaseCandidate is served', async () => {
    const client = new ScriptedClient();
    await expect(createActionWriter(client, () => undefined).write('default', 'x', ping)).rejects.toThrow(
      'no version of native LeaseCandidates is served any more',
    );
    expect(client.requests).toEqual([]);
  });

  test('whose answer is no object resolves to nothing', async () => {
    const client = new ScriptedClient();
    client.onRequest = () => ({ kind: 'Status', status: 'Success' });
    const answer = createActionWriter(client, () => 'coordination.k8s.io/v1beta1').write(
      'default',
      'x',
      ping,
    );
    await expect(answer).resolves.toBeUndefined();
  });

  test('uses the version that is served by the time it is sent (rule 11)', async () => {
    const client = new ScriptedClient();
    let apiVersion: CandidateApiVersion = 'coordination.k8s.io/v1alpha2';
    const writer = createActionWriter(client, () => apiVersion);
    await writer.write('default', 'x', ping);
    apiVersion = 'coordination.k8s.io/v1beta1';
    await writer.write('default', 'x', ping);
    expect(client.requests.map(({ path }) => path)).toEqual([
      `${GROUP}/v1alpha2/namespaces/default/leasecandidates/a`,
      `${GROUP}/v1beta1/namespaces/default/leasecandidates/a`,
    ]);
  });
});
