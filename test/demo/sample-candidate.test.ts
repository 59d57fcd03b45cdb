import { beforeEach, describe, expect, test } from 'vitest';
import { specOf } from '../../src/coordination/raw-object.ts';
import { createSampleCandidate, type SampleCandidate } from '../../src/demo/sample-candidate.ts';
import { ParticipantStage } from '../participant/participant-stage.ts';
import { timing } from './make-demo.ts';

let stage: ParticipantStage;
/** Its reports of leading and of errors. */
let told: string[];

beforeEach(() => {
  stage = new ParticipantStage();
  told = [];
});

async function started(): Promise<SampleCandidate> {
  const sample = createSampleCandidate({
    client: stage.connect(),
    clock: stage.clock,
    identity: {
      namespace: 'default',
      leaseName: 'checkout',
      name: 'one',
      binaryVersion: '1.36.0',
      emulationVersion: '1.35.0',
      strategy: 'OldestEmulationVersion',
    },
    timing,
    onLeading: (isLeading) => told.push(isLeading ? 'leads' : 'leads no longer'),
    onTrouble: (error) => told.push(String(error)),
  });
  const starting = sample.start();
  await stage.clock.advance(10);
  await starting;
  return sample;
}

async function leading(): Promise<SampleCandidate> {
  const sample = await started();
  stage.grant('one');
  await stage.clock.advance(10);
  expect(sample.isLeading).toBe(true);
  return sample;
}

describe('a sample candidate', () => {
  test('is a participant, published as soon as it is started', async () => {
    const sample = await started();
    expect(sample.life).toBe('running');
    expect(specOf(stage.api.candidate('default/one') ?? {})).toMatchObject({
      leaseName: 'checkout',
      binaryVersion: '1.36.0',
      emulationVersion: '1.35.0',
    });
  });

  test('leads until it has stopped, which takes a while', async () => {
    const sample = await leading();
    stage.writeLease({ preferredHolder: 'two' });
    await stage.clock.advance(timing.stoppingMs - 10);
    expect(sample.isLeading).toBe(true);
    expect(stage.lease['holderIdentity']).toBe('one');
    await stage.clock.advance(20);
    expect(told).toEqual(['leads', 'leads no longer']);
    expect(stage.lease['holderIdentity']).toBe('');
  });

  test('does nothing while it is paused, and finds out afterwards that it does not lead any more', async () => {
    const sample = await leading();
    sample.pause();
    expect(sample.life).toBe('paused');
    // Requests in flight may still arrive.
    await stage.clock.advance(0);
    const requests = stage.api.requests.length;
    stage.ping();
    await stage.clock.advance(60_000);
    expect(stage.api.requests).toHaveLength(requests);
    expect(sample.isLeading).toBe(true);
    stage.grant('two');
    sample.resume();
    await stage.clock.advance(2000);
    expect(told).toEqual(['leads', 'leads no longer']);
    expect(specOf(stage.api.candidate('default/one') ?? {})['renewTime']).not.toBe(
      specOf(stage.api.candidate('default/one') ?? {})['pingTime'],
    );
    expect(stage.api.requests.length).toBeGreaterThan(requests);
  });

  test.each([false, true])('leaves everything as it is when it crashes (paused: %s)', async (isPaused) => {
    const sample = await leading();
    if (isPaused) sample.pause();
    sample.crash();
    const requests = stage.api.requests.length;
    await stage.clock.advance(600_000);
    expect(stage.api.requests).toHaveLength(requests);
    expect(stage.clock.pendingTimers).toBe(0);
    expect(sample).toMatchObject({ life: 'crashed', isLeading: false });
    expect(stage.lease['holderIdentity']).toBe('one');
    expect(stage.api.candidate('default/one')).toBeDefined();
    expect(told).toEqual(['leads']);
  });

  test('releases its Lease and deletes its LeaseCandidate when it leaves', async () => {
    const sample = await leading();
    const left = sample.leave();
    await stage.clock.advance(timing.stoppingMs + 10);
    await left;
    expect(sample.life).toBe('left');
    expect(stage.lease['holderIdentity']).toBe('');
    expect(stage.api.candidate('default/one')).toBeUndefined();
  });

  test('reports problems, and continues', async () => {
    stage.fate = ({ method }) => (method === 'POST' ? { outcome: 500 } : {});
    const starting = started();
    await stage.clock.advance(100);
    expect(told).toEqual([expect.stringContaining('was answered 500')]);
    stage.fate = () => ({});
    await stage.clock.advance(5000);
    const sample = await starting;
    expect(sample.life).toBe('running');
  });
});
