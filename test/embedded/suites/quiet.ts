import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { leasesPath, microTime } from '../../control-plane/cluster-objects.ts';
import { contestedLease, heldBy } from '../contested-lease.ts';
import { type EmbeddedSite, startEmbeddedSite } from '../embedded-site.ts';
import { timing } from '../participants.ts';

const leaseDurationSeconds = timing.leaseDurationMs / 1000;
const settings = { electionDurationMs: 1000, leaseDurationSeconds };

/** Keep-alive timers of connections, which are unrelated to Leases. */
const LEASE_API = '/apis/coordination.k8s.io/v1';

/** All requests of the coordinator since its `since`th, except for its own lock. */
function requestsSince({ cluster }: EmbeddedSite, since: number): readonly string[] {
  return cluster.requests
    .slice(since)
    .filter(({ user, path }) => user === 'coordinator' && path !== LEASE_API)
    .filter(({ path }) => !path.endsWith('/leader-election-controller'))
    .map(({ method, path }) => `${method} ${path}`);
}

describe.concurrent('settled Leases', () => {
  let site: EmbeddedSite;
  beforeAll(async () => {
    site = await startEmbeddedSite({ settings });
  });
  afterAll(() => site?.stop());

  test('cost no request, however often their holders renew them', async () => {
    const leases = await Promise.all(
      ['steady-a', 'steady-b', 'steady-c'].map(async (namespace) => {
        const lease = await contestedLease(site, namespace);
        const leader = await lease.startParticipant({ name: 'leader', emulationVersion: '1.35.0' });
        await leader.leads();
        await lease.startParticipant({ name: 'spare' });
        await lease.startCandidate({ name: 'other-spare', binaryVersion: '1.37.0' });
        return lease;
      }),
    );
    // Both watches have shown all objects to the coordinator when each Lease was renewed after it.
    const untilRenewed = (times: number) =>
      Promise.all(
        leases.map((lease) => {
          const renewals = lease.history().length + times;
          return lease.until(() => lease.history().length >= renewals);
        }),
      );
    await untilRenewed(1);
    // The Events of the elections come later.
    await vi.waitFor(
      () => expect(requestsSince(site, 0).filter((request) => request.endsWith('/events'))).toHaveLength(3),
      { timeout: 10_000 },
    );
    const since = site.cluster.requests.length;
    const renewals = 12;
    await untilRenewed(renewals);
    expect(requestsSince(site, since)).toEqual([]);
    // The holders' own renewals are counted. One of each may have been in flight at first, and seen later.
    expect(site.cluster.requests.length - since).toBeGreaterThanOrEqual(leases.length * (renewals - 1));
    expect(leases.map((lease) => lease.holders())).toEqual([['leader'], ['leader'], ['leader']]);
  });
});

describe.concurrent('a dry run', () => {
  let site: EmbeddedSite;
  beforeAll(async () => {
    site = await startEmbeddedSite({ settings: { ...settings, dryRun: true } });
  });
  afterAll(() => site?.stop());

  test('logs what it would do, and writes nothing', async () => {
    const missing = await contestedLease(site, 'missing');
    const expired = await contestedLease(site, 'expired');
    const held = await contestedLease(site, 'held');
    await expired.create({ ...heldBy('gone'), renewTime: microTime(60_000), leaseDurationSeconds: 1 });
    await held.create(heldBy('holder'));
    const wouldAct = (namespace: string, reason: string) =>
      site.coordinator.waitForLog(
        (line) =>
          line.msg === 'Would act' && line.lease === `${namespace}/${missing.name}` && line.reason === reason,
      );
    await missing.startCandidate({ name: 'new' });
    expect(await wouldAct('missing', 'LeaseMissing')).toMatchObject({
      holder: 'new',
      actions: ['CreateLease'],
    });
    await expired.startCandidate({ name: 'new', renewedAgoMs: 60_000 });
    expect(await wouldAct('expired', 'AwaitingAcks')).toMatchObject({ actions: ['PingCandidate new'] });
    await held.startCandidate({ name: 'better' });
    expect(await wouldAct('held', 'AwaitingAcks')).toMatchObject({ actions: ['PingCandidate better'] });
    const writes = requestsSince(site, 0).filter((request) => !request.startsWith('GET '));
    expect(writes).toEqual([]);
    // No request for the lock either: its holder continues undisturbed.
    expect(await site.cluster.request('GET', leasesPath('kube-system'))).toMatchObject({ items: [] });
    expect(missing.history()).toEqual([]);
  });
});
