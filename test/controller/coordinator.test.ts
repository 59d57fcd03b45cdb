import { describe, expect, test } from 'vitest';
import { assembleCoordinator, CONNECTIONS, keepConnectionsOpen } from '../../src/controller/coordinator.ts';
import { RequestRoom } from '../../src/controller/order-and-limit.ts';
import { createActionWriter } from '../../src/controller/sender.ts';
import type { Action } from '../../src/election/decision.ts';
import { KEEP_ALIVE_MS } from '../../src/kubernetes/channel.ts';
import type { ApiRequest } from '../../src/kubernetes/client.ts';
import { ConnectionError } from '../../src/kubernetes/errors.ts';
import { runSettings } from '../../src/settings/run-settings.ts';
import { resolveSettings } from '../../src/settings/settings-table.ts';
import { sleep } from '../../src/support/clock.ts';
import { makeLocalClient } from '../kubernetes/make-client.ts';
import { ScriptedServer, sendJson } from '../kubernetes/scripted-server.ts';
import { SimApiServer } from '../simulation/sim-api-server.ts';
import { SimConnection, type SimFate } from '../simulation/sim-connection.ts';
import { SimProcess } from '../simulation/sim-process.ts';
import { OLDEST } from '../support/election-builders.ts';
import { VirtualClock, waitFor } from '../support/virtual-clock.ts';
import { makeCandidateObject } from './make-objects.ts';

const CANDIDATES = '/apis/coordination.k8s.io/v1beta1/namespaces/default/leasecandidates';
const DROPPED: SimFate = { outcome: 'dropped' };

/** Like the real client: aborts requests that have not ended by then. */
class ClosingConnection extends SimConnection {
  readonly #clock: VirtualClock;

  constructor(
    clock: VirtualClock,
    ...[api, process, name, options]: ConstructorParameters<typeof SimConnection>
  ) {
    super(api, process, name, options);
    this.#clock = clock;
  }

