import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { decodeLease, NOTES } from '../../src/coordination/lease.ts';
import { connectParticipant, participate } from '../../src/participant/participant.ts';
import { specOf } from '../simulation/sim-api-server.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { ParticipantStage, StagedParticipant, untilAborted, whyOver } from './participant-stage.ts';

const CANDIDATE = 'default/one';

let stage: ParticipantStage;

beforeEach(() => {
  stage = new ParticipantStage();
});

describe('a participant', () => {
  test('publishes a candidate, and leads from the first renewal of a grant on', async () => {
    const one = await stage.started();
    expect(specOf(stage.api.candidate(CANDIDATE))).toMatchObject({
      leaseName: 'checkout',
      binaryVersion: '1.4.2',
      emulationVersion: '1.4.2',
      strategy: 'OldestEmulationVersion',
    });
    stage.grant('one', { leaseTransitions: 7 });
    await stage.clock.advance(0);
    expect(one.isLeading).toBe(true);
    expect(one.term).toMatchObject({
      holder: 'one',
      fencingToken: 7,
      lease: { namespace: 'default', name: 'checkout' },
    });
    expect(stage.lease).toMatchObject({ leaseDurationSeconds: 15, leaseTransitions: 7 });
    expect(one.term.remainingMs()).toBe(13_500);
  });

  test('does not lead before its first renewal is answered, nor longer than from when that was sent', async () => {
    stage.fate = ({ method }) => (method === 'PUT' ? { requestMs: 1000, answerMs: 1000 } : {});
    const one = await stage.started();
    stage.grant('one');
    await stage.clock.advance(1900);
    expect(stage.lease['leaseDurationSeconds']).toBe(15);
    expect(one.terms).toHaveLength(0);
    await stage.clock.advance(200);
    expect(one.isLeading).toBe(true);
    expect(one.term.remainingMs()).toBe(13_500 - 2100);
  });

  test('renews every retry period', async () => {
    const one = await stage.leading();
    await stage.clock.advance(60_000);
    expect(one.isLeading).toBe(true);
    expect(stage.leaseWrites).toHaveLength(31);
    expect(one.terms).toHaveLength(1);
  });

  test.each([
    ['a field', { preferredHolder: 'two' }, {}],
    ['a note', {}, { annotations: { [NOTES.preferredHolder]: 'two' } }],
  ])('asked by %s to yield ends, then releases, and keeps fields of others', async (_, spec, metadata) => {
    let isDone = false;
    const one = await stage.leading({}, async (term) => {
      await untilAborted(term);
      await stage.delay(3000);
      isDone = true;
    });
    stage.writeLease(spec, metadata);
    await stage.clock.advance(2900);
    expect(whyOver(one.term)).toBe('yielded');
    expect(stage.lease['holderIdentity']).toBe('one');
    expect(one.term.remainingMs()).toBeGreaterThan(0);
    expect(isDone).toBe(false);
    await stage.clock.advance(200);
    expect(isDone).toBe(true);
    expect(stage.lease).toMatchObject({
      holderIdentity: '',
      leaseDurationSeconds: 1,
      strategy: 'OldestEmulationVersion',
      ...spec,
    });
    expect(stage.rawLease?.metadata).toMatchObject(metadata);
    // The coordinator recognizes the release of a participant (rule 8).
    expect(decodeLease(stage.rawLease ?? { metadata: { name: '' } }).isReleasedByParticipant).toBe(true);
    expect(one.term.remainingMs()).toBe(0);
  });

  test('continues to lead if it is preferred itself', async () => {
    const one = await stage.leading();
    stage.writeLease({ preferredHolder: 'one' });
    await stage.clock.advance(30_000);
    expect(one.isLeading).toBe(true);
  });

  test('stopped ends, then releases, then deletes its candidate', async () => {
    const one = await stage.leading();
    one.stopping.abort();
    await stage.clock.advance(10);
    expect(one.outcome).toBe('resolved');
    expect(whyOver(one.term)).toBe('stopped');
    expect(stage.lease['holderIdentity']).toBe('');
    expect(stage.api.candidate(CANDIDATE)).toBeUndefined();
    const last = stage.api.writes.slice(-2).map(({ resource, method }) => `${method} ${resource}`);
    expect(last).toEqual(['PUT leases', 'DELETE leasecandidates']);
    expect(stage.clock.pendingTimers).toBe(0);
  });

  test('stopped without a server gives up when the Lease could not be released for the renew deadline', async () => {
    const one = await stage.leading();
    stage.api.isDown = true;
    one.stopping.abort();
    await stage.clock.advance(16_000);
    expect(one.outcome).toBe('resolved');
  });

  test('told to stop before it starts does nothing and ends', async () => {
    const one = new StagedParticipant(stage);
    one.stopping.abort();
    one.start();
    await stage.clock.advance(10);
    expect(one.outcome).toBe('resolved');
    expect(stage.api.writes.filter(({ method }) => method === 'POST')).toEqual([]);
  });

  test('gives a grant back when it is stopped before it leads', async () => {
    const one = await stage.started();
    stage.fate = ({ method }) => (method === 'PUT' ? { requestMs: 500 } : {});
    stage.grant('one');
    await stage.clock.advance(100);
    one.stopping.abort();
    await stage.clock.advance(2000);
    expect(one.terms).toHaveLength(0);
    expect(stage.lease['holderIdentity']).toBe('');
    expect(one.outcome).toBe('resolved');
  });
});

