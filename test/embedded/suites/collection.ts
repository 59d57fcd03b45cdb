import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PATIENCE_MS } from '../changes.ts';
import { type ContestedLease, contestedLease, heldBy } from '../contested-lease.ts';
import { type EmbeddedSite, startEmbeddedSite } from '../embedded-site.ts';

const electionDurationMs = 500;
const candidateValidityMs = 1200;
const candidateGcAfterMs = 2100;

let site: EmbeddedSite;

beforeAll(async () => {
  site = await startEmbeddedSite({
    settings: { electionDurationMs, candidateValidityMs, candidateGcAfterMs, leaseDurationSeconds: 1 },
  });
});
afterAll(async () => {
  await site?.stop();
  expect(site.coordinator.log.filter(({ level }) => level === 'error')).toEqual([]);
});

/** Within the time that it takes to collect one, so that nobody waits for long. */
const overdue = { renewedAgoMs: candidateGcAfterMs + 1000, answers: false };

function untilCollected({ namespace }: ContestedLease, name: string) {
  return site.candidates.objects.waitFor(namespace, name, (_, type) => type === 'DELETED', {
    timeoutMs: PATIENCE_MS,
  });
}

/** What was due before now is done: one that comes to be overdue only now is collected. */
async function untilNextIsCollected(lease: ContestedLease) {
  await lease.startCandidate({ name: 'next', ...overdue });
  await untilCollected(lease, 'next');
}

const current = ({ namespace }: ContestedLease, name: string) =>
  site.candidates.objects.current(namespace, name);

describe.concurrent('candidates that are not renewed', () => {
  test('do not count, and are collected after a ping that nobody answered', async () => {
    const lease = await contestedLease(site, 'silent');
    const { spec } = await lease.create(heldBy('holder'));
    await lease.startCandidate({
      name: 'silent',
      emulationVersion: '1.30.0',
      renewedAgoMs: candidateValidityMs + 500,
      answers: false,
    });
    await untilCollected(lease, 'silent');
    expect(lease.pingsOf('silent')).toHaveLength(1);
    expect(lease.history().map(({ object }) => object.spec)).toEqual([spec]);
  });

  test('are kept, and count again, if they answer that last ping', async () => {
    const lease = await contestedLease(site, 'returning');
    await lease.create(heldBy('holder'));
    await lease.startCandidate({ ...overdue, name: 'back', answers: true });
    await lease.untilPreferred('back');
    await untilNextIsCollected(lease);
    expect(current(lease, 'back')).toBeDefined();
  });

  test('are asked half way through their validity, and stay as long as they answer', async () => {
    const lease = await contestedLease(site, 'answering');
    await lease.create({ ...heldBy('best') });
    await lease.startCandidate({ name: 'best', emulationVersion: '1.30.0' });
    const other = await lease.startCandidate({ name: 'other' });
    const acked = other.acks();
    await other.pinged(5, PATIENCE_MS);
    expect(other.acks() - acked).toBeGreaterThanOrEqual(4);
    // That is longer than it takes to collect one.
    expect(current(lease, 'other')).toBeDefined();
    expect(lease.holders()).toEqual(['best']);
  });

  test('are kept as long as they hold the Lease, whether they answer or not', async () => {
    const lease = await contestedLease(site, 'muted');
    await lease.create(heldBy('muted'));
    await lease.startCandidate({ name: 'muted', ...overdue });
    await untilNextIsCollected(lease);
    expect(current(lease, 'muted')).toBeDefined();
  });

  test('are not collected in the place of one that has come under the same name', async () => {
    const lease = await contestedLease(site, 'replaced');
    await lease.create(heldBy('holder'));
    const dead = await lease.startCandidate({ name: 'same', ...overdue });
    await dead.pinged(1);
    await dead.remove();
    await lease.startCandidate({ name: 'same' });
    await untilNextIsCollected(lease);
    expect(current(lease, 'same')?.metadata.deletionTimestamp).toBeUndefined();
    expect(current(lease, 'same')).toBeDefined();
  });
});
