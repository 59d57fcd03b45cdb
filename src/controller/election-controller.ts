import { decodeLease } from '../coordination/lease.ts';
import { type LeaseKey, leaseKey, splitLeaseKey } from '../coordination/lease-key.ts';
import { resourcePaths } from '../coordination/resource-paths.ts';
import { isUnsuspected } from '../election/candidate-observation.ts';
import { LONGEST_GAP_MS } from '../election/former-holders.ts';
import {
  type ElectionSettings,
  earliest,
  type Lease,
  type LeaseCandidate,
  type Now,
} from '../election/model.ts';
import type { ElectionInput } from '../election/view.ts';
import { Reflector, type ReflectorEvent } from '../kubernetes/reflector.ts';
import type { Instant } from '../support/clock.ts';
import { unhurried } from '../support/event-loop.ts';
import type { WatchedResource } from './controller-event.ts';
import { EvidenceWatch } from './crash-evidence.ts';
import { ElectionRecords } from './election-records.ts';
import {
  type ElectionsSurvey,
  type SurveyedElection,
  surveyEach,
  surveyElections,
} from './elections-survey.ts';
import type { OwnLock } from './lock/lock-record.ts';
import { candidateChange, isRenewalOnly, newlyUnreadable } from './renewal-only.ts';
import { Scheduler } from './scheduler.ts';
import { createActionWriter, type SenderParts } from './sender.ts';
import { TakeOver } from './take-over.ts';
import { CandidateSourcesWatch, NamespacedReflectors, type WatchScope } from './watches.ts';

export interface ElectionControllerParts extends WatchScope, Pick<SenderParts, 'mayWrite' | 'observe'> {
  readonly settings: ElectionSettings;
  readonly workers: number;
  readonly isDryRun: boolean;
  /** Called after each watch's first list of Leases or candidates, and when a source turns out to be unavailable. */
  readonly onCanElectChange?: () => void;
}

/**
 * Watches Leases and candidates, and tells the scheduler which Leases may need a decision. A standby watches, too, so
 * that it knows when each holder last renewed its Lease (rule 8).
 */
export class ElectionController {
  readonly scheduler: Scheduler;
  readonly #parts: ElectionControllerParts;
  readonly #records: ElectionRecords;
  readonly #leases: NamespacedReflectors<Lease>;
  readonly #candidates: CandidateSourcesWatch;
  /** Undefined unless the controller uses crash evidence (rule 17). */
  readonly #evidence: EvidenceWatch | undefined;
  /** Namespaces for which {@link knows} has been true. '' stands for all namespaces. */
  readonly #known = new Set<string>();
  readonly #takeOver: TakeOver;
  #tookOverAt: Instant = Number.NEGATIVE_INFINITY;