test('participate() rejects invalid options', async () => {
  const options = {
    lease: 'Checkout',
    namespace: 'default',
    binaryVersion: '1.4.2',
    client: stage.connect(),
  };
  await expect(participate(options, async () => {})).rejects.toThrow(
    'lease: "Checkout" is no name of a Lease',
  );
});

test('participate() and a participant stop at the end of an `await using` block', async () => {
  const options = { lease: 'checkout', namespace: 'default', binaryVersion: '1.4.2', identity: 'one' };
  const { clock } = stage;
  const running = participate({ ...options, clock, client: stage.connect() }, async () => {});
  await clock.advance(100);
  expect(stage.api.candidate(CANDIDATE)).toBeDefined();
  const disposed = running[Symbol.asyncDispose]();
  await clock.advance(100);
  await disposed;
  expect(stage.api.candidate(CANDIDATE)).toBeUndefined();

  const other = await stage.started();
  const ended = other.participant[Symbol.asyncDispose]();
  await clock.advance(100);
  await ended;
  expect(other.outcome).toBe('resolved');
});

describe('a participant that resigns or withdraws', () => {
  test('resigns: it releases the Lease, stays a candidate, and may be elected again', async () => {
    const one = await stage.leading();
    const resigned = one.participant.resign();
    await stage.clock.advance(10);
    await resigned;
    expect(whyOver(one.term)).toBe('resigned');
    expect(stage.lease['holderIdentity']).toBe('');
    expect(stage.api.candidate(CANDIDATE)).toBeDefined();
    stage.grant('one', { leaseTransitions: 1 });
    await stage.clock.advance(10);
    expect(one.isLeading).toBe(true);
  });

  test('resigns from within its callback, as soon as that ends', async () => {
    const one = new StagedParticipant(stage, {}, async (term) => {
      void one.participant.resign();
      await untilAborted(term);
    }).start();
    await stage.clock.advance(100);
    stage.grant('one');
    await stage.clock.advance(10);
    expect(one.outcome).toBe('pending');
    expect(stage.lease['holderIdentity']).toBe('');
  });

  test('withdraws: releases, then deletes its candidate, and gives grants back until it is a candidate again', async () => {
    const one = await stage.leading();
    const withdrawn = one.participant.withdraw();
    await stage.clock.advance(10);
    await withdrawn;
    expect(one.outcome).toBe('pending');
    expect(stage.api.candidate(CANDIDATE)).toBeUndefined();
    await stage.clock.advance(60_000);
    stage.grant('one');
    await stage.clock.advance(10);
    expect(one.terms).toHaveLength(1);
    expect(stage.lease['holderIdentity']).toBe('');
    one.participant.stand();
    await stage.clock.advance(10);
    expect(stage.api.candidate(CANDIDATE)).toBeDefined();
    stage.grant('one', { leaseTransitions: 1 });
    await stage.clock.advance(10);
    expect(one.isLeading).toBe(true);
  });

  test('stops withdrawing when it becomes a candidate again', async () => {
    const one = await stage.leading({}, async (term) => untilAborted(term).then(() => stage.delay(1000)));
    const withdrawn = one.participant.withdraw();
    one.participant.stand();
    await stage.clock.advance(1100);
    await withdrawn;
    expect(stage.api.candidate(CANDIDATE)).toBeDefined();
  });
});

