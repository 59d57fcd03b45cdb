import { decodeLease } from '../coordination/lease.ts';
import { decodeLeaseCandidate } from '../coordination/lease-candidate.ts';
import { resourcePaths } from '../coordination/resource-paths.ts';
import type { Lease, LeaseCandidate } from '../election/model.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { Reflector } from '../kubernetes/reflector.ts';
import type { Clock, Instant } from '../support/clock.ts';
import type { LeaseState } from './demo-state.ts';

/** A candidate, and when it was last seen to renew. */
export interface SeenCandidate {
  readonly candidate: LeaseCandidate;
  readonly renewedAt: Instant;
}

/** What an {@link ElectionView} needs. Callbacks must not throw. */
export interface ElectionViewParts {
  readonly client: KubernetesClient;
  readonly clock: Clock;
  readonly namespace: string;
  readonly leaseName: string;
  readonly onChange: () => void;
}

/** One Lease and its candidates as the API server has them, whoever wrote them. */
export class ElectionView {
  readonly #parts: ElectionViewParts;
  readonly #leases: Reflector<Lease>;
  readonly #candidates: Reflector<LeaseCandidate>;
  readonly #seen = new Map<string, SeenCandidate>();
  #lease: Lease | undefined;
  /** Since when this process has seen the Lease's record as it is. */
  #since: Instant = 0;

  constructor(parts: ElectionViewParts) {
    const { client, clock, namespace, leaseName } = parts;
    this.#parts = parts;
    this.#leases = new Reflector({
      client,
      clock,
      path: resourcePaths.leases(namespace),
      query: { fieldSelector: `metadata.name=${leaseName}` },
      decode: decodeLease,
      handler: ({ type, object }) => this.#seeLease(type === 'deleted' ? undefined : object),
    });
    this.#candidates = new Reflector({
      client,
      clock,
      path: resourcePaths.candidates('coordination.k8s.io/v1beta1', namespace),
      decode: decodeLeaseCandidate,
      handler: ({ type, object }) => this.#seeCandidate(object, type === 'deleted'),
    });
  }

  start(): void {
    this.#leases.start();
    this.#candidates.start();
  }

  async stop(): Promise<void> {
    await Promise.all([this.#leases.stop(), this.#candidates.stop()]);
  }

  get lease(): LeaseState | undefined {
    if (!this.#lease) return undefined;
    const { holderIdentity, preferredHolder, strategy, leaseTransitions, leaseDurationSeconds } = this.#lease;
    const durationMs = (leaseDurationSeconds ?? 0) * 1000;
    const holder = holderIdentity ?? '';
    const leftMs = this.#since + durationMs - this.#parts.clock.now();
    return {
      holder,
      preferredHolder: preferredHolder ?? '',
      strategy: strategy ?? '',
      transitions: leaseTransitions,
      durationMs,
      remainingMs: holder === '' ? 0 : Math.max(0, leftMs),
    };
  }

  get candidates(): readonly SeenCandidate[] {
    return [...this.#seen.values()];
  }

  #seeLease(lease: Lease | undefined): void {
    const before = this.#lease;
    const isSame =
      before?.uid === lease?.uid &&
      before?.holderIdentity === lease?.holderIdentity &&
      before?.renewTime === lease?.renewTime &&
      before?.leaseDurationSeconds === lease?.leaseDurationSeconds;
    if (!isSame) this.#since = this.#parts.clock.now();
    this.#lease = lease;
    this.#parts.onChange();
  }

  #seeCandidate(candidate: LeaseCandidate, isDeleted: boolean): void {
    const { leaseName, clock, onChange } = this.#parts;
    const { name } = candidate;
    if (isDeleted || candidate.leaseName !== leaseName) this.#seen.delete(name);
    else {
      const before = this.#seen.get(name);
      const hasRenewed = before?.candidate.renewTime !== candidate.renewTime;
      this.#seen.set(name, { candidate, renewedAt: hasRenewed ? clock.now() : (before?.renewedAt ?? 0) });
    }
    onChange();
  }
}
