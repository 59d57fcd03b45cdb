import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CUSTOM_API_VERSION } from '../../../src/coordination/candidate-sources.ts';
import { candidatePath, createCandidate } from '../../control-plane/cluster-objects.ts';
import type { LogLine } from '../../support/log-line.ts';
import { contestedLease } from '../contested-lease.ts';
import { startEmbeddedCluster } from '../embedded-cluster.ts';
import { type EmbeddedSite, startEmbeddedSite } from '../embedded-site.ts';

const settings = { electionDurationMs: 2000, leaseDurationSeconds: 3 };
const older = { binaryVersion: '1.36.0', emulationVersion: '1.35.0' };
const newer = { binaryVersion: '1.36.0', emulationVersion: '1.36.0' };

/** The API versions of LeaseCandidates that the coordinator watches. */
function watched({ coordinator }: EmbeddedSite): readonly unknown[] {
  return coordinator.log
    .filter(({ msg }: LogLine) => msg === 'Watching LeaseCandidates')
    .map((line) => line['apiVersion']);
}

describe.concurrent("a server with LeaseCandidates of this project's group only (rule 13)", () => {
  let site: EmbeddedSite;
  beforeAll(async () => {
    site = await startEmbeddedSite({ leaseCandidateVersions: [CUSTOM_API_VERSION], settings });
  });
  afterAll(() => site?.stop());

  test('gets the best of them elected, and the next when that one dies', async () => {
    expect(watched(site)).toEqual([CUSTOM_API_VERSION]);
    const lease = await contestedLease(site, 'custom');
    const [, best] = await lease.startTogether({ name: 'newer', ...newer }, { name: 'older', ...older });
    const elected = await lease.untilHeldBy('older');
    expect(best?.pings()).toBeGreaterThan(0);
    best?.silence();
    const next = await lease.untilHeldBy('newer', elected);
    expect(next.object.spec).toMatchObject({ leaseTransitions: 1 });
  });

  test('has Leases without a strategy, as with the feature gate off', async () => {
    const lease = await contestedLease(site, 'gateless');
    await lease.startCandidate({ name: 'a', ...newer });
    const elected = await lease.untilHeldBy('a');
    expect(elected.object.spec).not.toHaveProperty('strategy');
  });
});

describe.concurrent('a server with LeaseCandidates of both groups (rule 13)', () => {
  let site: EmbeddedSite;
  beforeAll(async () => {
    site = await startEmbeddedSite({ settings });
  });
  afterAll(() => site?.stop());

  test('has one election among them', async () => {
    expect(new Set(watched(site))).toEqual(new Set(['coordination.k8s.io/v1beta1', CUSTOM_API_VERSION]));
    const lease = await contestedLease(site, 'both');
    const { namespace, name } = lease;
    await createCandidate(site.cluster, {
      apiVersion: CUSTOM_API_VERSION,
      namespace,
      lease: name,
      name: 'custom',
      ...older,
    });
    await lease.startCandidate({ name: 'native', ...newer });
    await lease.untilHeldBy('custom');
    // It has no program that answers, so the other one gets its Lease.
    await lease.untilHeldBy('native');
  });
});

test('LeaseCandidates of this project are stored on disk, also while they are not served', async () => {
  const cluster = await startEmbeddedCluster({ keepsData: true });
  const kept = { apiVersion: CUSTOM_API_VERSION, name: 'kept' } as const;
  const read = () => cluster.request('GET', candidatePath(kept));
  try {
    await createCandidate(cluster, { ...kept, lease: 'web' });
    const made = await read();
    await cluster.close();
    await cluster.open(['v1beta1']);
    await expect(read()).rejects.toThrow('404');
    await cluster.close();
    await cluster.open(['v1beta1', CUSTOM_API_VERSION]);
    expect(await read()).toEqual(made);
  } finally {
    await cluster.stop();
  }
});
