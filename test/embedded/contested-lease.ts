import { randomUUID } from 'node:crypto';
import { createLease, type Lease, leasePath, microTime } from '../control-plane/cluster-objects.ts';
import type { SimCandidate, SimCandidateSpec } from '../control-plane/sim-candidate.ts';
import type { Change, WatchedCandidate, WatchedLease } from '../control-plane/watched-objects.ts';
import { PATIENCE_MS } from './changes.ts';
import type { EmbeddedSite } from './embedded-site.ts';
import type { Participant, ParticipantSpec } from './participants.ts';

type Spec = Lease['spec'];

/** A Lease in its own namespace, existing or not, with all actions of a test. */
export interface ContestedLease {
  readonly namespace: string;
  /** The same for all. */
  readonly name: string;
  /** Creates it as another client. */
  create(spec: Spec, metadata?: Readonly<Record<string, unknown>>): Promise<Lease>;
  /** Changes its fields as another client; null removes one. */
  patch(spec: Readonly<Record<string, unknown>>): Promise<Lease>;
  delete(): Promise<unknown>;
  /** Every change so far. */
  history(): readonly Change<WatchedLease>[];
  /** Its holders, in order; '' for none. */
  holders(): readonly string[];
  /** Resolves to its first matching version, past or future; only after `past`, if that is given. */
  until(isSo: (spec: Spec) => boolean, past?: Change<WatchedLease>): Promise<Change<WatchedLease>>;
  untilHeldBy(holder: string, past?: Change<WatchedLease>): Promise<Change<WatchedLease>>;
  untilPreferred(name: string | undefined, past?: Change<WatchedLease>): Promise<Change<WatchedLease>>;
  untilDeleted(): Promise<Change<WatchedLease>>;
  startParticipant(spec: Omit<ParticipantSpec, 'namespace' | 'leaseName'>): Promise<Participant>;
  startCandidate(spec: Omit<SimCandidateSpec, 'namespace' | 'lease'>): Promise<SimCandidate>;
  /** Starts fake candidates that are all pinged before any of them answers. */
  startTogether(...specs: readonly Omit<SimCandidateSpec, 'namespace' | 'lease'>[]): Promise<SimCandidate[]>;
  /** The pings of a candidate, as seen in its pingTime, from its `since`th version on. */
  pingsOf(name: string, since?: number): readonly Change<WatchedCandidate>[];
}

const NAME = 'web';

/** Creates the namespace, without objects. */
export async function contestedLease(site: EmbeddedSite, namespace: string): Promise<ContestedLease> {
  await site.createNamespace(namespace);
  return contestedLeaseIn(site, namespace);
}

/** The same in an existing namespace. */
export function contestedLeaseIn(
  { cluster, leases, candidates, participants }: EmbeddedSite,
  namespace: string,
): ContestedLease {
  const key = { namespace, name: NAME };
  const history = () => leases.history(namespace, NAME);
  const since = (past: Change<WatchedLease> | undefined) => (past ? history().indexOf(past) + 1 : 0);
  const until: ContestedLease['until'] = (isSo, past) =>
    leases.waitFor(namespace, NAME, ({ spec }, type) => type !== 'DELETED' && isSo(spec), {
      since: since(past),
      timeoutMs: PATIENCE_MS,
    });
  const startCandidate: ContestedLease['startCandidate'] = (spec) =>
    candidates.start({ namespace, lease: NAME, ...spec });
  return {
    ...key,
    create: (spec, metadata) => createLease(cluster, key, spec, metadata),
    patch: (spec) => cluster.request('PATCH', leasePath(key), { spec }),
    delete: () => cluster.request('DELETE', leasePath(key)),
    history,
    holders: () =>
      history()
        .map(({ object, type }) => (type === 'DELETED' ? '' : (object.spec.holderIdentity ?? '')))
        .filter((holder, index, all) => holder !== all[index - 1]),
    until,
    untilHeldBy: (holder, past) => until(({ holderIdentity }) => holderIdentity === holder, past),
    untilPreferred: (name, past) => until(({ preferredHolder }) => preferredHolder === name, past),
    untilDeleted: () =>
      leases.waitFor(namespace, NAME, (_, type) => type === 'DELETED', { timeoutMs: PATIENCE_MS }),
    startParticipant: (spec) => participants.start({ namespace, leaseName: NAME, ...spec }),
    startCandidate,
    async startTogether(...specs) {
      const all = await Promise.all(
        specs.map((spec) => startCandidate({ renewedAgoMs: 60_000, answers: false, ...spec })),
      );
      await Promise.all(all.map((candidate) => candidate.pinged(1, PATIENCE_MS)));
      for (const candidate of all) candidate.answer();
      return all;
    },
    pingsOf: (name, first = 0) =>
      candidates.objects
        .history(namespace, name)
        .filter(
          ({ object: { spec } }, index, all) =>
            index >= first &&
            spec.pingTime !== undefined &&
            spec.pingTime !== all[index - 1]?.object.spec.pingTime,
        ),
  };
}

/** The spec of a held Lease. Default duration: longer than any test. */
export function heldBy(holderIdentity: string, leaseDurationSeconds = 600): Spec {
  const now = microTime();
  return {
    holderIdentity,
    leaseDurationSeconds,
    acquireTime: now,
    renewTime: now,
    leaseTransitions: 4,
    strategy: 'OldestEmulationVersion',
  };
}

/** Causes enough activity for other Leases of the namespace that any due action for this one would have happened. */
export async function untilNeighboursAreServed(site: EmbeddedSite, { namespace }: ContestedLease) {
  const lease = `neighbour-${randomUUID()}`;
  await site.candidates.start({ namespace, lease, name: lease });
  const patience = { timeoutMs: PATIENCE_MS };
  const first = await site.leases.waitFor(
    namespace,
    lease,
    ({ spec }) => spec.holderIdentity === lease,
    patience,
  );
  // It expires, because no holder renews it, and is granted again.
  await site.leases.waitFor(
    namespace,
    lease,
    ({ spec }) => spec.holderIdentity === lease && spec.renewTime !== first.object.spec.renewTime,
    patience,
  );
}
