import { beforeEach, describe, expect, test } from 'vitest';
import { formatMicroTime } from '../../src/coordination/micro-time.ts';
import { SampleCandidate } from '../../src/demo/sample-candidate.ts';
import type { SampleIdentity } from '../../src/demo/sample-identity.ts';
import type { ApiRequest } from '../../src/kubernetes/client.ts';
import type { KubernetesObject } from '../../src/kubernetes/objects.ts';
import type { JsonObject } from '../../src/support/json.ts';
import { SimApiServer, specOf } from '../simulation/sim-api-server.ts';
import { SimConnection, type SimFate } from '../simulation/sim-connection.ts';
import { SimProcess } from '../simulation/sim-process.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { timing } from './make-demo.ts';

const KEY = 'default/one';
const LEASE = 'default/demo';
const identity: SampleIdentity = {
  namespace: 'default',
  leaseName: 'demo',
  name: 'one',
  binaryVersion: '1.36.0',
  emulationVersion: '1.35.0',
  strategy: 'OldestEmulationVersion',
};

let clock: VirtualClock;
let api: SimApiServer;
let fate: (request: ApiRequest) => SimFate;
/** What it told of its leading. */
let told: boolean[];

beforeEach(() => {
  clock = new VirtualClock();
  api = new SimApiServer(clock);
  fate = () => ({});
  told = [];
});

function makeCandidate(): SampleCandidate {
  const process = new SimProcess(clock);
  return new SampleCandidate({
    client: new SimConnection(api, process, 'one', { fate: (request) => fate(request) }),
    clock,
    identity,
    timing,
    onLeading: (isLeading) => told.push(isLeading),
  });
}

async function startCandidate(): Promise<SampleCandidate> {
  const candidate = makeCandidate();
  const started = candidate.start();
  await clock.advance(0);
  await started;
  return candidate;
}

/** The coordinator gives the Lease to somebody. */
function grant(holder: string, fields: JsonObject = {}): void {
  const now = formatMicroTime(clock.wallTime());
  const strategy = 'OldestEmulationVersion';
  writeLease({
    holderIdentity: holder,
    leaseDurationSeconds: 4,
    acquireTime: now,
    renewTime: now,
    strategy,
    ...fields,
  });
}

function writeLease(spec: JsonObject): void {
  const before = api.lease(LEASE);
  const metadata = { namespace: 'default', name: 'demo' };
  if (!before) api.store.create('leases', { metadata, spec });
  else change(before, 'leases', spec);
}

function change(before: KubernetesObject, resource: 'leases' | 'leasecandidates', spec: JsonObject): void {
  api.store.update(resource, before, { ...before, spec: { ...specOf(before), ...spec } });
}

function ping(): void {
  const before = api.candidate(KEY);
  if (before) change(before, 'leasecandidates', { pingTime: formatMicroTime(clock.wallTime()) });
}

function candidateSpec(): JsonObject {
  return specOf(api.candidate(KEY));
}

/** Whether its last renewal came after the last ping. */
function hasAnswered(): boolean {
  const { pingTime, renewTime } = candidateSpec();
  return String(renewTime) >= String(pingTime);
}

/** The moments at which it wrote the Lease, in milliseconds. */
function renewals(): readonly number[] {
  return api.writes
    .filter(({ resource, status }) => resource === 'leases' && status === 200)
    .map(({ at }) => at);
}

