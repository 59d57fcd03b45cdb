import { describe, expect, test } from 'vitest';
import type { LockEvent, LockState } from '../../src/controller/lock/lock-settings.ts';
import { ApiError, ConnectionError } from '../../src/kubernetes/errors.ts';
import type { ReflectorErrorContext } from '../../src/kubernetes/reflector.ts';
import {
  createControllerReport,
  createEventFailureReport,
  NOT_SERVED_ADVICE,
  UNREADABLE_PRIORITY,
} from '../../src/telemetry/controller-report.ts';
import { makeCandidateObject } from '../controller/make-objects.ts';
import { makeReportedWorld, makeTelemetry } from './make-reported.ts';

function makeReport() {
  let at = 0;
  const telemetry = makeTelemetry();
  const parts = { ...telemetry, now: () => at, isDryRun: false };
  const report = createControllerReport(parts);
  return {
    ...telemetry,
    report,
    lockEvent: (event: LockEvent) => report({ type: 'lockEvent', event }),
    lockChanged: (state: LockState) => report({ type: 'lockChanged', state }),
    watchFailed: (error: unknown, context: ReflectorErrorContext) =>
      report({ type: 'watchFailed', error, context }),
    passes: (ms: number) => {
      at += ms;
    },
  };
}

const LISTING = { path: '/leases', during: 'list', retryInMs: 200 } as const;

test('a lock in a refused namespace is logged as an error with the reason', () => {
  const { report, lines } = makeReport();
  report({ type: 'lockRefused', reason: 'the lock cannot be there' });
  expect(lines).toMatchObject([{ level: 'error', msg: 'Nothing is elected: the lock cannot be there' }]);
});

describe('a repeated error', () => {
  test('is logged when it begins, and then once a minute', () => {
    const { watchFailed, linesOf, passes } = makeReport();
    for (let second = 0; second < 125; second++) {
      watchFailed(new Error('refused'), LISTING);
      passes(1000);
    }
    expect(linesOf('Watching failed')).toMatchObject(
      Array.from({ length: 3 }, () => ({ level: 'warn', path: '/leases', during: 'list' })),
    );
  });

  test('is logged at once when it changes', () => {
    const { watchFailed, linesOf } = makeReport();
    watchFailed(new Error('refused'), LISTING);
    watchFailed(new Error('forbidden'), LISTING);
    expect(linesOf('Watching failed').map(({ err }) => err)).toMatchObject([
      { message: 'refused' },
      { message: 'forbidden' },
    ]);
  });

  test('is separate from that of another watch, or another step; each is counted', async () => {
    const { report, watchFailed, lines, measure } = makeReport();
    watchFailed(new Error('refused'), LISTING);
    watchFailed(new Error('refused'), { ...LISTING, path: '/leasecandidates' });
    watchFailed(new Error('refused'), { ...LISTING, during: 'watch' });
    report({ type: 'discoveryFailed', error: new Error('refused') });
    report({ type: 'discoveryFailed', error: new Error('refused') });
    expect(lines).toHaveLength(4);
    const failures = 'cle_reflector_failures_total';
    await expect(measure(`${failures}{resource="leasecandidates",during="discovery"}`)).resolves.toBe(2);
    await expect(measure(`${failures}{resource="leasecandidates",during="list"}`)).resolves.toBe(1);
    await expect(measure(`${failures}{resource="leases",during="watch"}`)).resolves.toBe(1);
  });

  test('may be anything', () => {
    const { report, linesOf } = makeReport();
    report({ type: 'discoveryFailed', error: 'text' });
    report({ type: 'discoveryFailed', error: 'text' });
    expect(linesOf('Could not ask the API server what it serves')).toHaveLength(1);
  });
});

