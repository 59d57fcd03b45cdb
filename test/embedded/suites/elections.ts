import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { candidatePath, microTime } from '../../control-plane/cluster-objects.ts';
import type { Change, WatchedCandidate, WatchedLease } from '../../control-plane/watched-objects.ts';
import { PATIENCE_MS } from '../changes.ts';
import { type ContestedLease, contestedLease, contestedLeaseIn, heldBy } from '../contested-lease.ts';
import { type EmbeddedSite, startEmbeddedSite } from '../embedded-site.ts';
import { type Participant, timing } from '../participants.ts';

const OLDEST = 'OldestEmulationVersion';
const first = 'first-election';
const oldest = { emulationVersion: '1.34.0' };
const older = { emulationVersion: '1.35.0' };
const newer = { emulationVersion: '1.36.0' };
const newest = { binaryVersion: '1.37.0', emulationVersion: '1.37.0' };

const electionDurationMs = 1000;
const leaseDurationSeconds = timing.leaseDurationMs / 1000;
/** When the Lease of a stopped holder ends: the last written duration counts until its end. */
const USUAL_SECONDS = 15;

let site: EmbeddedSite;
let firstParticipants: readonly Participant[];

beforeAll(async () => {
  site = await startEmbeddedSite({
    settings: { electionDurationMs, leaseDurationSeconds },
    async prepare({ createNamespace, participants }) {
      await createNamespace(first);
      const specs = [
        { name: 'newest', ...newest },
        { name: 'best', binaryVersion: '1.36.0', ...older },
        { name: 'newer-binary', binaryVersion: '1.37.0', ...older },
      ];
      firstParticipants = await Promise.all(
        specs.map((spec) => participants.start({ ...spec, namespace: first, leaseName: 'web' })),
      );
      return undefined;
    },
  });
});
afterAll(async () => {
  await site?.stop();
  // In all of these elections, there was only one leader at a time.
  expect(site.participants.leaderships).toBeGreaterThanOrEqual(7);
  expect(site.participants.overlaps()).toEqual([]);
  expect(site.coordinator.log.filter(({ level }) => level === 'error')).toEqual([]);
});

function versionOf({ object }: Change<WatchedLease | WatchedCandidate>): bigint {
  return BigInt(object.metadata.resourceVersion);
}

/** By the written times, in milliseconds. */
function elapsedMs(from: string | undefined, to: string | undefined): number {
  return Date.parse(to ?? '') - Date.parse(from ?? '');
}

/** A Lease whose holder was asked to yield to a better candidate, which may take over. */
async function startHandOver(
  namespace: string,
): Promise<{ lease: ContestedLease; holder: Participant; better: Participant }> {
  const lease = await contestedLease(site, namespace);
  const holder = await lease.startParticipant({ name: 'holder', ...newer });
  await holder.leads();
  const better = await lease.startParticipant({ name: 'better', ...older });
  return { lease, holder, better };
}

