import { describe, expect, type TestContext, test, vi } from 'vitest';
import {
  candidatePath,
  coordinatorLease,
  type Lease,
  readLease,
} from '../../control-plane/cluster-objects.ts';
import type { LogLine } from '../../support/log-line.ts';
import { PATIENCE_MS } from '../changes.ts';
import { contestedLease, untilNeighboursAreServed } from '../contested-lease.ts';
import { type CuttableLink, startCuttableLink } from '../cuttable-link.ts';
import { type EmbeddedCluster, startEmbeddedCluster } from '../embedded-cluster.ts';
import { startCoordinator, untilActive } from '../embedded-coordinator.ts';
import { startEmbeddedSite } from '../embedded-site.ts';
import { type Participants, startParticipants, timing } from '../participants.ts';

const leaseDurationSeconds = timing.leaseDurationMs / 1000;
const settings = { electionDurationMs: 1000, leaseDurationSeconds };
const namespace = 'default';
const steady = { namespace, leaseName: 'steady', name: 'steady' };

/** Polls the Lease until it matches, because its watches would break, too. */
function untilLease(cluster: EmbeddedCluster, name: string, isSo: (lease: Lease) => boolean): Promise<Lease> {
  return vi.waitFor(
    async () => {
      const lease = await readLease(cluster, { namespace, name });
      if (!lease || !isSo(lease))
        throw new Error(`${name} is not as awaited: ${JSON.stringify(lease?.spec)}`);
      return lease;
    },
    { timeout: PATIENCE_MS },
  );
}

/** A new candidate gets to lead, so a coordinator is active. */
async function elects(participants: Participants, name: string): Promise<void> {
  const participant = await participants.start({ namespace, leaseName: name, name });
  await participant.leads();
}

describe.concurrent('a server that was down', () => {
  /** A Lease with a leader, and its fields after the leader renewed it. */
  async function startKeeping({ onTestFinished }: TestContext) {
    const cluster = await startEmbeddedCluster({ keepsData: true });
    const participants = startParticipants(cluster);
    const coordinator = startCoordinator(cluster, { settings });
    onTestFinished(async () => {
      await participants.stop();
      await coordinator.stop();
      await cluster.stop();
    });
    const leader = await participants.start(steady);
    await leader.leads();
    const before = await untilLease(cluster, 'steady', ({ spec }) => spec.renewTime !== spec.acquireTime);
    return { cluster, participants, leader, before };
  }

  test('is found again on its port, with all its data', async (context) => {
    const { cluster, participants, before } = await startKeeping(context);
    await cluster.close();
    await cluster.open();
    const after = await untilLease(cluster, 'steady', ({ spec }) => spec.renewTime !== before.spec.renewTime);
    expect(uidOf(after)).toBe(uidOf(before));
    expect(after.spec.holderIdentity).toBe('steady');
    expect(BigInt(after.metadata.resourceVersion)).toBeGreaterThan(BigInt(before.metadata.resourceVersion));
    await elects(participants, 'next');
    expect(participants.overlaps()).toEqual([]);
  });

  test('has its leaders again, which had stopped leading during a long outage', async (context) => {
    const { cluster, participants, leader, before } = await startKeeping(context);
    await cluster.close();
    await leader.leadsNoLonger();
    await cluster.open();
    await leader.leads();
    const after = await untilLease(cluster, 'steady', ({ spec }) => spec.holderIdentity === 'steady');
    expect(uidOf(after)).toBe(uidOf(before));
    // Each term has its own number (rule 15).
    expect(after.spec.leaseTransitions).toBe(1);
    expect(participants.overlaps()).toEqual([]);
  });

  test('is listed again if its history does not reach back', async ({ onTestFinished }) => {
    const historyLimit = 20;
    let link: CuttableLink | undefined;
    const site = await startEmbeddedSite({
      historyLimit,
      settings,
      async prepare({ cluster }) {
        link = await startCuttableLink(cluster.address.port);
        return { url: link.url };
      },
    });
    onTestFinished(async () => {
      await site.stop();
      await link?.close();
    });
    const gone = await contestedLease(site, 'gone');
    const noise = await contestedLease(site, 'noise');
    const missed = await contestedLease(site, 'missed');
    const leaver = await gone.startCandidate({ name: 'leaver' });
    await gone.untilHeldBy('leaver');
    await noise.startCandidate({ name: 'noisy' });
    await noise.untilHeldBy('noisy');

    link?.cut();
    const since = site.coordinator.log.length;
    await leaver.remove();
    await gone.delete();
    for (let change = 0; change <= historyLimit; change += 1) {
      await noise.patch({ leaseDurationSeconds: 600 + change });
      await site.cluster.request('PATCH', candidatePath({ namespace: 'noise', name: 'noisy' }), {
        metadata: { labels: { change: String(change) } },
      });
    }
    await missed.startCandidate({ name: 'missed' });
    link?.mend();
    await missed.untilHeldBy('missed');
    for (const resource of ['leases', 'leasecandidates'])
      await site.coordinator.waitForLog((line) => isExpired(line, resource), since);
    // The coordinator knows that deleted objects are gone.
    await untilNeighboursAreServed(site, gone);
    expect(gone.history().at(-1)?.type).toBe('DELETED');
  });
});

describe.concurrent('two replicas', () => {
  test('take turns: when one is stopped the other coordinates, and no leader notices', async ({
    onTestFinished,
  }) => {
    const cluster = await startEmbeddedCluster();
    const participants = startParticipants(cluster);
    const active = startCoordinator(cluster, { settings });
    await untilActive(active);
    const standby = startCoordinator(cluster, { settings, user: 'other-coordinator' });
    onTestFinished(async () => {
      await participants.stop();
      await active.stop();
      await standby.stop();
      await cluster.stop();
    });
    await standby.waitForLog(({ state }) => state === 'standby');
    await standby.waitForLog(({ msg }) => msg === 'Watching LeaseCandidates');
    const leader = await participants.start(steady);
    await leader.leads();
    await elects(participants, 'by-the-first');
    const writesOf = (user: string, since = 0) =>
      cluster.requests.slice(since).filter((line) => line.user === user && line.method !== 'GET');
    expect(writesOf('other-coordinator')).toEqual([]);
    const first = await holderOfLock(cluster);

    const beforeTheEnd = cluster.requests.length;
    await active.stop();
    const since = cluster.requests.length;
    await standby.waitForLog(({ state }) => state === 'active');
    await elects(participants, 'by-the-second');
    expect(await holderOfLock(cluster)).not.toBe(first);
    expect(writesOf('coordinator', since)).toEqual([]);
    // The lock, and the Lease.
    expect(writesOf('other-coordinator', beforeTheEnd).length).toBeGreaterThanOrEqual(2);
    expect(leader.isLeading).toBe(true);
    expect(participants.leaderships).toBe(3);

    // The last coordinator releases the lock, too, so its successor need not wait.
    await standby.stop();
    expect(await holderOfLock(cluster)).toBe('');
  });
});

function uidOf({ metadata }: Lease): unknown {
  return 'uid' in metadata ? metadata.uid : undefined;
}

async function holderOfLock(cluster: EmbeddedCluster): Promise<string | undefined> {
  return (await readLease(cluster, coordinatorLease))?.spec.holderIdentity;
}

function isExpired(line: LogLine, resource: string): boolean {
  const err = line['err'] as { readonly status?: number } | undefined;
  return (
    line.msg === 'Watching failed' && String(line['path']).endsWith(`/${resource}`) && err?.status === 410
  );
}