test('an invalid priority is logged once, with what to do (rule 16)', async () => {
  const { world, linesOf } = makeReportedWorld();
  await world.start();
  world.create('leasecandidates', makeCandidateObject('a', { renewedAt: 0 }));
  const annotations = { 'coordinated-leader-election.dev/priority': 'high' };
  world.annotate('leasecandidates', 'default/a', annotations);
  await world.clock.advance(0);
  world.renew('default/a');
  await world.clock.advance(1000);
  expect(linesOf(UNREADABLE_PRIORITY)).toMatchObject([
    {
      level: 'warn',
      lease: 'default/scheduler',
      candidate: 'a',
      annotation: 'coordinated-leader-election.dev/priority: "high"',
    },
  ]);
  world.annotate('leasecandidates', 'default/a', {});
  await world.clock.advance(0);
  world.annotate('leasecandidates', 'default/a', annotations);
  await world.clock.advance(0);
  expect(linesOf(UNREADABLE_PRIORITY)).toHaveLength(2);
});

describe('an API that is not served', () => {
  test('is logged once, with what to do, and so is its appearance', async () => {
    const { world, lines, linesOf } = makeReportedWorld();
    world.api.candidateVersions = [];
    await world.start();
    await world.clock.advance(60_000);
    expect(linesOf(NOT_SERVED_ADVICE)).toMatchObject([{ level: 'error' }]);
    world.api.candidateVersions = ['v1alpha2'];
    await world.clock.advance(10_000);
    expect(lines.at(-1)).toMatchObject({
      msg: 'Watching LeaseCandidates',
      apiVersion: 'coordination.k8s.io/v1alpha2',
    });
  });

  test.each(['v1beta1', 'v1alpha2', 'v1alpha1', 'feature-gates=CoordinatedLeaderElection=true'])(
    'can be turned on by what the advice says: %s',
    (word) => {
      expect(NOT_SERVED_ADVICE).toContain(word);
    },
  );
});

describe('the coordinator lock', () => {
  test('is logged with each change, and measured', async () => {
    const { lockChanged, linesOf, measure, passes } = makeReport();
    const held = 'leader_election_master_status{name="leader-election-controller"}';
    await expect(measure(held)).resolves.toBe(0);
    passes(100);
    lockChanged({ kind: 'settling', holder: 'us', since: 100, activeAt: 15_100 });
    await expect(measure(held)).resolves.toBe(0);
    lockChanged({ kind: 'active', holder: 'us', since: 15_100 });
    await expect(measure(held)).resolves.toBe(1);
    lockChanged({ kind: 'standby', since: 16_000 });
    await expect(measure(held)).resolves.toBe(0);
    await expect(measure('cle_lock_state_changes_total{state="active"}')).resolves.toBe(1);
    expect(linesOf('The coordinator lock changed')).toMatchObject([
      { state: 'settling', holder: 'us', startsInMs: 15_000 },
      { state: 'active', holder: 'us' },
      { state: 'standby' },
    ]);
  });

  test('taken over and lost is a warning', () => {
    const { lockEvent, lines } = makeReport();
    lockEvent({ kind: 'claimedByForce', from: 'apiserver-x' });
    lockEvent({ kind: 'ousted', by: 'apiserver-x', forceAgainInMs: 30_000 });
    expect(lines).toMatchObject([
      { level: 'warn', from: 'apiserver-x', msg: 'Took the coordinator lock over' },
      { level: 'warn', by: 'apiserver-x', retryInMs: 30_000, msg: 'Lost the coordinator lock' },
    ]);
  });

  test('released because it is useless is a warning', () => {
    const { lockEvent, lines } = makeReport();
    lockEvent({ kind: 'letGo' });
    expect(lines).toMatchObject([
      { level: 'warn', msg: expect.stringMatching(/^This replica releases the coordinator lock/) },
    ]);
  });

  test('whose calls fail is logged once for each kind of call, and counted each time', async () => {
    const { lockEvent, report, lines, measure } = makeReport();
    for (const call of ['get', 'get', 'update', 'get', 'update'] as const) {
      lockEvent({ kind: 'callFailed', call, error: new Error('no answer within 3000 ms') });
    }
    report({ type: 'lockWatchFailed', error: new Error('reset'), context: LISTING });
    expect(lines.map(({ call }) => call)).toEqual(['get', 'update', undefined]);
    await expect(measure('cle_lock_call_failures_total{call="get"}')).resolves.toBe(3);
    await expect(measure('cle_lock_call_failures_total{call="watch"}')).resolves.toBe(1);
  });
});