  override async close(graceMs = 1000): Promise<void> {
    this.breakWatches();
    await sleep(this.#clock, graceMs);
    this.reset();
  }
}

/** A coordinator that holds the lock, with a connection to its server that a test can disturb. */
async function makeActiveCoordinator({
  labelled = undefined as string[] | undefined,
  lockNamespace = 'kube-system',
  workers = '32',
  prepare = (_: SimApiServer) => {},
} = {}) {
  const clock = new VirtualClock();
  const api = new SimApiServer(clock);
  prepare(api);
  const refusals: string[] = [];
  const process = new SimProcess(clock);
  const spoiled = { fate: (_: ApiRequest): SimFate => ({}) };
  const isActive: boolean[] = [];
  const connections: ClosingConnection[] = [];
  const coordinator = assembleCoordinator({
    clock,
    // The server identifies each client by its maximum number of connections.
    connect(count) {
      const options = { fate: (request: ApiRequest) => spoiled.fate(request) };
      const connection = new ClosingConnection(clock, api, process, `${count}`, options);
      connections.push(connection);
      return connection;
    },
    settings: {
      ...resolveSettings(runSettings, { lockNamespace, workers }, {}),
      leaderLabel: labelled !== undefined,
    },
    observe: (event) => {
      if (event.type === 'lockChanged') isActive.push(event.state.kind === 'active');
      if (event.type === 'lockRefused') refusals.push(event.reason);
      if (event.type === 'labelWritten')
        labelled?.push(`${event.write.kind} ${event.write.pod.name} ${event.key}`);
      if (event.type === 'labelsListed')
        labelled?.push(`listed${event.error === undefined ? '' : ' in vain'}`);
    },
  });
  coordinator.start();
  await clock.advance(20_000);
  expect(isActive.at(-1)).toBe(true);
  const holder = () => api.leaseSpec(`${lockNamespace}/leader-election-controller`)['holderIdentity'];
  const breakWatches = () => {
    for (const connection of connections) connection.breakWatches();
  };
  return { clock, api, coordinator, spoiled, holder, refusals, breakWatches };
}

test('the lock has its own connections, so that load of elections cannot delay it (rule 10)', async () => {
  const { clock, api } = await makeActiveCoordinator();
  api.handle('test', {
    method: 'POST',
    path: CANDIDATES,
    body: makeCandidateObject('a', { renewedAt: -60_000 }),
  });
  await clock.advance(10_000);
  const by = (requests: readonly string[]) => [...new Set(requests.map((request) => request.split(' ')[0]))];
  const ours = api.requests.filter((request) => !request.startsWith('test '));
  expect(ours).toContain(`32 PATCH ${CANDIDATES}/a`);
  expect(by(ours.filter((request) => request.endsWith('/leader-election-controller')))).toEqual(['2']);
  expect(by(ours.filter((request) => request.includes('/leasecandidates')))).toEqual(['32']);
});

test('at most as many connections are kept open as there may be writes in flight', async () => {
  const { api } = await makeActiveCoordinator({ workers: '4' });
  const uses = api.requests.filter((request) => request === '32 GET /apis/coordination.k8s.io/v1');
  expect(uses).toHaveLength(4);
});

describe('a coordinator that stops', () => {
  test('releases the lock at once when no write is in flight', async () => {
    const { clock, coordinator, holder } = await makeActiveCoordinator();
    const stopped = coordinator.stop();
    await clock.advance(500);
    await stopped;
    expect(holder()).toBe('');
  });

  test('aborts requests, then releases the lock, when elections get no answers', async () => {
    const { clock, api, coordinator, spoiled, holder } = await makeActiveCoordinator();
    const pings: ApiRequest[] = [];
    spoiled.fate = (request) => {
      const isPing = request.method === 'PATCH' && request.path.startsWith(CANDIDATES);
      if (isPing) pings.push(request);
      return isPing ? DROPPED : {};
    };
    api.handle('test', {
      method: 'POST',
      path: CANDIDATES,
      body: makeCandidateObject('a', { renewedAt: -60_000 }),
    });
    await clock.advance(100);
    expect(pings).not.toEqual([]);
    const stopped = coordinator.stop();
    await clock.advance(1000);
    expect(holder()).not.toBe('');
    await clock.advance(500);
    await stopped;
    expect(holder()).toBe('');
    expect(clock.pendingTimers).toBe(0);
  });

  test('ends within 3 s when no request is answered', async () => {
    const { clock, api, coordinator, spoiled } = await makeActiveCoordinator();
    spoiled.fate = () => DROPPED;
    api.handle('test', {
      method: 'POST',
      path: CANDIDATES,
      body: makeCandidateObject('a', { renewedAt: -60_000 }),
    });
    await clock.advance(2100);
    const stopped = coordinator.stop();
    await clock.advance(3000);
    await stopped;
  });
});

describe('a lock in another namespace than kube-system (rule 10)', () => {
  const ownLock = () =>
    makeActiveCoordinator({
      lockNamespace: 'infra',
      prepare(api) {
        api.candidateVersions = [];
        api.hasCustomCandidates = true;
      },
    });

  test('is held if the API server has no native LeaseCandidates', async () => {
    const { api, coordinator, holder, refusals } = await ownLock();
    expect(holder()).toMatch(/^coordinated-leader-election_/);
    expect(api.requests.filter((request) => request.includes('kube-system'))).toEqual([]);
    expect([coordinator.lockRefusal(), refusals]).toEqual([undefined, []]);
  });

  test('is released as soon as they are served, and nothing is written in the meantime', async () => {
    const { clock, api, coordinator, holder, refusals } = await ownLock();
    api.candidateVersions = ['v1beta1'];
    await clock.advance(10_000);
    expect(refusals).toEqual([
      expect.stringMatching(/^the lock cannot be in namespace infra: .* Leave --lock-namespace out/),
    ]);
    expect(coordinator.lockRefusal()).toBe(refusals[0]);
    api.requests.length = 0;
    const body = makeCandidateObject('a', { renewedAt: -60_000 });
    api.handle('test', { method: 'POST', path: CANDIDATES, body });
    await clock.advance(60_000);
    expect(holder()).toBe('');
    const writes = api.requests.filter((request) => /^(?!test )\S+ (?:POST|PATCH|DELETE)/.test(request));
    expect(writes).toEqual([]);
    expect(refusals).toHaveLength(1);
  });

  test('is taken again after they disappear', async () => {
    const { clock, api, coordinator, holder, breakWatches } = await ownLock();
    api.candidateVersions = ['v1beta1'];
    await clock.advance(60_000);
    api.candidateVersions = [];
    breakWatches();
    await clock.advance(60_000);
    expect(coordinator.lockRefusal()).toBeUndefined();
    expect(holder()).toMatch(/^coordinated-leader-election_/);
  });
});

describe('leader labels', () => {
  const isAboutPods = ({ path }: ApiRequest) => path.endsWith('/pods') || path.includes('/pods/');

  test('are listed when the lock is acquired, over their own connections', async () => {
    const labelled: string[] = [];
    const { api } = await makeActiveCoordinator({ labelled });
    expect(labelled[0]).toMatch(/^listed/);
    const asked = api.requests.filter((request) => request.includes('/api/v1/pods'));
    // Requests of the client with two connections, which the lock uses, not of the client for elections.
    expect(new Set(asked.map((request) => request.split(' ', 1)[0]))).toEqual(new Set(['2']));
  });

  test('delay neither an election nor the shutdown when they get no answers', async () => {
    const { clock, api, coordinator, spoiled, holder } = await makeActiveCoordinator({ labelled: [] });
    spoiled.fate = (request) => (isAboutPods(request) ? DROPPED : {});
    const body = makeCandidateObject('a', { renewedAt: clock.now() });
    api.handle('test', { method: 'POST', path: CANDIDATES, body });
    await clock.advance(1000);
    expect(api.leaseSpec('default/scheduler')['holderIdentity']).toBe('a');
    const stopped = coordinator.stop();
    await clock.advance(3000);
    await stopped;
    expect(holder()).toBe('');
  });

  test('cause no requests when they are off', async () => {
    const { api } = await makeActiveCoordinator();
    expect(api.requests.filter((request) => request.includes('/pods'))).toEqual([]);
  });
});

const WRITE: Action = {
  kind: 'UpdateLease',
  uid: 'u',
  resourceVersion: '7',
  change: { kind: 'prefer', preferredHolder: 'b', strategy: OLDEST },
};

function keepOpen(answer: () => Promise<object>) {
  const clock = new VirtualClock();
  const requests: ApiRequest[] = [];
  const stopping = new AbortController();
  const client = {
    request: async (request: ApiRequest) => {
      requests.push(request);
      return (await answer()) as Record<string, unknown>;
    },
  };
  const done = keepConnectionsOpen(client, clock, 4, stopping.signal);
  return { clock, requests, stopping, done };
}

describe('connections', () => {
  test('are free for writes at once, even if the GETs that keep them open are slow', async ({
    onTestFinished,
  }) => {
    const server = await ScriptedServer.start();
    onTestFinished(() => server.stop());
    server.answer = (request, response) => {
      if (request.method === 'PATCH') sendJson(response, {});
      else setTimeout(() => sendJson(response, {}), 30_000).unref();
    };
    const clock = new VirtualClock();
    const client = makeLocalClient(server.port, { clock, connections: CONNECTIONS });
    onTestFinished(() => client.close());
    const stopping = new AbortController();
    const done = keepConnectionsOpen(client, clock, CONNECTIONS, stopping.signal);
    await waitFor(() => server.requests.length === CONNECTIONS);

    const room = new RequestRoom(clock, CONNECTIONS);
    const write = createActionWriter(client, () => undefined);
    const writes = Array.from({ length: CONNECTIONS }, async (_, index) => {
      const end = room.begin(`default/${index}`);
      await write('default', `${index}`, WRITE).then(
        () => end(true),
        () => end(false),
      );
    });
    await waitFor(() => server.requests.length === 2 * CONNECTIONS, 'all writes to be sent');
    await Promise.all(writes);
    // On a clock that stands still: no request has waited for a deadline.
    expect(server.requests.filter(({ method }) => method === 'PATCH')).toHaveLength(CONNECTIONS);
    expect(room.limit).toBe(CONNECTIONS);
    stopping.abort();
    await done;
  });

  test('are all used at one moment, and again before the first of them would be closed', async () => {
    const { clock, requests } = keepOpen(async () => ({}));
    await clock.advance(0);
    expect(requests).toHaveLength(4);
    expect(requests[0]).toMatchObject({ method: 'GET', path: '/apis/coordination.k8s.io/v1' });
    await clock.advance(KEEP_ALIVE_MS - 5000);
    expect(requests).toHaveLength(8);
  });

  test('are retried after the server was down', async () => {
    const { clock, requests } = keepOpen(async () => {
      throw new ConnectionError('refused', { code: 'ECONNREFUSED' });
    });
    await clock.advance(KEEP_ALIVE_MS);
    expect(requests).toHaveLength(8);
  });

  test('are not used after the coordinator has stopped', async () => {
    const { clock, requests, stopping, done } = keepOpen(async () => ({}));
    await clock.advance(0);
    stopping.abort();
    await done;
    await clock.advance(10 * KEEP_ALIVE_MS);
    expect(requests).toHaveLength(4);
    expect(clock.pendingTimers).toBe(0);
  });
});
