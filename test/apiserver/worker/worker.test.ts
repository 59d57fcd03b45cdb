import { describe, expect, onTestFinished, test } from 'vitest';
import type { Task } from '../../../src/apiserver/worker/tasks.ts';
import { createTaskWorker } from '../../../src/apiserver/worker/worker.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

function makeWorker() {
  const clock = new VirtualClock();
  const worker = createTaskWorker({ leaseCandidateVersions: ['v1beta1'] }, clock);
  onTestFinished(() => worker.close());
  return { clock, worker };
}

function yaml(value: unknown): Task {
  return { kind: 'yaml', json: JSON.stringify(value) };
}

/** Ten million items: far more than is done before anybody could look. */
const endless: Task = { kind: 'yaml', json: `[${'1,'.repeat(10_000_000)}1]` };
const timeout = { status: { code: 504, reason: 'Timeout' } };

describe('the worker', () => {
  test('does one task after the other', async () => {
    const { worker } = makeWorker();
    const outcomes = await Promise.all([1, 2, 3].map((each) => worker.perform(yaml(each))));
    expect(outcomes).toEqual([1, 2, 3].map((each) => ({ kind: 'text', text: `${each}\n` })));
  });

  test('gives up a task that takes longer than a server may, and goes on with the next', async () => {
    const { clock, worker } = makeWorker();
    const first = worker.perform(endless);
    const second = worker.perform(yaml('next'));
    const refused = expect(first).rejects.toMatchObject(timeout);
    await clock.advance(34_000);
    await refused;
    expect(await second).toEqual({ kind: 'text', text: 'next\n' });
  });

  test('refuses what would have to wait behind a hundred others', async () => {
    const { worker } = makeWorker();
    const waiting = Array.from({ length: 101 }, () => worker.perform(yaml(1)));
    await expect(worker.perform(yaml(2))).rejects.toMatchObject({
      status: { code: 429, details: { retryAfterSeconds: 1 } },
    });
    await Promise.all(waiting);
    expect(await worker.perform(yaml(3))).toEqual({ kind: 'text', text: '3\n' });
  });

  test('refuses what waits when it is closed', async () => {
    const { worker } = makeWorker();
    const results = Promise.allSettled([worker.perform(endless), worker.perform(yaml(1))]);
    await worker.close();
    for (const result of await results) expect(result).toMatchObject({ status: 'rejected', reason: timeout });
    await expect(worker.perform(yaml(2))).rejects.toMatchObject(timeout);
  });
});
