import nock from 'nock';
import { beforeEach, describe, expect, test } from 'vitest';
import { ElectionRecords } from '../../src/controller/election-records.ts';
import { LONGEST_WRITE_MS } from '../../src/controller/lock/lock-settings.ts';
import {
  createActionWriter,
  LockLostError,
  type SenderParts,
  sendAction,
} from '../../src/controller/sender.ts';
import { WriteGate, writtenBy } from '../../src/controller/write-outcomes.ts';
import { type CandidateApiVersion, candidateResources } from '../../src/coordination/candidate-sources.ts';
import { ackDueAt } from '../../src/election/candidate-observation.ts';
import { decideElection } from '../../src/election/decide.ts';
import type { Action } from '../../src/election/decision.ts';
import { allBeliefs } from '../../src/election/lease-memory.ts';
import { ApiError, ConnectionError } from '../../src/kubernetes/errors.ts';
import { isKubernetesObject, type KubernetesObject } from '../../src/kubernetes/objects.ts';
import { makeClient } from '../kubernetes/make-client.ts';
import { ScriptedClient } from '../kubernetes/scripted-client.ts';
import { blockNetwork } from '../support/blocked-network.ts';
import {
  defaultSettings,
  makeCandidate,
  makeLease,
  makeNow,
  OLDEST,
  wallAt,
} from '../support/election-builders.ts';
import { VirtualClock, waitFor } from '../support/virtual-clock.ts';
import { makeLeaseObject } from './make-objects.ts';

const KEY = 'kube-system/scheduler';

/** The fate of a request, and its latency. */
interface Fate {
  readonly afterMs?: number;
  readonly error?: unknown;
  readonly answer?: KubernetesObject;
}

/** A sender with a scripted server. It knows one candidate, `a`, last seen at instant 0. */
class SenderWorld {
  readonly clock = new VirtualClock();
  readonly records = new ElectionRecords(defaultSettings);
  readonly gate = new WriteGate(this.clock, this.records);
  /** The reports in order: like `written ok`, and `ended`, or `ended without an answer`. */
  readonly told: string[] = [];
  fate: Fate = {};
  mayWrite = true;
  sent = 0;
  readonly parts: SenderParts;

  constructor() {
    this.records.seeCandidate(makeCandidate('a').build(), makeNow(0));
    this.parts = {
      clock: this.clock,
      records: this.records,
      gate: this.gate,
      mayWrite: () => this.mayWrite,
      write: () => this.#answer(),
      observe: (event) => {
        if (event.type !== 'written') return;
        const { error, decision, action } = event;
        expect(decision.actions).toEqual([action]);
        this.told.push(`written ${error === undefined ? 'ok' : (error as Error).name}`);
      },
    };
  }

  get observation() {
    return this.records.observed(KEY, 'a')?.observation;
  }

  async send(action: Action): Promise<void> {
    const input = this.records.gather(KEY);
    const decision = decideElection(input, makeNow(this.clock.now()));
    void sendAction(this.parts, KEY, action, decision, input).then((isAnswered) => {
      const how = isAnswered === undefined ? 'ended without a request' : 'ended without an answer';
      this.told.push(isAnswered ? 'ended' : how);
    });
    await this.clock.advance(0);
  }

  #answer(): Promise<KubernetesObject | undefined> {
    const { afterMs = 0, error, answer } = this.fate;
    this.sent++;
    return new Promise((resolve, reject) => {
      const end = () => (error === undefined ? resolve(answer) : reject(error));
      this.clock.setTimer(end, afterMs);
    });
  }
}

const ping: Action = {
  kind: 'PingCandidate',
  source: 'native',
  name: 'a',
  uid: 'uid-of-a',
  resourceVersion: '1',
  pingTime: 1n,
  purpose: 'election',
};
const createLease: Action = {
  kind: 'CreateLease',
  strategy: OLDEST,
  grant: {
    ...{ holder: 'a', renewTime: wallAt(0), former: undefined, leaseDurationSeconds: 10 },
    ...{ hasFormerLapsed: false, revises: undefined, isPreemption: false },
  },
};
const clearPreferredHolder: Action = {
  kind: 'UpdateLease',
  uid: 'uid-of-scheduler',
  resourceVersion: '1',
  change: { kind: 'clearPreferredHolder', hasFailed: false },
};

