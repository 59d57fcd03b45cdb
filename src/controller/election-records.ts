import { type LeaseKey, leaseKey, splitLeaseKey } from '../coordination/lease-key.ts';
import { type CandidateObservation, observeCandidate } from '../election/candidate-observation.ts';
import type { ElectionInput, ObservedCandidate } from '../election/election-input.ts';
import { type LeaseMemory, noMemory } from '../election/lease-memory.ts';
import type { CandidateSource, ElectionSettings, Lease, LeaseCandidate } from '../election/model.ts';
import { observeLease } from '../election/observe-lease.ts';
import { showsElection } from '../election/tenure.ts';
import type { Instant, Now } from '../election/time.ts';
import { versionOf } from '../election/version.ts';
import { DeadlineHeap } from '../support/deadline-heap.ts';
import { MISSED_FOR_MS } from './candidate-sources-watch.ts';

/**
 * Everything known about Leases and their candidates: what the caches say, and what this process has seen of it and when.
 * Candidates are indexed by the Lease they are for, so that gathering one election never scans a namespace (rule 1).
 */
export class ElectionRecords {
  readonly #settings: ElectionSettings;
  readonly #leases = new Map<LeaseKey, Lease>();
  readonly #memories = new Map<LeaseKey, LeaseMemory>();
  readonly #candidates = new Map<LeaseKey, Map<string, ObservedCandidate>>();
  /** Custom candidates that do not count, as there is a native one of their name for their Lease (rule 13). */
  readonly #shadowed = new Map<LeaseKey, Map<string, LeaseCandidate>>();
  /** Until when candidates of a source may be out of sight, as it went with candidates in it (rule 13). */
  readonly #hiddenUntil = new Map<CandidateSource, Instant>();
  #dropsFields: boolean | undefined;
  /** Leases that are gone, by when what is remembered of them matters no more. */
  readonly #deletedLeases = new DeadlineHeap();

  constructor(settings: ElectionSettings) {
    this.#settings = settings;
  }