describe.concurrent('an election', () => {
  test('grants a Lease to the best existing candidate', async () => {
    const lease = contestedLeaseIn(site, first);
    const granted = await lease.untilHeldBy('best');
    const { spec } = granted.object;
    expect(granted.type).toBe('ADDED');
    expect(spec).toEqual({
      holderIdentity: 'best',
      leaseDurationSeconds,
      acquireTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
      renewTime: spec.acquireTime,
      leaseTransitions: 0,
      strategy: OLDEST,
    });
    await firstParticipants.find(({ name }) => name === 'best')?.leads();
    expect(firstParticipants.filter(({ isLeading }) => isLeading).map(({ name }) => name)).toEqual(['best']);
    const { items } = await vi.waitFor(
      async () => {
        const path = `/api/v1/namespaces/${first}/events?fieldSelector=reason=LeaderElected`;
        const list = await site.cluster.request<{ items: readonly unknown[] }>('GET', path);
        if (list.items.length === 0) throw new Error('no Event tells of it');
        return list;
      },
      { timeout: PATIENCE_MS },
    );
    expect(items).toMatchObject([
      { type: 'Normal', involvedObject: { kind: 'Lease', name: 'web', uid: granted.object.metadata.uid } },
    ]);
    // Then it continues by itself: it is not granted again.
    const renewed = await lease.until(({ renewTime }) => renewTime !== spec.renewTime);
    expect(renewed.object.spec).toEqual({ ...spec, renewTime: renewed.object.spec.renewTime });
  });

  test('grants the Lease of a crashed holder to the next best at its expiry, not before', async () => {
    const lease = await contestedLease(site, 'gone-holder');
    const holder = await lease.startParticipant({ name: 'holder', ...older });
    await holder.leads();
    await lease.startParticipant({ name: 'next', ...newer });
    await lease.startParticipant({ name: 'newest', ...newest });
    await holder.crash();
    // The election does not wait for its answer.
    await site.cluster.request('DELETE', candidatePath({ namespace: lease.namespace, name: 'holder' }));
    const granted = await lease.untilHeldBy('next');
    const lastRenewal = lease.history()[lease.history().indexOf(granted) - 1];
    const waitedMs = elapsedMs(lastRenewal?.object.spec.renewTime, granted.object.spec.renewTime);
    expect(waitedMs).toBeGreaterThan(leaseDurationSeconds * 1000 - 50);
    expect(lease.holders()).toEqual(['holder', 'next']);
    expect(granted.object.spec).toMatchObject({ leaseTransitions: 1, strategy: OLDEST });
    expect(lease.pingsOf('next').some((ping) => versionOf(ping) < versionOf(granted))).toBe(true);
  });

  test.each([{ fate: 'stays' }, { fate: 'goes too' }])(
    'gives a Lease that the best candidate released to another one at once (its candidate $fate)',
    async ({ fate }) => {
      const lease = await contestedLease(site, `released-${fate.replace(' ', '-')}`);
      const best = await lease.startCandidate({ name: 'best', ...older });
      await lease.untilHeldBy('best');
      await lease.patch({ renewTime: microTime(), leaseDurationSeconds: 600 });
      await lease.startCandidate({ name: 'other', ...newer });
      if (fate !== 'stays') await best.remove();
      // Like client-go.
      await lease.patch({
        holderIdentity: '',
        leaseDurationSeconds: 1,
        acquireTime: microTime(),
        renewTime: microTime(),
        strategy: null,
      });
      const released = await lease.untilHeldBy('');
      const next = await lease.until(() => true, released);
      expect(next.object.spec).toEqual({
        holderIdentity: 'other',
        strategy: OLDEST,
        leaseDurationSeconds,
        leaseTransitions: 1,
        acquireTime: expect.any(String),
        renewTime: next.object.spec.acquireTime,
      });
    },
  );

  test('prefers a better candidate, which takes over without ever leading beside the other', async () => {
    const { lease, holder, better } = await startHandOver('preempted');
    const preferred = await lease.untilPreferred('better');
    expect(preferred.object.spec).toMatchObject({ holderIdentity: 'holder', strategy: OLDEST });
    // It had answered.
    const acks = site.candidates.objects
      .history(lease.namespace, 'better')
      .filter(
        ({ object: { spec } }) => spec.pingTime !== undefined && (spec.renewTime ?? '') >= spec.pingTime,
      );
    expect(acks.some((ack) => versionOf(ack) < versionOf(preferred))).toBe(true);
    await better.leads();
    expect(holder.isLeading).toBe(false);
    expect(lease.holders()).toEqual(['holder', '', 'better']);
    const taken = await lease.untilHeldBy('better');
    expect(taken.object.spec).not.toHaveProperty('preferredHolder');
    expect(taken.object.spec.leaseTransitions).toBe(1);
  });

  test('costs a dead best candidate one ping, not one every few seconds', async () => {
    const names = ['best', 'second', 'third'];
    const lease = await contestedLease(site, 'dead-best');
    const best = await lease.startParticipant({ name: 'best', ...oldest });
    await best.leads();
    const second = await lease.startParticipant({ name: 'second', ...older });
    await lease.startParticipant({ name: 'third', ...newer });
    const versions = (name: string) => site.candidates.objects.history(lease.namespace, name).length;
    const since = versions('best');
    await best.crash();
    await second.leads();
    // One before the expiry. On a slow machine, a second one if the others answered too late for it.
    const pings = lease.pingsOf('best', since).length;
    expect(pings).toBeGreaterThanOrEqual(1);
    expect(pings).toBeLessThanOrEqual(2);
    const marks = names.map(versions);
    const renewals = lease.history().length + 8;
    await lease.until(() => lease.history().length >= renewals);
    expect(names.map((name, index) => lease.pingsOf(name, marks[index]).length)).toEqual([0, 0, 0]);
    expect(lease.holders()).toEqual(['best', 'second']);
  });

  test('gives the Lease back to its old holder when the preferred candidate is deleted first', async () => {
    const lease = await contestedLease(site, 'preferred-deleted');
    const { spec } = await lease.create(heldBy('holder', USUAL_SECONDS));
    await lease.startCandidate({ name: 'holder', ...newer });
    const better = await lease.startCandidate({ name: 'better', ...older });
    const preferred = await lease.untilPreferred('better');
    await better.remove();
    const off = await lease.untilPreferred(undefined, preferred);
    expect(off.object.spec).toEqual(spec);
    // It answers, but no longer renews its Lease, because it was asked to yield.
    const granted = await lease.until(({ acquireTime }) => acquireTime !== spec.acquireTime);
    expect(granted.object.spec).toEqual({
      ...spec,
      leaseDurationSeconds,
      acquireTime: granted.object.spec.renewTime,
      renewTime: granted.object.spec.renewTime,
    });
    expect(lease.holders()).toEqual(['holder']);
  });

  test('removes the preference when its candidate falls silent before it has taken over', async () => {
    const lease = await contestedLease(site, 'preferred-silent');
    const { spec } = await lease.create(heldBy('holder'));
    const better = await lease.startCandidate({ name: 'better', ...older });
    const preferred = await lease.untilPreferred('better');
    better.silence();
    const off = await lease.untilPreferred(undefined, preferred);
    expect(off.object.spec).toEqual(spec);
    expect(better.pings()).toBeGreaterThanOrEqual(2);
  });

  test('never causes two leaders of a Lease that is deleted while another is preferred', async () => {
    const { lease, holder, better } = await startHandOver('deleted-lease');
    await lease.untilPreferred('better');
    await lease.delete();
    await better.leads();
    expect(holder.isLeading).toBe(false);
  });

  test('gives a deleted Lease back to its holder, which still answers', async () => {
    const lease = await contestedLease(site, 'deleted-and-back');
    await lease.create(heldBy('holder'));
    await lease.startCandidate({ name: 'holder', ...newer });
    await lease.startCandidate({ name: 'better', ...older });
    await lease.untilPreferred('better');
    await lease.delete();
    const made = await lease.until(() => true, await lease.untilDeleted());
    expect(made.object.spec.holderIdentity).toBe('holder');
    await site.coordinator.waitForLog(
      (line) => line.lease === `${lease.namespace}/${lease.name}` && line.reason === 'FormerHolderAnswered',
    );
  });

  test('reserves a deleted Lease for its holder while that may believe that it leads', async () => {
    const lease = await contestedLease(site, 'deleted-and-reserved');
    await lease.create(heldBy('stranger', USUAL_SECONDS));
    await lease.startCandidate({ name: 'waiting', ...newer });
    await lease.untilPreferred('waiting');
    const renewTime = microTime();
    await lease.patch({ renewTime });
    await lease.delete();
    const made = await lease.untilHeldBy('waiting');
    const waitedMs = elapsedMs(renewTime, made.object.spec.renewTime);
    expect(waitedMs).toBeGreaterThan(USUAL_SECONDS * 1000 - 50);
  });

  test.each([
    { name: 'no field at all', slug: 'bare', spec: {} },
    { name: "somebody else's strategy", slug: 'foreign', spec: { strategy: 'example.com/by-weight' } },
  ])('grants a Lease without holderIdentity but $name', async ({ slug, spec }) => {
    const lease = await contestedLease(site, `without-holder-${slug}`);
    await lease.create(spec);
    await lease.startCandidate({ name: 'only' });
    const granted = await lease.untilHeldBy('only');
    expect(granted.object.spec).toMatchObject({
      strategy: OLDEST,
      leaseTransitions: 1,
      leaseDurationSeconds,
    });
  });

  test('writes the strategy of a newer binary while the holder stays valid', async () => {
    const strategy = 'example.com/by-weight';
    const lease = await contestedLease(site, 'newer-strategy');
    const { spec } = await lease.create(heldBy('holder'));
    await lease.startCandidate({ name: 'holder', ...newer });
    await lease.startCandidate({ name: 'new', binaryVersion: '1.37.0', strategy });
    const renamed = await lease.until((seen) => seen.strategy === strategy);
    expect(renamed.object.spec).toEqual({ ...spec, strategy });
  });

  test('asks a plain elector, whose renewals remove our fields, once', async () => {
    const lease = await contestedLease(site, 'plain-elector');
    const renew = () => lease.patch({ renewTime: microTime(), preferredHolder: null, strategy: null });
    await lease.create(heldBy('plain'));
    await lease.startCandidate({ name: 'candidate', ...older });
    await lease.untilPreferred('candidate');
    await renew();
    await site.coordinator.untilTrouble(lease.namespace, lease.name, 'WritesIgnored');
    // After each of these, any further request to yield would come before the reaction on another Lease.
    for (let renewals = 0; renewals < 5; renewals += 1) await renew();
    await site.candidates.start({ namespace: lease.namespace, lease: 'next', name: 'next' });
    await site.leases.waitFor(lease.namespace, 'next', ({ spec }) => spec.holderIdentity === 'next');
    const told = lease.history().filter(({ object }) => object.spec.preferredHolder !== undefined);
    expect(told).toHaveLength(1);
    expect(site.coordinator.troubles(lease.namespace, lease.name, 'WritesIgnored')).toHaveLength(1);
  });

  test.each([
    { direction: 'behind', clockOffsetMs: -3_600_000 },
    { direction: 'ahead', clockOffsetMs: 3_600_000 },
  ])(
    'elects a candidate whose clock is an hour $direction, and pings it in its own time',
    async ({ direction, clockOffsetMs }) => {
      const lease = await contestedLease(site, `clock-${direction}`);
      const skewed = await lease.startCandidate({ name: 'skewed', clockOffsetMs });
      await lease.untilHeldBy('skewed');
      // A pingTime ahead of its clock would make it write in a loop until the clock has caught up.
      const aheadMs = lease
        .pingsOf('skewed')
        .map(({ object: { spec }, wallMs }) => Date.parse(spec.pingTime ?? '') - (wallMs + clockOffsetMs));
      expect(aheadMs.length).toBeGreaterThan(0);
      expect(Math.max(...aheadMs)).toBeLessThan(1000);
      await skewed.remove();
    },
  );
});