describe('Events that cannot be written', () => {
  test('are logged once for each kind of failure, for any Event', () => {
    const telemetry = makeTelemetry();
    const failed = createEventFailureReport({ ...telemetry, now: () => 0 });
    const answer = { method: 'POST', message: 'no' };
    failed(new ApiError({ ...answer, path: '/a', status: 403, reason: 'Forbidden' }));
    failed(new ApiError({ ...answer, path: '/b', status: 403, reason: 'Forbidden' }));
    failed(new ApiError({ ...answer, path: '/b', status: 500 }));
    failed(new ConnectionError('a was reset', { code: 'ECONNRESET' }));
    failed(new ConnectionError('b was reset', { code: 'ECONNRESET' }));
    failed(new TypeError('not a function'));
    expect(telemetry.linesOf('Writing an Event failed').map(({ err }) => err)).toMatchObject([
      { status: 403, path: '/a' },
      { status: 500 },
      { message: 'a was reset' },
      { message: 'not a function' },
    ]);
  });
});

test('a reconcile with an unexpected error is logged as an error with its Lease', () => {
  const { report, lines } = makeReport();
  report({ type: 'decisionFailed', key: 'default/x', error: new TypeError('not a function') });
  expect(lines).toMatchObject([{ level: 'error', lease: 'default/x', err: { type: 'TypeError' } }]);
});

const LEASE = 'default/web';

const add = { kind: 'add', pod: { name: 'web-0', uid: 'u' } } as const;

const remove = { kind: 'remove', pod: { name: 'web-1', uid: 'v' } } as const;

const forbidden = new ApiError({ method: 'PATCH', path: '/pods/web-0', status: 403, message: 'no' });

test('written labels are logged and counted', async () => {
  const { report, lines, measure } = makeReport();
  report({ type: 'labelsListed', error: undefined });
  report({ type: 'labelWritten', key: LEASE, write: remove, error: undefined });
  report({ type: 'labelWritten', key: LEASE, write: add, error: undefined });
  expect(lines).toMatchObject([
    { level: 'info', lease: LEASE, pod: 'web-1', action: 'remove' },
    { level: 'info', lease: LEASE, pod: 'web-0', action: 'add' },
  ]);
  for (const call of ['list', 'add', 'remove']) {
    const counter = `cle_leader_label_calls_total{call="${call}",result="success"}`;
    await expect(measure(counter)).resolves.toBe(1);
  }
});

test('equal failures are logged once a minute, and counted each time', async () => {
  const { report, lines, measure, passes } = makeReport();
  for (let second = 0; second < 65; second++) {
    report({ type: 'labelWritten', key: `default/lease-${second}`, write: add, error: forbidden });
    report({ type: 'labelsListed', error: forbidden });
    passes(1000);
  }
  const told = lines.map(({ level, msg }) => `${level}: ${msg}`);
  expect(told.filter((line) => line === 'warn: Writing a leader label failed')).toHaveLength(2);
  expect(told.filter((line) => line.startsWith('warn: Listing Pods for leader labels failed'))).toHaveLength(
    2,
  );
  await expect(measure('cle_leader_label_calls_total{call="add",result="error"}')).resolves.toBe(65);
  await expect(measure('cle_leader_label_calls_total{call="list",result="error"}')).resolves.toBe(65);
});

test('a Lease whose name is too long for a label is logged', () => {
  const { report, lines } = makeReport();
  report({ type: 'unlabelable', key: LEASE });
  expect(lines).toMatchObject([
    { level: 'warn', lease: LEASE, msg: expect.stringContaining('63 characters') },
  ]);
});
