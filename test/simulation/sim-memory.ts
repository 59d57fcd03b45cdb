import type { KubernetesObject } from '../../src/kubernetes/objects.ts';
import type { Clock, Instant } from '../../src/support/clock.ts';
import { specOf } from './sim-api-server.ts';
import type { SimReplica } from './sim-replica.ts';

/** The state of the coordinators that determines what they can remember. */
export interface SimWitnesses {
  readonly running: readonly SimReplica[];
  /** Whether all replicas run and have listed everything once. */
  readonly haveAllSynced: boolean;
  /** Whether a server does not serve all LeaseCandidates that it had, so that candidates may be hidden. */
  readonly areCandidatesHidden: boolean;
  /** Until when their watches are held, so that they see nothing. */
  readonly heldUntil: Instant;
}

/** A Lease's holder, and how long it trusts its record. */
interface Record {
  readonly holder: string;
  readonly durationMs: number;
}

/** Time for the execution of a release, in milliseconds. */
const RELEASE_MS = 4000;
/** A coordinator that finds a Lease missing waits at least this long before it grants it (rule 8). */
const MISSING_AT_FIRST_MS = 15_000;

/**
 * What coordinators must remember for rule 8. If another client empties or overwrites a Lease, a coordinator knows
 * its former holder only if it ran at that time and had listed the Lease before, with the holder's duration if that is
 * longer than usual. A deletion needs no memory, unless the Lease's duration is longer than a coordinator's wait for a
 * missing Lease, or the Lease's candidates cannot be listed.
 */
export class SimMemory {
  readonly #clock: Clock;
  readonly #clockTolerance: number;
  readonly #witnesses: SimWitnesses;
  readonly #missingWaitMs: number;
  #neededUntil: Instant = Number.NEGATIVE_INFINITY;
  /** By Lease: its record as last written. */
  readonly #records = new Map<string, Record>();
  /** By Lease: who last renewed it, and until when. A grant that its holder has not renewed makes no leader. */
  readonly #leaders = new Map<string, Record>();
  /**
   * By candidate that lost its Lease to another: its record's duration from then on, and the replicas that know the
   * loss.
   */
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

  /**
   * Another client is about to empty or overwrite these Leases. Returns false if a replica might not know their
   * holders.
   */
  rob(keys: readonly string[]): boolean {
    if (!this.#witnesses.haveAllSynced || !keys.every((key) => this.#isDurationKnown(key))) return false;
    const longestMs = Math.max(...keys.map((key) => this.#beliefMs(key)));
    this.#neededUntil = Math.max(this.#neededUntil, this.#clock.now() + longestMs / this.#clockTolerance);
    return true;
  }

  /** Another client is about to delete this Lease. Returns false as {@link rob} does. */
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

  /** A restore has undone all writes. */
  forget(): void {
    this.#records.clear();
    this.#leaders.clear();
    this.#losses.clear();
  }

  /**
   * Whether coordinators doubt the release of a Lease by a former holder: only for some time after the loss, and only
   * replicas that saw the loss.
   */
  isReleaseDoubted(name: string): boolean {
    const loss = this.#losses.get(name);
    // A coordinator judges a release by the time when it sees it.
    const seenAt = Math.max(this.#clock.now(), this.#witnesses.heldUntil) + RELEASE_MS;
    if (!loss || seenAt >= loss.until) return false;
    return this.#witnesses.running.every((replica) => !replica.isRunning || loss.witnesses.includes(replica));
  }

  /** Coordinators assume at least the usual duration. A longer one must have been in their watch. */
  #isDurationKnown(key: string): boolean {
    const beliefMs = this.#beliefMs(key);
    if (beliefMs <= MISSING_AT_FIRST_MS) return true;
    return this.#witnesses.running.every((replica) => replica.hasShown(key, beliefMs));
  }

  /** How long holders and former leaders may believe that they lead a Lease. */
  #beliefMs(key: string): number {
    return Math.max(this.#records.get(key)?.durationMs ?? 0, this.#leaders.get(key)?.durationMs ?? 0);
  }
}