function apiError(status: number, retryAfterMs?: number): ApiError {
  return new ApiError({ method: 'PATCH', path: '/somewhere', status, message: 'no', retryAfterMs });
}

let world: SenderWorld;

beforeEach(() => {
  world = new SenderWorld();
});

describe('a ping', () => {
  test('gets more time for its answer if the server confirms it late (rule 9)', async () => {
    world.fate = { afterMs: 3000 };
    await world.send(ping);
    expect(world.observation?.ping).toMatchObject({ sentAt: 0, deliveredAt: undefined });
    await world.clock.advance(2999);
    expect(world.observation?.ping?.deliveredAt).toBeUndefined();
    await world.clock.advance(1);
    const sent = world.observation?.ping;
    expect(sent).toMatchObject({ purpose: 'election', sentAt: 0, deliveredAt: 3000 });
    expect(sent && ackDueAt(sent, defaultSettings)).toBe(3000 + 5000 + 3000);
    // The time until more candidates are pinged counts from then on as well.
    expect(world.records.gather(KEY).memory.askingSince).toBe(3000);
  });

  test('of a failed round makes the next round come after 5 s instead of a minute', async () => {
    world.records.updateMemory(KEY, (memory) => ({ ...memory, rounds: { count: 7, lastAt: -1000 } }));
    await world.send({ ...ping, purpose: 'revival' });
    expect(world.records.gather(KEY).memory.rounds).toEqual({ count: 7, lastAt: -1000 });
    world.fate = { error: apiError(409) };
    await world.clock.advance(2000);
    await world.send({ ...ping, purpose: 'revival' });
    expect(world.records.gather(KEY).memory.rounds).toEqual({ count: 1, lastAt: 2000 });
  });

  test.each([
    { name: 'failed', error: apiError(500), wantPing: false },
    {
      name: 'may or may not have arrived',
      error: new ConnectionError('reset', { code: 'ECONNRESET' }),
      wantPing: false,
    },
    { name: 'too late', error: apiError(409), wantPing: false },
    { name: 'is refused for good', error: apiError(422), wantPing: true },
  ])('that $name counts as delivered: $wantPing', async ({ error, wantPing }) => {
    world.fate = { error };
    await world.send(ping);
    expect(world.observation?.ping?.deliveredAt).toBe(wantPing ? 0 : undefined);
    expect(world.observation?.ping === undefined).toBe(!wantPing);
  });
});

