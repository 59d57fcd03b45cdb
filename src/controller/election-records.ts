import { type LeaseKey, leaseKey, splitLeaseKey } from '../coordination/lease-key.ts';
import { matterUntil } from '../election/beliefs.ts';
import { type CandidateObservation, observeCandidate } from '../election/candidate-observation.ts';
import {
  type Beginning,
  LONGEST_GAP_MS,
  observeBeginning,
  observeNewcomer,
  observeWatchEnd,
} from '../election/former-holders.ts';
import { hostInIdentity, hostnamesOf, type Pod } from '../election/holder-binding.ts';
import { allBeliefs, type LeaseMemory, noMemory } from '../election/lease-memory.ts';
import type {
  CandidateSource,
  ElectionSettings,
  Instant,
  Lease,
  LeaseCandidate,
  Now,
} from '../election/model.ts';
import { observeAbandoned, observeLease, observeUnseen } from '../election/observe-lease.ts';
import { versionOf } from '../election/strategies.ts';
import { type ElectionInput, type ObservedCandidate, showsElection } from '../election/view.ts';
import { DeadlineHeap } from '../support/deadline-heap.ts';
import type { EvidenceWatch } from './crash-evidence.ts';
import { isLock } from './other-locks.ts';
import { MISSING_FOR_MS } from './watches.ts';

/** Stores Leases, candidates and their observations, indexed by Lease: no decision scans a namespace (rule 1). */
export class ElectionRecords {
  readonly settings: ElectionSettings;
  readonly #leases = new Map<LeaseKey, Lease>();
  readonly #memories = new Map<LeaseKey, LeaseMemory>();
  readonly #candidates = new Map<LeaseKey, Map<string, ObservedCandidate>>();
  /** Candidates that take no part in elections, because another candidate for the Lease has the same name (rule 13). */
  readonly #twins = new Map<LeaseKey, Map<string, ObservedCandidate>>();
  /**
   * The sources that the server no longer serves, each with a time. Until this time, this process assumes that the
   * candidates of the source still exist (rule 13).
   */
  readonly #hiddenUntil = new Map<CandidateSource, Instant>();
  #dropsFields: boolean | undefined;
  #watchEndedAt: Instant = Number.NEGATIVE_INFINITY;
  /** For each Lease that does not exist and has no candidates: the time after which its memory can be dropped. */
  readonly #deletedLeases = new DeadlineHeap();

  /** The Leases with a candidate in a Pod, by the Pod's uid (rule 17). */
  readonly #leasesOfPods = new Map<string, Set<LeaseKey>>();
  /** The Leases for which an annotation asks for crash evidence, by the host in the holder's identity (rule 17). */
  readonly #leasesOfHosts = new Map<string, Set<LeaseKey>>();
  /** The hosts in {@link #leasesOfHosts}, by Lease. */
  readonly #hosts = new Map<LeaseKey, string>();
  readonly #evidence: EvidenceWatch | undefined;

  /** @param evidence undefined if Pods are not watched */
  constructor(settings: ElectionSettings, evidence?: EvidenceWatch) {
    this.settings = settings;
    this.#evidence = evidence;
  }

