import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PATIENCE_MS } from '../changes.ts';
import { type ContestedLease, contestedLease, heldBy } from '../contested-lease.ts';
import { type EmbeddedSite, startEmbeddedSite } from '../embedded-site.ts';
import { PatientClock } from '../patient-clock.ts';

const lock = { namespace: 'kube-system', name: 'leader-election-controller' };

describe('candidates that have not been renewed for two hours', () => {
  const overdue = { renewedAgoMs: 2 * 3_600_000 + 60_000, answers: false };
  /** Three pings over ten minutes, and the time that the last one has. */
  const COLLECTED_AFTER_MS = 610_000;
  /** Less than what its lock is given up after; a ping may well be, and is repeated. */
  const STEP_MS = 2500;

  const clock = new PatientClock();
  let site: EmbeddedSite;
  let silent: ContestedLease;
  let returning: ContestedLease;
  let muted: ContestedLease;
  let replaced: ContestedLease;

  /** So much time passes for the coordinator, as fast as it renews its lock. */
  async function passes(ms: number): Promise<void> {
    const until = clock.now() + ms;
    while (clock.now() < until) {
      const since = site.leases.history(lock.namespace, lock.name).length;
      clock.skip(STEP_MS);
      await site.leases.waitFor(lock.namespace, lock.name, () => true, { since, timeoutMs: PATIENCE_MS });
    }
  }

  async function heldLease(namespace: string, holder: string): Promise<ContestedLease> {
    const lease = await contestedLease(site, namespace);
    await lease.create({ ...heldBy(holder), leaseDurationSeconds: 3600 });
    return lease;
  }

  const current = ({ namespace }: ContestedLease, name: string) =>
    site.candidates.objects.current(namespace, name);

  beforeAll(async () => {
    site = await startEmbeddedSite({ clock });
    silent = await heldLease('silent', 'holder');
    await silent.startCandidate({ ...overdue, name: 'silent', emulationVersion: '1.30.0' });
    returning = await heldLease('returning', 'holder');
    await returning.startCandidate({ ...overdue, name: 'back', answers: true });
    await returning.untilPreferred('back');
    muted = await heldLease('muted', 'muted');
    await muted.startCandidate({ ...overdue, name: 'muted' });
    replaced = await heldLease('replaced', 'holder');
    const dead = await replaced.startCandidate({ ...overdue, name: 'same' });
    await dead.pinged(1);
    await dead.remove();
    await replaced.startCandidate({ name: 'same' });
    await passes(COLLECTED_AFTER_MS);
  });
  afterAll(() => site?.stop());

  test('do not count, and are collected after three pings that nobody answered', async () => {
    await site.candidates.objects.waitFor('silent', 'silent', (_, type) => type === 'DELETED', {
      timeoutMs: PATIENCE_MS,
    });
    // A ping that was given up as time leapt is sent once more.
    expect(silent.pingsOf('silent').length).toBeGreaterThanOrEqual(3);
    expect(silent.history()).toHaveLength(1);
  });

  test('are kept, and count again, if they answer', () => {
    expect(current(returning, 'back')).toBeDefined();
  });

  test('are kept as long as they hold the Lease, whether they answer or not', () => {
    expect(current(muted, 'muted')).toBeDefined();
  });

  test('are not collected in the place of one that has come under the same name', () => {
    expect(current(replaced, 'same')).toBeDefined();
    expect(current(replaced, 'same')?.metadata.deletionTimestamp).toBeUndefined();
  });
});

describe('candidates that live', () => {
  let site: EmbeddedSite;

  beforeAll(async () => {
    site = await startEmbeddedSite({
      settings: {
        electionDurationMs: 500,
        candidateValidityMs: 1200,
        candidateGcAfterMs: 2100,
        leaseDurationSeconds: 1,
      },
    });
  });
  afterAll(async () => {
    await site?.stop();
    expect(site.coordinator.log.filter(({ level }) => level === 'error')).toEqual([]);
  });

  test('are asked half way through their validity, and stay as long as they answer', async () => {
    const lease = await contestedLease(site, 'answering');
    await lease.create({ ...heldBy('best') });
    await lease.startCandidate({ name: 'best', emulationVersion: '1.30.0' });
    const other = await lease.startCandidate({ name: 'other' });
    const acked = other.acks();
    await other.pinged(5, PATIENCE_MS);
    expect(other.acks() - acked).toBeGreaterThanOrEqual(4);
    expect(site.candidates.objects.current('answering', 'other')).toBeDefined();
    expect(lease.holders()).toEqual(['best']);
  });
});
