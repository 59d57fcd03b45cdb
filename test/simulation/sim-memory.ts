import type { KubernetesObject } from '../../src/kubernetes/objects.ts';
import type { Clock, Instant } from '../../src/support/clock.ts';
import { specOf } from './sim-api-server.ts';
import type { SimReplica } from './sim-replica.ts';

/** The coordinators, as far as it matters to what they can remember. */
export interface SimWitnesses {
  readonly running: readonly SimReplica[];
  /** Whether all of them run and have listed everything once. */
  readonly haveAllSynced: boolean;
  /** Whether a server does not serve all LeaseCandidates that it had: candidates may be out of sight. */
  readonly areCandidatesHidden: boolean;
  /** Until when their watches are held, so that they see nothing. */
  readonly heldUntil: Instant;
}

/** A Lease's holder, and how long it believes in its record. */
interface Record {
  readonly holder: string;
  readonly durationMs: number;
}

/** For a release to be carried out, in milliseconds. */
const RELEASE_MS = 4000;
/** A coordinator that lists a Lease as missing waits at least this long before it grants it (rule 8). */
const MISSING_AT_FIRST_MS = 15_000;

/**
 * What rule 8 needs coordinators to remember. A coordinator knows who held a Lease that somebody empties or overwrites only if
 * it was running then, and had listed the Lease once. A deletion needs no memory, unless the Lease lasts longer than a
 * coordinator waits that finds it missing, or the Lease's candidates cannot be listed.
 */
export class SimMemory {
  readonly #clock: Clock;
  readonly #clockTolerance: number;
  readonly #witnesses: SimWitnesses;
  readonly #missingWaitMs: number;
  #neededUntil: Instant = Number.NEGATIVE_INFINITY;
  /** By Lease: its record as last written. */
  readonly #records = new Map<string, Record>();
  /** By Lease: who last renewed it, and for how long that lasts. A grant that was never taken up makes nobody a leader. */
  readonly #leaders = new Map<string, Record>();
  /** By candidate that lost its Lease to another: its record's duration from then, and the replicas that can tell. */
  readonly #losses = new Map<
    string,
    { readonly until: Instant; readonly witnesses: readonly SimReplica[] }
  >();

  constructor(
    clock: Clock,
    { clockTolerance, leaseDurationSeconds }: { clockTolerance: number; leaseDurationSeconds: number },
    witnesses: SimWitnesses,
  ) {
    this.#clock = clock;
    this.#clockTolerance = clockTolerance;
    this.#missingWaitMs = Math.max(MISSING_AT_FIRST_MS, leaseDurationSeconds * 1000);
    this.#witnesses = witnesses;
  }

  /** While true, no replica may lose its memory. */
  get isNeeded(): boolean {
    return this.#clock.now() < this.#neededUntil;
  }

  /** Somebody is about to empty or overwrite these Leases; false where a replica could not know who held them. */
  rob(keys: readonly string[]): boolean {
    if (!this.#witnesses.haveAllSynced) return false;
    const longestMs = Math.max(...keys.map((key) => this.#beliefMs(key)));
    this.#neededUntil = Math.max(this.#neededUntil, this.#clock.now() + longestMs / this.#clockTolerance);
    return true;
  }

  /** Somebody is about to delete this Lease; false as in {@link rob}. */
  delete(key: string): boolean {
    const isWaitedFor = this.#beliefMs(key) <= this.#missingWaitMs && !this.#witnesses.areCandidatesHidden;
    return isWaitedFor || this.rob([key]);
  }

  /** `writer` has written a Lease. */
  written(key: string, lease: KubernetesObject | undefined, writer: string): void {
    const former = this.#records.get(key);
    const leader = this.#leaders.get(key);
    const { holderIdentity, leaseDurationSeconds } = specOf(lease);
    const record = {
      holder: String(holderIdentity ?? ''),
      durationMs: Number(leaseDurationSeconds ?? 0) * 1000,
    };
    if (former && leader && former.holder === leader.holder && former.holder !== record.holder) {
      this.#losses.set(leader.holder, {
        until: this.#clock.now() + leader.durationMs,
        witnesses: this.#witnesses.running.filter(({ hasSynced }) => hasSynced),
      });
    }
    if (record.holder === writer) this.#leaders.set(key, record);
    this.#records.set(key, record);
  }

  /** Nothing of what was written happened. */
  forget(): void {
    this.#records.clear();
    this.#leaders.clear();
    this.#losses.clear();
  }

  /** Whether a release of what is another's by now is doubted: only so long after the loss, and where that was seen. */
  isReleaseDoubted(name: string): boolean {
    const loss = this.#losses.get(name);
    // A release is judged by when it is seen.
    const seenAt = Math.max(this.#clock.now(), this.#witnesses.heldUntil) + RELEASE_MS;
    if (!loss || seenAt >= loss.until) return false;
    return this.#witnesses.running.every((replica) => !replica.isRunning || loss.witnesses.includes(replica));
  }

  /** How long those may believe in a Lease who hold it or have led it. */
  #beliefMs(key: string): number {
    return Math.max(this.#records.get(key)?.durationMs ?? 0, this.#leaders.get(key)?.durationMs ?? 0);
  }
}