  constructor(parts: ElectionControllerParts) {
    const { client, clock, settings, namespaces, observe } = parts;
    this.#parts = parts;
    this.#evidence = settings.isCrashEvidenceUsed ? this.#evidenceWatch() : undefined;
    this.#records = new ElectionRecords(settings, this.#evidence);
    this.#leases = new NamespacedReflectors(namespaces, (namespace) => this.#leaseReflector(namespace));
    this.#takeOver = new TakeOver({
      clock,
      lease: (key) => this.#records.lease(key),
      isInOneWatch: (key) =>
        this.#leases.all.length === 1 && this.#leases.knows(splitLeaseKey(key).namespace),
      onEnd: (mayHaveMissed) => {
        if (mayHaveMissed) {
          // The watch may be late: a record that it shows soon may be from before the take-over.
          this.#tookOverAt = clock.now() + LONGEST_GAP_MS;
          for (const namespace of this.#known)
            this.#records.seeBeginning('takeOver', this.#records.contestedLeases(namespace), this.#now());
        }
        this.#enqueueAll();
      },
    });
    this.#candidates = new CandidateSourcesWatch({
      client,
      clock,
      namespaces,
      handler: (event) => this.#onCandidate(event),
      onHidden: (candidate) => this.#dropCandidate(candidate, true),
      onRevealed: (source) => this.#records.reveal(source),
      onSyncChange: () => this.#onSyncChange(),
      observe,
    });
    this.scheduler = new Scheduler({
      clock,
      records: this.#records,
      write: parts.isDryRun
        ? undefined
        : createActionWriter(client, (source) => this.#candidates.apiVersionOf(source)),
      maxInFlight: parts.workers,
      mayWrite: parts.mayWrite,
      observe,
      // Make no decision before the first lists and the take-over have ended: until then, the cache may be incomplete
      // or outdated. Afterwards, `#enqueueAll` enqueues every Lease that may need a decision.
      isCached: (key) => this.knows(splitLeaseKey(key).namespace) && !this.#takeOver.isPending,
      relist: (kind) => (kind === 'lease' ? this.#leases : this.#candidates).relist(),
    });
  }

  start(): void {
    this.#leases.start();
    this.#candidates.start();
    this.#evidence?.start();
  }

  async stop(): Promise<void> {
    await this.scheduler.close();
    await Promise.all([this.#candidates.stop(), this.#leases.stop(), this.#evidence?.stop()]);
  }

  /** Call this when the process becomes the coordinator. `own`: the last known write of the lock by this process. */
  takeOver(own?: OwnLock): void {
    this.#tookOverAt = this.#parts.clock.now();
    this.#takeOver.begin(own);
  }

  /** Returns until when a seen record may be from before this process became the coordinator; Infinity while it is not. */
  #coordinatesSince(): Instant {
    return this.#parts.mayWrite() ? this.#tookOverAt : Number.POSITIVE_INFINITY;
  }

  #enqueueAll(): void {
    const leases = [
      this.#records.contestedLeases(),
      this.#records.leasesWithOwnPreference(),
      this.#records.leasesAskingForEvidence(),
    ];
    for (const keys of leases) {
      for (const key of keys) if (this.knows(splitLeaseKey(key).namespace)) this.scheduler.add(key);
    }
  }

  hasSynced(resource: WatchedResource): boolean {
    return resource === 'leases' ? this.#leases.hasSynced() : this.#candidates.hasSynced();
  }

  /**
   * Whether {@link knows} is true for at least one namespace, and this replica has not just lost a source of
   * candidates. If not, this replica leaves the lock to other replicas (rule 10).
   */
  canElect(): boolean {
    const knowsAny = this.#leases.namespaces.some((namespace) => this.knows(namespace));
    return knowsAny && !this.#candidates.hasJustLostSource;
  }

  get candidateApis(): CandidateSourcesWatch['apiVersions'] {
    return this.#candidates.apiVersions;
  }

  /** Whether the built-in controller cannot elect: the last successful discovery found no native LeaseCandidates. */
  get isBuiltInRuledOut(): boolean {
    return this.#candidates.isNotServed('native');
  }

  /** Sizes of the controller's own collections. A test uses them to check that the controller forgets gone Leases. */
  get kept() {
    return { ...this.scheduler.kept, memories: this.#records.size };
  }

  /** Surveys the Leases with candidates in cached namespaces. `known`: the redundant candidates in the last survey. */
  survey(known?: ElectionsSurvey['redundancy']): Promise<ElectionsSurvey> {
    return surveyElections(unhurried(this.elections(), this.#parts.clock), known);
  }

  elections(): Iterable<SurveyedElection> {
    // Without the lock, give no reasons: decisions from before the loss of the lock are outdated.
    const isDeciding = this.#parts.mayWrite();
    return surveyEach(
      this.#records,
      (key) => (isDeciding ? this.scheduler.reasonOf(key) : undefined),
      this.#now(),
    ).filter(({ input }) => this.knows(input.namespace));
  }

  coordinatedLeases(): Iterable<LeaseKey> {
    return this.#records.coordinatedLeases();
  }

  gather(key: LeaseKey): ElectionInput {
    return this.#records.gather(key);
  }

  gatherHolder(key: LeaseKey): ElectionInput {
    return this.#records.gatherHolder(key);
  }

  /**
   * Returns the earliest of the times at which the watches of `resource` last received data. Undefined if there is no
   * watch, or if one has received no data yet. A missing source of candidates counts as a watch that has been silent
   * since the loss of the source (rule 13).
   */
  lastHeard(resource: WatchedResource): Instant | undefined {
    const [{ reflectors, missingSince }, { all }] = [this.#candidates, this.#leases];
    const heard = (resource === 'leases' ? all : reflectors).map(({ lastActivity }) => lastActivity);
    if (resource === 'leasecandidates') heard.push(...missingSince);
    return heard.includes(undefined) ? undefined : earliest(heard);
  }

  /** Returns when the longest-closed watch was closed: later changes may be missing. Undefined if all are open. */
  unwatchedSince(): Instant | undefined {
    const reflectors = [...this.#leases.all, ...this.#candidates.reflectors];
    return earliest(reflectors.map(({ unwatchedSince }) => unwatchedSince));
  }

  /** True if all Leases of `namespace`, and all candidates of its available sources, are cached. False without a source. */
  knows(namespace: string): boolean {
    return this.#leases.knows(namespace) && this.#candidates.knows(namespace);
  }

  #onSyncChange(): void {
    for (const namespace of this.#leases.namespaces) {
      if (this.#known.has(namespace) || !this.knows(namespace)) continue;
      this.#known.add(namespace);
      const beginning = this.#records.hasLock() ? 'firstList' : 'firstEver';
      this.#records.seeBeginning(beginning, this.#records.contestedLeases(namespace), this.#now());
    }
    // Without the lock, enqueue nothing now: this process calls `#enqueueAll` when it becomes the coordinator.
    if (this.#parts.mayWrite()) this.#enqueueAll();
    this.#parts.onCanElectChange?.();
  }

  #leaseReflector(namespace: string): Reflector<Lease> {
    const { client, clock, observe } = this.#parts;
    return new Reflector({
      client,
      clock,
      path: resourcePaths.leases(namespace),
      decode: decodeLease,
      handler: (event) => this.#onLease(event),
      onSynced: () => this.#onSyncChange(),
      onError: (error, context) => observe({ type: 'watchFailed', error, context }),
      observe: (observation) => {
        if (this.#leases.knows(namespace)) this.#takeOver.observe(observation);
        if (observation.type === 'watchEnded') this.#records.seeWatchEnd(namespace, this.#now());
        observe({ type: 'reflected', resource: 'leases', observation });
      },
    });
  }

  #evidenceWatch(): EvidenceWatch {
    const { client, clock, namespaces, observe } = this.#parts;
    return new EvidenceWatch({
      client,
      clock,
      namespaces,
      onPodChange: (pod) => {
        for (const key of this.#records.leasesOfPod(pod)) this.scheduler.add(key);
      },
      onNamespaceChange: (namespace) => this.#records.seeNamespace(namespace),
      onError: (error, context) => observe({ type: 'watchFailed', error, context }),
    });
  }

  #onLease({ type, object, previous, initial, isListed }: ReflectorEvent<Lease>): void {
    const key = leaseKey(object.namespace, object.name);
    const isRenewal = type === 'modified' && isRenewalOnly(previous, object);
    const isRoutine = isRenewal && this.scheduler.isSettled(key);
    const lease = type === 'deleted' ? undefined : object;
    const coordinatingSince = isListed ? this.#coordinatesSince() : undefined;
    const isNewcomer = type === 'added' && isListed && !initial;
    this.#records.seeLease(key, lease, this.#now(), coordinatingSince, isNewcomer);
    this.#parts.observe({ type: 'seen', key, isRenewalOnly: isRenewal });
    this.#takeOver.see(key);
    if (type === 'deleted' && this.scheduler.forgetIfGone(key)) return;
    const isRelevant =
      this.#records.hasCandidates(key) ||
      object.isPreferredHolderOurs ||
      (!isRenewal && this.#records.isAskingForEvidence(key));
    // Skip the Leases of the first list: the process cannot decide yet, and `#enqueueAll` adds these Leases later.
    if (isRelevant && !isRoutine && !initial) this.scheduler.add(key);
  }

  #onCandidate({ type, object, previous, initial }: ReflectorEvent<LeaseCandidate>): void {
    // leaseName is immutable, but some servers do not enforce this.
    if (previous && previous.leaseName !== object.leaseName) this.#dropCandidate(previous);
    if (type === 'deleted') {
      this.#dropCandidate(object);
      return;
    }
    const key = leaseKey(object.namespace, object.leaseName);
    const change = candidateChange(previous, object);
    const isRoutine =
      change === 'ping' ||
      (change === 'renewal' && this.#isRoutine(key, object)) ||
      (type === 'added' && this.scheduler.isSettling(key));
    // The first list of a source after a 403 is a beginning for each Lease that had no candidate until then.
    const isLate = initial && this.knows(object.namespace) && !this.#records.hasCandidates(key);
    this.#records.seeCandidate(object, this.#now(), type === 'added' && !initial);
    if (isLate) this.#records.seeBeginning('firstList', [key], this.#now());
    const { observe } = this.#parts;
    const { name } = object;
    const hasTwin = this.#records.hasTwin(key, name);
    if (hasTwin) observe({ type: 'twinSeen', key, name });
    const annotation = newlyUnreadable(previous, object);
    if (annotation) observe({ type: 'priorityUnreadable', key, name, annotation });
    if (!initial && (!isRoutine || hasTwin)) this.scheduler.add(key);
    observe({ type: 'seen', key, isRenewalOnly: false });
  }

  /**
   * True if a renewal of a candidate needs no decision: the candidate was valid and had answered all pings, and the
   * renewal cannot change the last decision (see {@link Scheduler.isSettled}).
   */
  #isRoutine(key: LeaseKey, { name, renewTime = 0n, pingTime = 0n }: LeaseCandidate): boolean {
    // If renewTime is before pingTime, the candidate's clock may have been set back. The candidate then needs another
    // ping, whose pingTime follows the changed clock (rule 2).
    if (pingTime > renewTime) return false;
    const { settings, clock } = this.#parts;
    const known = this.#records.observed(key, name);
    if (!known || !this.scheduler.isSettled(key)) return false;
    return isUnsuspected(known.observation, clock.now(), settings);
  }

  #dropCandidate(candidate: LeaseCandidate, isHidden = false): void {
    this.#records.dropCandidate(candidate, this.#now(), isHidden);
    const key = leaseKey(candidate.namespace, candidate.leaseName);
    this.scheduler.forgetCandidateIfGone(key, candidate);
    this.scheduler.add(key);
    this.#parts.observe({ type: 'seen', key, isRenewalOnly: false });
  }

  #now(): Now {
    const { clock } = this.#parts;
    return { monotonic: clock.now(), wall: clock.wallTime() };
  }
}
