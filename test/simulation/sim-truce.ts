import type { KubernetesObject } from '../../src/kubernetes/objects.ts';
import type { Clock, Instant } from '../../src/support/clock.ts';
import { specOf } from './sim-api-server.ts';
import type { SimReplica } from './sim-replica.ts';

/** Who coordinates, as far as it matters to what they can have seen. */
export interface SimWitnesses {
  readonly running: readonly SimReplica[];
  /** Whether all of them run, and see all there is. */
  readonly areAllAwake: boolean;
}

/** What a former holder may still believe in is over after its Lease's duration; and some time to look. */
const TRUCE_MS = 20_000;
/** For a release to be carried out, in milliseconds. */
const RELEASE_MS = 4000;

/**
 * Rule 8 protects from what a coordinator could see happen. So a Lease is robbed only while all of them are awake; and they
 * are left in peace until whoever held it cannot believe in it any more.
 */
export class SimTruce {
  readonly #clock: Clock;
  readonly #clockTolerance: number;
  readonly #witnesses: SimWitnesses;
  #until: Instant = Number.NEGATIVE_INFINITY;
  /** By Lease: its record as last written. */
  readonly #records = new Map<string, { readonly holder: string; readonly durationMs: number }>();
  /** By Lease: who last renewed it, and for how long that lasts. A grant that was never taken up makes nobody a leader. */
  readonly #leaders = new Map<string, { readonly holder: string; readonly durationMs: number }>();
  /** By candidate that lost its Lease to another: its record's duration from then, and the replicas that can tell. */
  readonly #losses = new Map<
    string,
    { readonly until: Instant; readonly witnesses: readonly SimReplica[] }
  >();

  constructor(clock: Clock, clockTolerance: number, witnesses: SimWitnesses) {
    this.#clock = clock;
    this.#clockTolerance = clockTolerance;
    this.#witnesses = witnesses;
  }

  /** While true, no memory may be lost. */
  get isOn(): boolean {
    return this.#clock.now() < this.#until;
  }

  /** Begins one for these Leases, where that can be. */
  begin(keys: readonly string[]): boolean {
    if (!this.#witnesses.areAllAwake) return false;
    const longestMs = Math.max(...keys.map((key) => this.#records.get(key)?.durationMs ?? 0));
    const until = this.#clock.now() + longestMs / this.#clockTolerance + TRUCE_MS;
    this.#until = Math.max(this.#until, until);
    // What is done now leaves no grant by expiry behind that a release could be doubted for.
    for (const key of keys) this.#records.delete(key);
    return true;
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

  /** A release is doubted only so long after another got the Lease, and where that was seen. */
  isReleaseDoubted(name: string): boolean {
    const loss = this.#losses.get(name);
    if (!loss || this.#clock.now() + RELEASE_MS >= loss.until) return false;
    return this.#witnesses.running.every((replica) => !replica.isRunning || loss.witnesses.includes(replica));
  }
}