describe('the state of a participant', () => {
  test('is the holder of the Lease, and undefined after its record has expired', async () => {
    const one = await stage.started();
    stage.grant('two');
    await stage.clock.advance(9000);
    expect(one.states.at(-1)).toEqual({ holder: 'two', role: 'following', isStanding: true });
    await stage.clock.advance(1100);
    expect(one.states.at(-1)).toEqual({ holder: undefined, role: 'following', isStanding: true });
    stage.grant('one');
    await stage.clock.advance(10);
    expect(one.states.at(-1)).toEqual({ holder: 'one', role: 'leading', isStanding: true });
  });

  test('is exported with the metrics of client-go', async () => {
    const metrics = new Registry();
    const value = async () =>
      (await metrics.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    const one = await stage.leading({ metrics });
    expect(await value()).toEqual([
      'leader_election_master_status{name="checkout"} 1',
      'leader_election_slowpath_total{name="checkout"} 0',
    ]);
    one.connection.holdWatches(true);
    stage.writeLease({}, { labels: { other: 'label' } });
    await stage.clock.advance(2100);
    one.stopping.abort();
    await stage.clock.advance(10);
    expect(await value()).toEqual([
      'leader_election_master_status{name="checkout"} 0',
      'leader_election_slowpath_total{name="checkout"} 1',
    ]);
  });

  test('is the same with candidateOnly, which never writes the Lease', async () => {
    const one = await stage.started({ candidateOnly: true });
    stage.grant('one');
    await stage.clock.advance(100);
    expect(one.states.at(-1)).toMatchObject({ holder: 'one', role: 'following' });
    one.stopping.abort();
    await stage.clock.advance(100);
    expect(one.outcome).toBe('resolved');
    expect(stage.leaseWrites).toEqual([]);
    expect(stage.api.candidate(CANDIDATE)).toBeUndefined();
  });
});

test('a participant gets the namespace of its Pod from the service account, and not from a kubeconfig', () => {
  const directory = mkdtempSync(join(tmpdir(), 'participant-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const write = (name: string, text: string) => {
    const file = join(directory, name);
    writeFileSync(file, text);
    return file;
  };
  for (const [name, text] of Object.entries({ token: 't', 'ca.crt': 'c', namespace: 'shop' }))
    write(name, text);
  const kubeconfig = write(
    'config',
    JSON.stringify({
      'current-context': 'test',
      clusters: [{ name: 'test', cluster: { server: 'http://127.0.0.1:1' } }],
      contexts: [{ name: 'test', context: { cluster: 'test', namespace: 'shop' } }],
    }),
  );
  const connect = (env: Record<string, string>) => {
    const connected = connectParticipant({
      kubeconfig: undefined,
      context: undefined,
      env,
      clock: new VirtualClock(),
      userAgent: 'test',
      serviceAccountDirectory: directory,
    });
    onTestFinished(() => connected.client.close());
    return connected;
  };
  const inPod = { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: '1' };
  expect(connect(inPod)).toMatchObject({ namespace: 'shop', podNamespace: 'shop' });
  expect(connect({ ...inPod, KUBECONFIG: kubeconfig })).toMatchObject({
    namespace: 'shop',
    podNamespace: undefined,
  });
});
