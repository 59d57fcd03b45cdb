import { randomUUID } from 'node:crypto';
import { createLease, type Lease, leasePath, microTime } from '../control-plane/cluster-objects.ts';
import type { SimCandidate, SimCandidateSpec } from '../control-plane/sim-candidate.ts';
import type { Change, WatchedCandidate, WatchedLease } from '../control-plane/watched-objects.ts';
import { PATIENCE_MS } from './changes.ts';
import type { EmbeddedSite } from './embedded-site.ts';
import type { Participant, ParticipantSpec } from './participants.ts';

type Spec = Lease['spec'];

/** A Lease in a namespace of its own, whether it exists or not, and all that a test does about it. */
export interface ContestedLease {
  readonly namespace: string;
  /** The same for all of them. */
  readonly name: string;
  /** Makes it by hand. */
  create(spec: Spec, metadata?: Readonly<Record<string, unknown>>): Promise<Lease>;
  /** Changes fields of it as somebody else than the coordinator; null takes one off. */
  patch(spec: Readonly<Record<string, unknown>>): Promise<Lease>;
  delete(): Promise<unknown>;
  /** Every change so far. */
  history(): readonly Change<WatchedLease>[];
  /** Who held it, in order; '' for nobody. */
  holders(): readonly string[];
  /** The first version of it that is so, be it past or still to come; of those after `past`, if that is given. */
  until(isSo: (spec: Spec) => boolean, past?: Change<WatchedLease>): Promise<Change<WatchedLease>>;
  untilHeldBy(holder: string, past?: Change<WatchedLease>): Promise<Change<WatchedLease>>;
  untilPreferred(name: string | undefined, past?: Change<WatchedLease>): Promise<Change<WatchedLease>>;
  untilDeleted(): Promise<Change<WatchedLease>>;
  startParticipant(spec: Omit<ParticipantSpec, 'namespace' | 'leaseName'>): Promise<Participant>;
  startCandidate(spec: Omit<SimCandidateSpec, 'namespace' | 'lease'>): Promise<SimCandidate>;
  /** Starts hand-written candidates that are all asked before any of them answers. */
  startTogether(...specs: readonly Omit<SimCandidateSpec, 'namespace' | 'lease'>[]): Promise<SimCandidate[]>;
  /** The pings that a candidate was sent, as seen in its pingTime, from its `since`th version on. */
  pingsOf(name: string, since?: number): readonly Change<WatchedCandidate>[];
}

const NAME = 'web';

/** Creates the namespace, and nothing in it. */
export async function contestedLease(site: EmbeddedSite, namespace: string): Promise<ContestedLease> {
  await site.createNamespace(namespace);
  return contestedLeaseIn(site, namespace);
}

/** The same, where the namespace is there already. */
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

/** The spec of a Lease that somebody holds, where nothing else is said for as long as a test may take. */
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

/** Lets so much happen on other Leases of the namespace that, were anything due to this one, it would have been done. */
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
  // It expires, as nobody renews it, and is granted anew.
  await site.leases.waitFor(
    namespace,
    lease,
    ({ spec }) => spec.holderIdentity === lease && spec.renewTime !== first.object.spec.renewTime,
    patience,
  );
}