describe('a sample candidate', () => {
  test('publishes who it is and what it asks for', async () => {
    await startCandidate();
    expect(candidateSpec()).toEqual({
      leaseName: 'demo',
      binaryVersion: '1.36.0',
      emulationVersion: '1.35.0',
      strategy: 'OldestEmulationVersion',
      renewTime: '2026-01-01T00:00:00.000000Z',
    });
  });

  test('renews its LeaseCandidate now and then', async () => {
    await startCandidate();
    await clock.advance(30_000);
    expect(candidateSpec()['renewTime']).toBe('2026-01-01T00:00:30.000000Z');
  });

  test('answers a ping at once, whoever else writes at that moment', async () => {
    await startCandidate();
    await clock.advance(1000);
    let isFirst = true;
    fate = ({ method }) => {
      const own = api.candidate(KEY);
      if (method === 'PUT' && isFirst && own) {
        isFirst = false;
        change(own, 'leasecandidates', { note: 'changed meanwhile' });
      }
      return {};
    };
    ping();
    await clock.advance(20);
    expect(api.writes.map(({ status }) => status)).toEqual([201, 409, 200]);
    expect(hasAnswered()).toBe(true);
  });

  test('publishes itself again when somebody deletes its LeaseCandidate', async () => {
    await startCandidate();
    const own = api.candidate(KEY);
    if (own) api.store.remove('leasecandidates', own);
    await clock.advance(30_000);
    expect(candidateSpec()['leaseName']).toBe('demo');
  });

  test('leads once the Lease names it, and renews it from then on', async () => {
    const candidate = await startCandidate();
    grant('one', { leaseTransitions: 3 });
    await clock.advance(2000);
    expect(told).toEqual([true]);
    expect(candidate.isLeading).toBe(true);
    const [first = 0, second = 0, third] = renewals();
    expect([second - first, third]).toEqual([500, second + 500]);
    expect(api.leaseSpec(LEASE)).toMatchObject({
      holderIdentity: 'one',
      acquireTime: '2026-01-01T00:00:00.000000Z',
      leaseDurationSeconds: 4,
      leaseTransitions: 3,
      strategy: 'OldestEmulationVersion',
    });
  });

  test.each([
    { name: 'somebody else holds', holder: 'two' },
    { name: 'nobody holds', holder: '' },
  ])('leaves a Lease alone that $name', async ({ holder }) => {
    await startCandidate();
    grant(holder);
    await clock.advance(10_000);
    expect({ renewals: renewals(), told }).toEqual({ renewals: [], told: [] });
  });

  test('never renews a Lease that has expired, until it is granted anew', async () => {
    await startCandidate();
    fate = ({ method, path }) => (method === 'PUT' && path.endsWith('/demo') ? { outcome: 500 } : {});
    grant('one');
    // It looks at the Lease after 1.1 s at the latest, and counts from there.
    await clock.advance(1100 + 4000);
    fate = () => ({});
    await clock.advance(5000);
    expect({ renewals: renewals(), told }).toEqual({ renewals: [], told: [] });
    grant('one');
    await clock.advance(1200);
    expect(told).toEqual([true]);
  });

  test('stops to renew when another is preferred, and leads on for its renew deadline', async () => {
    const candidate = await startCandidate();
    grant('one');
    await clock.advance(2000);
    const [lastRenewal] = renewals().slice(-1);
    const before = renewals().length;
    const lease = api.lease(LEASE);
    if (lease) change(lease, 'leases', { preferredHolder: 'two' });
    await clock.runUntil(() => !candidate.isLeading);
    // The deadline begins with the renewal that it leaves out.
    const { retryPeriodMs, renewDeadlineMs } = timing;
    expect(clock.now() - (lastRenewal ?? 0)).toBeCloseTo(retryPeriodMs + renewDeadlineMs, 6);
    expect(told).toEqual([true, false]);
    expect(renewals()).toHaveLength(before);
  });

  test('does nothing while it is paused, and finds out afterwards that it leads no longer', async () => {
    const candidate = await startCandidate();
    grant('one');
    await clock.advance(2000);
    candidate.pause();
    expect(candidate.life).toBe('paused');
    ping();
    const before = api.writes.length;
    await clock.advance(6000);
    expect(api.writes).toHaveLength(before);
    expect(hasAnswered()).toBe(false);
    grant('two');
    candidate.resume();
    await clock.advance(1200);
    expect(candidate.life).toBe('running');
    expect(hasAnswered()).toBe(true);
    expect(told).toEqual([true, false]);
    expect(api.leaseSpec(LEASE)['holderIdentity']).toBe('two');
  });

  test('leaves everything as it is when it crashes', async () => {
    const candidate = await startCandidate();
    grant('one');
    await clock.advance(2000);
    await candidate.crash();
    const before = api.writes.length;
    ping();
    await clock.advance(60_000);
    expect(api.writes).toHaveLength(before);
    expect(candidateSpec()['leaseName']).toBe('demo');
    expect(api.leaseSpec(LEASE)['holderIdentity']).toBe('one');
    expect({ life: candidate.life, isLeading: candidate.isLeading }).toEqual({
      life: 'crashed',
      isLeading: false,
    });
  });

  test('crashes while it is paused too', async () => {
    const candidate = await startCandidate();
    candidate.pause();
    await clock.advance(2000);
    await candidate.crash();
    expect(candidate.life).toBe('crashed');
  });

  test('does not take up in a new life what it held in a former one', async () => {
    const former = await startCandidate();
    grant('one');
    await clock.advance(2000);
    await former.crash();
    const before = renewals();
    await clock.advance(1000);
    const reborn = await startCandidate();
    await clock.advance(5000);
    expect({ isLeading: reborn.isLeading, renewals: renewals() }).toEqual({
      isLeading: false,
      renewals: before,
    });
    grant('one');
    await clock.advance(1200);
    expect(reborn.isLeading).toBe(true);
  });

  test('takes its LeaseCandidate along when it leaves', async () => {
    const candidate = await startCandidate();
    await candidate.leave();
    await clock.advance(60_000);
    expect(api.candidate(KEY)).toBeUndefined();
    expect(candidate.life).toBe('left');
  });
});