  /** Takes in the Lease as it is now; undefined when it is gone. */
  seeLease(key: LeaseKey, lease: Lease | undefined, now: Now): void {
    if (lease) this.#leases.set(key, lease);
    else this.#leases.delete(key);
    this.updateMemory(key, (memory) => observeLease(memory, lease, now, this.#settings));
    this.#forgetIfGone(key, now);
  }

  /**
   * Takes in a candidate as it is now; `isNew` when it was created just now.
   *
   * @returns whether it counts: a custom one does not beside a native one of the same name
   */
  seeCandidate(candidate: LeaseCandidate, now: Now, isNew = false): boolean {
    const key = leaseKey(candidate.namespace, candidate.leaseName);
    const candidates = this.#candidates.get(key) ?? new Map<string, ObservedCandidate>();
    const known = candidates.get(candidate.name);
    const isAnother = known !== undefined && known.candidate.source !== candidate.source;
    if (isAnother && candidate.source === 'custom') {
      this.#shadow(key, candidate);
      return false;
    }
    if (isAnother) this.#shadow(key, known.candidate);
    const former = isAnother ? undefined : known?.observation;
    const observation = observeCandidate(former, candidate, now, this.#settings, isNew);
    // Versions are read now, and not those of a whole crowd when it is decided on.
    for (const which of ['binary', 'emulation'] as const) versionOf(candidate, which);
    this.#candidates.set(key, candidates.set(candidate.name, { candidate, observation }));
    return true;
  }

  /** Takes note that a candidate is gone; `isHidden` when it is only out of sight, as its source is not served any more. */
  dropCandidate(candidate: LeaseCandidate, now: Now, isHidden = false): void {
    const key = leaseKey(candidate.namespace, candidate.leaseName);
    const shadowed = this.#shadowed.get(key)?.get(candidate.name);
    if (shadowed) this.#unshadow(key, shadowed);
    else if (isHidden) this.#hiddenUntil.set(candidate.source, now.monotonic + MISSED_FOR_MS);
    const candidates = this.#candidates.get(key);
    if (candidates?.get(candidate.name)?.candidate.uid === candidate.uid) {
      candidates.delete(candidate.name);
      if (candidates.size === 0) this.#candidates.delete(key);
    }
    if (shadowed && shadowed.uid !== candidate.uid) this.seeCandidate(shadowed, now);
    this.#forgetIfGone(key, now);
  }

  /** All candidates of a source are in sight. */
  reveal(source: CandidateSource): void {
    this.#hiddenUntil.delete(source);
  }

  /** Whether two candidates for the Lease have that name, of which only the native one counts. */
  hasTwin(key: LeaseKey, name: string): boolean {
    return this.#shadowed.get(key)?.has(name) ?? false;
  }

  /** Takes note whether the server has dropped a field of a Lease that was just written (rule 14). */
  seeFieldsDropped(dropsFields: boolean): void {
    this.#dropsFields = dropsFields;
  }

  /** All that a decision about one Lease depends on. */
  gather(key: LeaseKey): ElectionInput {
    return {
      ...splitLeaseKey(key),
      lease: this.#leases.get(key),
      memory: this.#memories.get(key) ?? noMemory,
      candidates: [...(this.#candidates.get(key)?.values() ?? [])],
      ...(this.#hiddenUntil.size > 0 && { hiddenUntil: Math.max(...this.#hiddenUntil.values()) }),
      dropsFields: this.#dropsFields,
      settings: this.#settings,
    };
  }

  /** As {@link gather}, but with the Lease's holder as its only candidate: however many there are, it takes the same time. */
  gatherHolder(key: LeaseKey): ElectionInput {
    const memory = this.#memories.get(key) ?? noMemory;
    const holder = this.#candidates.get(key)?.get(memory.record?.holder ?? '');
    return {
      ...splitLeaseKey(key),
      lease: this.#leases.get(key),
      memory,
      candidates: holder ? [holder] : [],
      dropsFields: this.#dropsFields,
      settings: this.#settings,
    };
  }

  /** Whether there is anything of the Lease: itself, a candidate, or what is remembered of them. */
  has(key: LeaseKey): boolean {
    return this.#memories.has(key) || !this.#isGone(key);
  }

  /** Of how many Leases, existing or not, something is remembered. */
  get size(): number {
    return this.#memories.size;
  }

  lease(key: LeaseKey): Lease | undefined {
    return this.#leases.get(key);
  }

  candidate(key: LeaseKey, name: string): LeaseCandidate | undefined {
    return this.#candidates.get(key)?.get(name)?.candidate;
  }

  observation(key: LeaseKey, name: string): CandidateObservation | undefined {
    return this.#candidates.get(key)?.get(name)?.observation;
  }

  hasCandidates(key: LeaseKey): boolean {
    return this.#candidates.has(key);
  }

  /** The Leases that carry a preferredHolder of ours; somebody may have left them with it. */
  *leasesWithOwnPreference(): IterableIterator<LeaseKey> {
    for (const [key, lease] of this.#leases) if (lease.isPreferredHolderOurs) yield key;
  }

  /** Every Lease that an election is about or was: it names a strategy or a preferredHolder, or somebody is a candidate. */
  *coordinatedLeases(): IterableIterator<LeaseKey> {
    yield* this.#candidates.keys();
    for (const [key, lease] of this.#leases) {
      if (showsElection(lease) && !this.#candidates.has(key)) yield key;
    }
  }

  /** The Leases that somebody is a candidate for, existing or not. */
  contestedLeases(): IterableIterator<LeaseKey> {
    return this.#candidates.keys();
  }

  updateMemory(key: LeaseKey, update: (memory: LeaseMemory) => LeaseMemory): void {
    const memory = this.#memories.get(key) ?? noMemory;
    const next = update(memory);
    if (next !== memory) this.#memories.set(key, next);
  }

  /** Changes what is known of one candidate, if it is still the one with that uid. */
  updateObservation(
    key: LeaseKey,
    candidate: { readonly name: string; readonly uid: string },
    update: (observation: CandidateObservation) => CandidateObservation,
  ): void {
    const candidates = this.#candidates.get(key);
    const known = candidates?.get(candidate.name);
    if (!known || known.candidate.uid !== candidate.uid) return;
    candidates?.set(candidate.name, { ...known, observation: update(known.observation) });
  }

  #shadow(key: LeaseKey, candidate: LeaseCandidate): void {
    const byName = this.#shadowed.get(key) ?? new Map<string, LeaseCandidate>();
    this.#shadowed.set(key, byName.set(candidate.name, candidate));
  }

  #unshadow(key: LeaseKey, candidate: LeaseCandidate): void {
    const byName = this.#shadowed.get(key);
    byName?.delete(candidate.name);
    if (byName?.size === 0) this.#shadowed.delete(key);
  }

  /** What is remembered of a deleted Lease matters until its last holder cannot believe in it any longer (rule 8). */
  #forgetIfGone(key: LeaseKey, now: Now): void {
    for (
      let due = this.#deletedLeases.popDue(now.monotonic);
      due !== undefined;
      due = this.#deletedLeases.popDue(now.monotonic)
    ) {
      if (this.#isGone(due)) this.#memories.delete(due);
    }
    if (!this.#isGone(key)) return;
    const reservedUntil = this.#memories.get(key)?.reservation?.until ?? Number.NEGATIVE_INFINITY;
    if (now.monotonic >= reservedUntil) this.#memories.delete(key);
    else this.#deletedLeases.set(key, reservedUntil);
  }

  #isGone(key: LeaseKey): boolean {
    return !this.#leases.has(key) && !this.#candidates.has(key);
  }
}