describe('the result of an action', () => {
  test('is reported before the next decision about the Lease', async () => {
    world.records.seeLease(KEY, makeLease('a').preferring('b').build(), makeNow(0));
    const answer = makeLeaseObject('a', 0);
    world.fate = { afterMs: 10, ...(isKubernetesObject(answer) && { answer }) };
    await world.send(clearPreferredHolder);
    expect(world.gate.closedUntil(KEY, writtenBy(clearPreferredHolder))).toBe(Number.POSITIVE_INFINITY);
    await world.clock.advance(10);
    expect(world.told).toEqual(['written ok', 'ended']);
    // The cache still shows the state before the write.
    expect(world.gate.closedUntil(KEY, writtenBy(clearPreferredHolder))).toBe(10 + 10_000);
  });

  test.each([
    { name: 'a candidate', action: ping },
    { name: 'the Lease', action: clearPreferredHolder },
  ])('keeps $name from being written for as long as the server asks', async ({ action }) => {
    world.fate = { error: apiError(429, 7000) };
    await world.send(action);
    expect(world.told).toEqual(['written ApiError', 'ended without an answer']);
    expect(world.gate.closedUntil(KEY, writtenBy(action))).toBe(7000);
    await world.clock.advance(7000);
    expect(world.gate.closedUntil(KEY, writtenBy(action))).toBeUndefined();
  });

  test.each([
    { name: 'overloaded', error: apiError(429), want: 'ended without an answer' },
    { name: 'broken', error: apiError(503), want: 'ended without an answer' },
    {
      name: 'out of reach',
      error: new ConnectionError('refused', { code: 'ECONNREFUSED' }),
      want: 'ended without an answer',
    },
    { name: 'ahead of us', error: apiError(409), want: 'ended' },
    { name: 'of another opinion', error: apiError(403), want: 'ended' },
  ])('with a server that is $name counts for the limit of requests: $want', async ({ error, want }) => {
    world.fate = { error };
    await world.send(ping);
    expect(world.told.at(-1)).toBe(want);
  });

  test.each([
    { code: 'CLIENT_CLOSED', want: [] },
    { code: 'CREDENTIALS', want: [] },
    { code: 'ECONNREFUSED', want: [] },
    { code: 'ENOTFOUND', want: [] },
    { code: 'ECONNRESET', want: ['a'] },
    { code: 'DEADLINE_EXCEEDED', want: ['a'] },
  ])('leaves a holder that may lead, unless the request was not sent: $code', async ({ code, want }) => {
    world.fate = { error: new ConnectionError('failed', { code }) };
    await world.send(createLease);
    const { memory } = world.records.gather(KEY);
    expect(allBeliefs(memory).map(({ holder }) => holder)).toEqual(want);
  });

  test('is empty if the lock was lost in the meantime: nothing is sent, and nothing counts as failed', async () => {
    world.mayWrite = false;
    await world.send(ping);
    expect(world.sent).toBe(0);
    expect(world.told).toEqual([`written ${new LockLostError().name}`, 'ended without a request']);
    expect(world.observation?.ping).toBeUndefined();
  });

  test('does not count for the limit of requests if no version of LeaseCandidate is served any more', async () => {
    const write = createActionWriter(new ScriptedClient(), () => undefined);
    world.fate = { error: await write('default', 'x', ping).catch((error: unknown) => error) };
    await world.send(ping);
    expect(world.told).toEqual(['written NotSentError', 'ended without a request']);
    expect(world.observation?.ping).toBeUndefined();
  });
});

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

blockNetwork();

function write(action: Action, apiVersion: CandidateApiVersion = 'coordination.k8s.io/v1beta1') {
  return createActionWriter(makeClient(), () => apiVersion)('default', 'scheduler', action);
}

interface WantedRequest {
  readonly method: 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly contentType: string;
  readonly body: Record<string, unknown>;
  readonly query: Record<string, string>;
}

/** A server that gives only this answer. */
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
    name: 'a Lease is created for its first holder',
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
    name: 'a Lease is created without a holder for a third party',
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
  test('comes from one request, whose answer is the new object', async () => {
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

  test('is pinged in the served version (rule 11)', async () => {
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

  test('is deleted only if it is still the same object', async () => {
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
  ])('ends before another replica may act, for every kind ($kind)', async (action) => {
    const client = new ScriptedClient();
    await createActionWriter(client, () => 'coordination.k8s.io/v1beta1')('default', 'scheduler', action);
    expect(client.requests.map(({ deadlineMs }) => deadlineMs)).toEqual([LONGEST_WRITE_MS]);
  });

  test('without an answer is aborted at that deadline', async () => {
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
    const answer = createActionWriter(makeClient({ clock }), () => 'coordination.k8s.io/v1beta1')(
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
    await expect(createActionWriter(client, () => undefined)('default', 'x', ping)).rejects.toThrow(
      'no version of native LeaseCandidates is served any more',
    );
    expect(client.requests).toEqual([]);
  });

  test('that is answered without an object resolves to undefined', async () => {
    const client = new ScriptedClient();
    client.onRequest = () => ({ kind: 'Status', status: 'Success' });
    const answer = createActionWriter(client, () => 'coordination.k8s.io/v1beta1')('default', 'x', ping);
    await expect(answer).resolves.toBeUndefined();
  });

  test('uses the version that is served when it is sent (rule 11)', async () => {
    const client = new ScriptedClient();
    let apiVersion: CandidateApiVersion = 'coordination.k8s.io/v1alpha2';
    const write = createActionWriter(client, () => apiVersion);
    await write('default', 'x', ping);
    apiVersion = 'coordination.k8s.io/v1beta1';
    await write('default', 'x', ping);
    expect(client.requests.map(({ path }) => path)).toEqual([
      `${GROUP}/v1alpha2/namespaces/default/leasecandidates/a`,
      `${GROUP}/v1beta1/namespaces/default/leasecandidates/a`,
    ]);
  });
});
