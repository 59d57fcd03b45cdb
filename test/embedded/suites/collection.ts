import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { microTime } from '../../control-plane/cluster-objects.ts';
import type { SimCandidate } from '../../control-plane/sim-candidate.ts';
import { PATIENCE_MS } from '../changes.ts';
import { type ContestedLease, contestedLease, heldBy } from '../contested-lease.ts';
import { type EmbeddedSite, startEmbeddedSite } from '../embedded-site.ts';

/** Ten minutes pass in three seconds. All other times here are in that time, too. */
const pace = 200;
const minute = 60_000;
const day = 24 * 60 * minute;
/** Candidates have half a second to answer. */
const electionDurationMs = 500 * pace;
const candidateValidityMs = 30 * minute;
const candidateGcAfterMs = 32 * minute;

let site: EmbeddedSite;

beforeAll(async () => {
  site = await startEmbeddedSite({
    pace,
    settings: {
      ...{ electionDurationMs, candidateValidityMs, candidateGcAfterMs },
      leaseDurationSeconds: day / 1000,
    },
  });
});
afterAll(async () => {
  await site?.stop();
  expect(site.coordinator.log.filter(({ level }) => level === 'error')).toEqual([]);
});

/** After six minutes of silence, less up to a tenth that depends on its uid. */
const soonestPingMs = 5.4 * minute;
const overdue = { renewedAgoMs: candidateGcAfterMs + minute, answers: false };
const better = { emulationVersion: '1.30.0' };

/** Its holder renews it in the coordinator's time, so it does not expire. */
const held = (holder: string) => ({ ...heldBy(holder), leaseDurationSeconds: day / 1000 });

function untilCollected({ namespace }: ContestedLease, name: string) {
  return site.candidates.objects.waitFor(namespace, name, (_, type) => type === 'DELETED', {
    timeoutMs: PATIENCE_MS,
  });
}

/**
 * All actions of the last eleven minutes are done: a candidate that was first pinged at that time has had its full
 * time and is deleted.
 */
async function untilNextIsCollected(lease: ContestedLease) {
  await lease.startCandidate({ name: 'next', ...overdue });
  await untilCollected(lease, 'next');
}

const current = ({ namespace }: ContestedLease, name: string) =>
  site.candidates.objects.current(namespace, name);

const pinged = (candidate: SimCandidate, count: number) => candidate.pinged(count, PATIENCE_MS);

/** As the holder does when its program exits or it yields. */
const release = (lease: ContestedLease) =>
  lease.patch({ holderIdentity: '', leaseDurationSeconds: 1, renewTime: microTime() });

describe.concurrent('candidates that are not renewed', () => {
  test('do not count, and are deleted after three unanswered pings', async () => {
    const lease = await contestedLease(site, 'silent');
    const { spec } = await lease.create(held('holder'));
    await lease.startCandidate({ ...overdue, ...better, name: 'silent' });
    await untilCollected(lease, 'silent');
    expect(lease.pingsOf('silent')).toHaveLength(3);
    expect(lease.history().map(({ object }) => object.spec)).toEqual([spec]);
  });

  test('are kept, and count again, if they answer the last of those pings', async () => {
    const lease = await contestedLease(site, 'returning');
    await lease.create(held('holder'));
    await lease.startCandidate({ name: 'holder' });
    const back = await lease.startCandidate({ ...overdue, name: 'back' });
    await pinged(back, 1);
    const collected = untilNextIsCollected(lease);
    await pinged(back, 3);
    back.answer();
    await collected;
    expect(current(lease, 'back')).toBeDefined();
    await release(lease);
    await lease.untilHeldBy('back');
  });

  test('are pinged once when they have been silent for six minutes, and no more until they are overdue', async () => {
    const lease = await contestedLease(site, 'quiet');
    await lease.create(held('holder'));
    await lease.startCandidate({ name: 'holder' });
    const startedAt = performance.now();
    const quiet = await lease.startCandidate({ name: 'quiet', answers: false });
    expect((await pinged(quiet, 1)) - startedAt).toBeGreaterThan(soonestPingMs / pace);
    await untilNextIsCollected(lease);
    expect(lease.pingsOf('quiet')).toHaveLength(1);
  });

  test('are pinged whenever they have been silent for six minutes, and stay while they answer', async () => {
    const lease = await contestedLease(site, 'answering');
    await lease.create(held('best'));
    await lease.startCandidate({ name: 'best', ...better });
    const startedAt = performance.now();
    const other = await lease.startCandidate({ name: 'other', renewedAgoMs: candidateValidityMs - minute });
    // At once, and then three times. Without an answer, it would soon have been overdue, and deleted by now.
    expect((await pinged(other, 4)) - startedAt).toBeGreaterThan((3 * soonestPingMs) / pace);
    expect(other.acks()).toBeGreaterThanOrEqual(3);
    expect(current(lease, 'other')).toBeDefined();
    expect(lease.holders()).toEqual(['best']);
  });

  test('are kept while they hold the Lease, whether they answer or not', async () => {
    const lease = await contestedLease(site, 'muted');
    await lease.create(held('muted'));
    await lease.startCandidate({ name: 'muted', ...overdue });
    await untilNextIsCollected(lease);
    expect(current(lease, 'muted')).toBeDefined();
  });

  test('are not deleted in place of one with the same name', async () => {
    const lease = await contestedLease(site, 'replaced');
    await lease.create(held('holder'));
    const dead = await lease.startCandidate({ name: 'same', ...overdue });
    await pinged(dead, 1);
    const collected = untilNextIsCollected(lease);
    await pinged(dead, 3);
    await dead.remove();
    await lease.startCandidate({ name: 'same' });
    await collected;
    expect(current(lease, 'same')?.metadata.deletionTimestamp).toBeUndefined();
    expect(current(lease, 'same')).toBeDefined();
  });
});

describe.concurrent('a candidate that has released its Lease', () => {
  /** A better candidate takes over the Lease. */
  async function releasedBy(namespace: string, name: string, answers: boolean) {
    const lease = await contestedLease(site, namespace);
    await lease.create(held(name));
    const former = await lease.startCandidate({ name, answers });
    await lease.startCandidate({ name: 'heir', ...better });
    await release(lease);
    await lease.untilHeldBy('heir');
    return { lease, former };
  }

  test('and is silent is deleted after three pings, long before it would be overdue', async () => {
    const { lease, former } = await releasedBy('gone', 'gone', false);
    const startedAt = performance.now();
    await pinged(former, 1);
    // Another candidate that has been silent for less time is not even pinged before its deletion.
    const quiet = await lease.startCandidate({ name: 'quiet', answers: false });
    await untilCollected(lease, 'gone');
    expect(performance.now() - startedAt).toBeGreaterThan((10 * minute) / pace);
    expect(lease.pingsOf('gone')).toHaveLength(3);
    expect(quiet.pings()).toBe(1);
  });

  test('and is alive is kept', async () => {
    const { lease, former } = await releasedBy('living', 'living', true);
    await pinged(former, 1);
    await untilNextIsCollected(lease);
    expect(current(lease, 'living')).toBeDefined();
    expect(lease.holders()).toEqual(['living', '', 'heir']);
  });
});