  /**
   * Stores a Lease, or its deletion if `lease` is undefined. For `coordinatingSince`, see {@link observeLease}.
   * `isNewcomer`: a list after the first one shows a Lease that this process did not know.
   */
  seeLease(
    key: LeaseKey,
    lease: Lease | undefined,
    now: Now,
    coordinatingSince?: Instant,
    isNewcomer = false,
  ): void {
    if (lease && isNewcomer)
      this.updateMemory(key, (memory) => observeNewcomer(memory, lease, now.monotonic));
    if (lease) this.#leases.set(key, lease);
    else this.#leases.delete(key);
    if (this.#evidence) this.#indexHost(key, lease);
    // Soon after a watch has ended, the next watch may show old changes: assume that they are up to LONGEST_GAP_MS old.
    const lateMs = now.monotonic - this.#watchEndedAt < 2 * LONGEST_GAP_MS ? LONGEST_GAP_MS : 0;
    this.updateMemory(key, (memory) =>
      observeLease(memory, lease, now, this.settings, coordinatingSince, lateMs),
    );
    this.#forgetIfGone(key, now);
  }

  /** Records that this process may have missed changes of these Leases before now (rule 8). */
  seeBeginning(beginning: Beginning, keys: Iterable<LeaseKey>, now: Now): void {
    for (const key of keys) this.updateMemory(key, () => observeBeginning(this.gather(key), now, beginning));
  }

  /** Records that a watch of Leases in `namespace` has ended: until the next one, changes are unseen (rule 8). */
  seeWatchEnd(namespace: string, now: Now): void {
    this.#watchEndedAt = now.monotonic;
    for (const key of this.#memories.keys().filter((one) => isIn(namespace, one))) {
      this.updateMemory(key, (memory) => observeWatchEnd(memory, now));
      this.#forgetIfGone(key, now);
    }
  }

  /** Records that the Lease exists or existed, although no watch has shown it (rule 8). */
  seeUnseen(key: LeaseKey, now: Now): void {
    this.updateMemory(key, (memory) => observeUnseen(memory, now));
    this.#forgetIfGone(key, now);
  }

  /** Stores a new or changed candidate. `isNew`: the candidate appeared after the first list. */
  seeCandidate(candidate: LeaseCandidate, now: Now, isNew = false): void {
    const key = leaseKey(candidate.namespace, candidate.leaseName);
    const known = this.#entriesOf(key, candidate.name);
    const former = known.find((entry) => entry.candidate.source === candidate.source);
    const observation = observeCandidate(former?.observation, candidate, now, this.settings, isNew);
    // Parse and cache the versions here, so that a decision with many candidates is fast.
    for (const which of ['binary', 'emulation'] as const) versionOf(candidate, which);
    this.#setEntries(key, candidate.name, [
      ...known.filter((entry) => entry !== former),
      { candidate, observation },
    ]);
  }

  /** Drops a candidate. `isHidden`: the candidate may still exist, but the server no longer serves its source. */
  dropCandidate(candidate: LeaseCandidate, now: Now, isHidden = false): void {
    const key = leaseKey(candidate.namespace, candidate.leaseName);
    const known = this.#entriesOf(key, candidate.name);
    const left = known.filter((entry) => entry.candidate.uid !== candidate.uid);
    if (isHidden && left.length === 0)
      this.#hiddenUntil.set(candidate.source, now.monotonic + MISSING_FOR_MS);
    this.#setEntries(key, candidate.name, left);
    this.#forgetIfGone(key, now);
  }

  /** Records that the candidates of a source are visible, not hidden (rule 13). */
  reveal(source: CandidateSource): void {
    this.#hiddenUntil.delete(source);
  }

  hasTwin(key: LeaseKey, name: string): boolean {
    return this.#twins.get(key)?.has(name) ?? false;
  }

  /** Stores whether the server drops the fields strategy and preferredHolder of written Leases (rule 14). */
  seeFieldsDropped(dropsFields: boolean): void {
    this.#dropsFields = dropsFields;
  }

  gather(key: LeaseKey): ElectionInput {
    return {
      ...this.gatherHolder(key),
      candidates: [...(this.#candidates.get(key)?.values() ?? [])],
      ...(this.#twins.has(key) && { twins: [...(this.#twins.get(key)?.values() ?? [])] }),
      ...(this.#hiddenUntil.size > 0 && { hiddenUntil: Math.max(...this.#hiddenUntil.values()) }),
    };
  }

  /** Returns a Lease with its memory and only the holder's candidate. Takes constant time, unlike {@link gather}. */
  gatherHolder(key: LeaseKey): ElectionInput {
    const memory = this.#memories.get(key) ?? noMemory;
    const holder = this.observed(key, memory.record?.holder ?? '');
    return {
      ...splitLeaseKey(key),
      lease: this.#leases.get(key),
      memory,
      candidates: holder ? [holder] : [],
      ...this.#evidenceOf(key, holder),
      dropsFields: this.#dropsFields,
      settings: this.settings,
    };
  }

  /**
   * Yields the Leases with a candidate in the Pod. Also yields the Leases for which an annotation asks for crash evidence,
   * if the holder's identity contains a hostname of the Pod.
   */
  *leasesOfPod(pod: Pod): IterableIterator<LeaseKey> {
    yield* this.#leasesOfPods.get(pod.uid) ?? [];
    for (const host of hostnamesOf(pod)) yield* this.#leasesOfHosts.get(host) ?? [];
  }

  /** The Leases for which an annotation asks for crash evidence, if the holder's identity contains a host (rule 17). */
  leasesAskingForEvidence(): IterableIterator<LeaseKey> {
    return this.#hosts.keys();
  }

  isAskingForEvidence(key: LeaseKey): boolean {
    return this.#hosts.has(key);
  }

  /** Call this when a Namespace gets or loses the annotation that asks for crash evidence. */
  seeNamespace(namespace: string): void {
    for (const [key, lease] of this.#leases) if (lease.namespace === namespace) this.#indexHost(key, lease);
  }

  #indexHost(key: LeaseKey, lease: Lease | undefined): void {
    const isAsked = lease && (lease.asksForEvidence || this.#evidence?.isAskedBy(lease.namespace));
    const host = isAsked ? hostInIdentity(lease.holderIdentity) : undefined;
    const former = this.#hosts.get(key);
    if (host === former) return;
    if (former !== undefined) deleteKey(this.#leasesOfHosts, former, key);
    this.#hosts.delete(key);
    if (host === undefined) return;
    this.#hosts.set(key, host);
    addKey(this.#leasesOfHosts, host, key);
  }

  #evidenceOf(key: LeaseKey, holder: ObservedCandidate | undefined) {
    if (!this.#evidence) return {};
    const host = this.#hosts.get(key);
    const pod = holder?.candidate.pod;
    const owner = pod && this.#evidence.find(pod.uid);
    const onHost = host === undefined ? undefined : this.#evidence.onHost(host);
    const holderPods = owner ? { pods: [owner] } : onHost;
    return {
      ...(holderPods && { holderPods }),
      ...(this.#evidence.isAskedBy(splitLeaseKey(key).namespace) && { isEvidenceAskedByNamespace: true }),
    };
  }

  has(key: LeaseKey): boolean {
    return this.#memories.has(key) || !this.#isGone(key);
  }

  /** Number of Leases with a stored memory, including deleted Leases. */
  get size(): number {
    return this.#memories.size;
  }

  lease(key: LeaseKey): Lease | undefined {
    return this.#leases.get(key);
  }

  /**
   * Returns the candidate with this name and `uid`. Without `uid`, returns the candidate with this name that takes part
   * in elections (rule 13).
   */
  observed(key: LeaseKey, name: string, uid?: string): ObservedCandidate | undefined {
    if (uid === undefined) return this.#candidates.get(key)?.get(name);
    return this.#entriesOf(key, name).find(({ candidate }) => candidate.uid === uid);
  }

  /** True if a Lease with the name of a coordinator's lock is stored: a coordinator may have run. */
  hasLock(): boolean {
    return this.#leases.keys().some(isLock);
  }

  hasCandidates(key: LeaseKey): boolean {
    return this.#candidates.has(key);
  }

  *leasesWithOwnPreference(): IterableIterator<LeaseKey> {
    for (const [key, lease] of this.#leases) if (lease.isPreferredHolderOurs) yield key;
  }

  /** Every Lease that has candidates, a strategy or a preferredHolder. */
  *coordinatedLeases(): IterableIterator<LeaseKey> {
    yield* this.#candidates.keys();
    for (const [key, lease] of this.#leases) {
      if (showsElection(lease) && !this.#candidates.has(key)) yield key;
    }
  }

  /** The keys of the Leases in `namespace` ('': in all) that have candidates, even if the Lease itself does not exist. */
  contestedLeases(namespace = ''): IterableIterator<LeaseKey> {
    return this.#candidates.keys().filter((key) => isIn(namespace, key));
  }

  updateMemory(key: LeaseKey, update: (memory: LeaseMemory) => LeaseMemory): void {
    const memory = this.#memories.get(key) ?? noMemory;
    const next = update(memory);
    if (next !== memory) this.#memories.set(key, next);
  }

  /** Updates the observation of a candidate. Does nothing if the candidate with this uid is gone. */
  updateObservation(
    key: LeaseKey,
    candidate: { readonly name: string; readonly uid: string },
    update: (observation: CandidateObservation) => CandidateObservation,
  ): void {
    const known = this.observed(key, candidate.name, candidate.uid);
    if (!known) return;
    const byName = this.#candidates.get(key)?.get(candidate.name) === known ? this.#candidates : this.#twins;
    byName.get(key)?.set(candidate.name, { ...known, observation: update(known.observation) });
  }

  /** Returns the candidates with this name: first the one that takes part in elections, then its twin. */
  #entriesOf(key: LeaseKey, name: string): readonly ObservedCandidate[] {
    return [this.#candidates.get(key)?.get(name), this.#twins.get(key)?.get(name)].filter(
      (entry) => entry !== undefined,
    );
  }

  #setEntries(key: LeaseKey, name: string, entries: readonly ObservedCandidate[]): void {
    const former = this.#entriesOf(key, name);
    const [counting, twin] = entries.toSorted(compareTwins);
    setIn(this.#candidates, key, name, counting);
    setIn(this.#twins, key, name, twin);
    if (this.settings.isCrashEvidenceUsed) this.#indexPods(key, former, entries);
  }

  #indexPods(
    key: LeaseKey,
    former: readonly ObservedCandidate[],
    entries: readonly ObservedCandidate[],
  ): void {
    const uids = podsOf(entries);
    for (const uid of uids) addKey(this.#leasesOfPods, uid, key);
    for (const uid of podsOf(former).difference(uids)) {
      const others = this.#candidates.get(key)?.values();
      if (!others?.some(({ candidate }) => candidate.pod?.uid === uid))
        deleteKey(this.#leasesOfPods, uid, key);
    }
  }

  /** Drops the memories of gone Leases. Keeps a memory while a former holder can lead or release the Lease (rule 8). */
  #forgetIfGone(key: LeaseKey, now: Now): void {
    let due = this.#deletedLeases.popDue(now.monotonic);
    for (; due !== undefined; due = this.#deletedLeases.popDue(now.monotonic)) {
      if (this.#isGone(due)) this.#memories.delete(due);
    }
    if (!this.#isGone(key)) return;
    this.updateMemory(key, (memory) => observeAbandoned(memory, now));
    const until = matterUntil(allBeliefs(this.#memories.get(key) ?? noMemory));
    if (now.monotonic >= until) this.#memories.delete(key);
    else this.#deletedLeases.set(key, until);
  }

  #isGone(key: LeaseKey): boolean {
    return !this.#leases.has(key) && !this.#candidates.has(key);
  }
}

function isIn(namespace: string, key: LeaseKey): boolean {
  return namespace === '' || splitLeaseKey(key).namespace === namespace;
}

/**
 * Compares two candidates with the same name (rule 13). If this process has seen a renewal since it first saw both, the
 * candidate whose renewal it saw last comes first. (The first sight of a candidate counts as a renewal if the candidate
 * was fresh or had just appeared.) Otherwise, the later renewTime decides: usually, one program wrote both values.
 * If the times are equal, the native candidate comes first.
 */
function compareTwins(a: ObservedCandidate, b: ObservedCandidate): number {
  const isLater = ({ observation }: ObservedCandidate, than: ObservedCandidate) =>
    Math.max(observation.freshUntil, observation.appearedAt) >= observation.unchangedSince &&
    observation.unchangedSince > than.observation.unchangedSince;
  if (isLater(a, b) || isLater(b, a)) return isLater(a, b) ? -1 : 1;
  const [ofA = 0n, ofB = 0n] = [a.candidate.renewTime, b.candidate.renewTime];
  if (ofA !== ofB) return ofA > ofB ? -1 : 1;
  return Number(b.candidate.source === 'native') - Number(a.candidate.source === 'native');
}

function podsOf(entries: readonly ObservedCandidate[]): Set<string> {
  return new Set(entries.flatMap(({ candidate }) => candidate.pod?.uid ?? []));
}

function addKey(keys: Map<string, Set<LeaseKey>>, of: string, key: LeaseKey): void {
  keys.set(of, (keys.get(of) ?? new Set()).add(key));
}

function deleteKey(keys: Map<string, Set<LeaseKey>>, of: string, key: LeaseKey): void {
  const left = keys.get(of);
  if (left?.delete(key) && left.size === 0) keys.delete(of);
}

function setIn(
  byLease: Map<LeaseKey, Map<string, ObservedCandidate>>,
  key: LeaseKey,
  name: string,
  entry: ObservedCandidate | undefined,
): void {
  const byName = byLease.get(key);
  if (entry) byLease.set(key, (byName ?? new Map<string, ObservedCandidate>()).set(name, entry));
  else if (byName?.delete(name) && byName.size === 0) byLease.delete(key);
}
