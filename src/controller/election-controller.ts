import { decodeLease } from '../coordination/lease.ts';
import { type LeaseKey, leaseKey, splitLeaseKey } from '../coordination/lease-key.ts';
import { resourcePaths } from '../coordination/resource-paths.ts';
import { isUnsuspected } from '../election/candidate-observation.ts';
import { earliest, type Lease, type LeaseCandidate, type Now } from '../election/model.ts';
import type { ElectionInput } from '../election/view.ts';
import { Reflector, type ReflectorEvent } from '../kubernetes/reflector.ts';
import type { Instant } from '../support/clock.ts';
import { EventLoopShare, unhurried } from '../support/event-loop.ts';
import type { ElectionControllerParts, SeenListener, WatchedResource } from './controller-parts.ts';
import { LastDecisions, TakeOver } from './decision-timing.ts';
import { ElectionRecords } from './election-records.ts';
import {
  type ElectionsSurvey,
  type SurveyedElection,
  surveyEach,
  surveyElections,
} from './elections-survey.ts';
import type { OwnLock } from './lock/lock-record.ts';
import { PodWatch } from './pods.ts';
import { Workqueue } from './queue/workqueue.ts';
import type { WriteQueue } from './queue/write-queue.ts';
import { Reconciler } from './reconcile.ts';
import { candidateChange, isRenewalOnly, newlyUnreadable } from './renewal-only.ts';
import { createActionWriter } from './sender.ts';
import { CandidateSourcesWatch, NamespacedReflectors } from './watches.ts';

/**
 * Watches Leases and LeaseCandidates and reconciles each Lease that has candidates. Watches also while it may not write, so
 * that a standby knows the age of each record (rule 8).
 */
export class ElectionController {
  readonly queue: Workqueue;
  readonly #parts: ElectionControllerParts;
  readonly #records: ElectionRecords;
  readonly #reconciler: Reconciler;
  readonly #share: EventLoopShare;
  readonly #leases: NamespacedReflectors<Lease>;
  readonly #candidates: CandidateSourcesWatch;
  /** Undefined unless the end of a holder is to be noticed (rule 17). */
  readonly #pods: PodWatch | undefined;
  readonly #lastDecisions: LastDecisions;
  readonly #listeners = new Set<SeenListener>();
  /** Namespaces that were synced once; '': all. */
  readonly #known = new Set<string>();
  readonly #takeOver: TakeOver;
  #tookOverAt: Instant = Number.NEGATIVE_INFINITY;
  #workers: Promise<void> | undefined;

  constructor(parts: ElectionControllerParts) {
    const { client, clock, settings, namespaces, observer, workqueueObserver } = parts;
    this.#parts = parts;
    this.#records = new ElectionRecords(settings, (uid) => this.#pods?.find(uid));
    this.#pods = settings.isCrashEvidenceUsed ? this.#podWatch() : undefined;
    this.#lastDecisions = new LastDecisions(this.#records, clock);
    this.queue = new Workqueue({
      clock,
      postpone: (key, at) =>
        this.#reconciler.isBlocked(key) ? undefined : this.#lastDecisions.postpone(key, at),
      ...(workqueueObserver && { observer: workqueueObserver }),
    });
    this.#share = new EventLoopShare(clock);
    this.#leases = new NamespacedReflectors(namespaces, (namespace) => this.#leaseReflector(namespace));
    this.#takeOver = new TakeOver({
      clock,
      lease: (key) => this.#records.lease(key),
      isInOneWatch: (key) =>
        this.#leases.all.length === 1 && this.#leases.knows(splitLeaseKey(key).namespace),
      onEnd: (mayHaveMissed) => this.#tookOver(mayHaveMissed),
    });
    this.#candidates = new CandidateSourcesWatch({
      client,
      clock,
      namespaces,
      handler: (event) => this.#onCandidate(event),
      onHidden: (candidate) => this.#dropCandidate(candidate, true),
      onRevealed: (source) => this.#records.reveal(source),
      onSynced: (apiVersion) => observer.synced(apiVersion),
      onNotServed: () => observer.notServed(),
      onGone: (apiVersion) => observer.gone(apiVersion),
      onSyncChange: () => this.#onSyncChange(),
      onDiscoveryError: (error) => observer.discoveryFailed(error),
      onError: (error, context) => observer.reflectorFailed(error, context),
      observe: observer.reflectorObserver('leasecandidates'),
    });
    this.#reconciler = new Reconciler({
      clock,
      settings,
      records: this.#records,
      writer: parts.isDryRun
        ? undefined
        : createActionWriter(client, (source) => this.#candidates.apiVersionOf(source)),
      maxInFlight: parts.workers,
      mayWrite: parts.mayWrite,
      observer: this.#lastDecisions.observing(observer),
      writeQueueObserver: parts.writeQueueObserver,
      relist: (kind) => (kind === 'lease' ? this.#leases : this.#candidates).relist(),
      requeue: (key, at) => (at === undefined ? this.queue.add(key) : this.queue.addAt(key, at)),
    });
  }

  start(): void {
    this.#leases.start();
    this.#candidates.start();
    this.#pods?.start();
    const { observer } = this.#parts;
    this.#workers = this.queue.run({
      workers: 1,
      process: (key) => this.#process(key),
      onError: (key, error) => observer.reconcileFailed(key, error),
    });
  }

  /** Ends all writes; resolves when none is in flight. Watching ends with {@link stop}. */
  async drain(): Promise<void> {
    await Promise.all([this.queue.shutDown(), this.#reconciler.close()]);
    await this.#workers;
  }

  async stop(): Promise<void> {
    await this.drain();
    await Promise.all([this.#candidates.stop(), this.#leases.stop(), this.#pods?.stop()]);
  }

  /** Call this when the process becomes the coordinator; `own` is its lock, if any. */
  takeOver(own?: OwnLock): void {
    this.#tookOverAt = this.#parts.clock.now();
    this.#takeOver.begin(own);
  }

  #tookOver(mayHaveMissed: boolean): void {
    const now = this.#now();
    if (mayHaveMissed)
      for (const namespace of this.#known) this.#records.seeBeginning('takeOver', namespace, now);
    this.#enqueueAll();
  }

  /** Infinity while this process is not the coordinator. */
  #coordinatesSince(): Instant {
    return this.#parts.mayWrite() ? this.#tookOverAt : Number.POSITIVE_INFINITY;
  }

  /** Enqueues every Lease of the known namespaces. */
  #enqueueAll(): void {
    for (const keys of [this.#records.contestedLeases(), this.#records.leasesWithOwnPreference()]) {
      for (const key of keys) if (this.knows(splitLeaseKey(key).namespace)) this.queue.add(key);
    }
  }

  hasSynced(resource: WatchedResource): boolean {
    return resource === 'leases' ? this.#leases.knowsAll() : this.#candidates.hasSynced();
  }

  /**
   * Whether this process can elect in at least one namespace. A replica that cannot read candidates leaves the lock to others;
   * so does for some time a replica that has lost a source of candidates (rule 10).
   */
  canElect(): boolean {
    const knowsAny = this.#leases.namespaces.some((namespace) => this.knows(namespace));
    return knowsAny && !this.#candidates.hasJustLostSource;
  }

  /** The watched versions of LeaseCandidates. */
  get candidateApis(): CandidateSourcesWatch['apiVersions'] {
    return this.#candidates.apiVersions;
  }

  /** Whether the API server serves no LeaseCandidates of its own, so that no built-in controller elects. */
  get isBuiltInRuledOut(): boolean {
    return this.#candidates.isNotServed('native');
  }

  /** The writes that wait or are in flight. */
  get writes(): WriteQueue {
    return this.#reconciler.writes;
  }

  /** Sizes of the collections that are kept beside the caches. */
  get kept() {
    return { ...this.#reconciler.kept, memories: this.#records.size, reasons: this.#lastDecisions.size };
  }

  /** Surveys all Leases that have candidates. `known`: the redundancy that the last survey found. */
  survey(known?: ElectionsSurvey['redundancy']): Promise<ElectionsSurvey> {
    return surveyElections(unhurried(this.elections(), this.#parts.clock), known);
  }

  /** Each Lease with candidates in the known namespaces. */
  elections(): Iterable<SurveyedElection> {
    // Decisions from before the right to write was lost are outdated.
    const isDeciding = this.#parts.mayWrite();
    return surveyEach(
      this.#records,
      (key) => (isDeciding ? this.#lastDecisions.reasonOf(key) : undefined),
      this.#now(),
    ).filter(({ input }) => this.knows(input.namespace));
  }

  /** See {@link ElectionRecords.coordinatedLeases}. */
  coordinatedLeases(): Iterable<LeaseKey> {
    return this.#records.coordinatedLeases();
  }

  /** See {@link ElectionRecords.gather}. */
  gather(key: LeaseKey): ElectionInput {
    return this.#records.gather(key);
  }

  /** See {@link ElectionRecords.gatherHolder}. */
  gatherHolder(key: LeaseKey): ElectionInput {
    return this.#records.gatherHolder(key);
  }

  /** Calls `listener` until the returned function is called. `listener` must be fast and must not throw. */
  subscribe(listener: SeenListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /**
   * When the server last sent anything about a resource, including bookmarks, on the monotonic clock: the earliest over all
   * namespaces and sources, including missing ones. Undefined while one of them has sent nothing yet.
   */
  lastHeard(resource: WatchedResource): Instant | undefined {
    const [{ reflectors, missingSince }, { all }] = [this.#candidates, this.#leases];
    const heard = (resource === 'leases' ? all : reflectors).map(({ lastActivity }) => lastActivity);
    if (resource === 'leasecandidates') heard.push(...missingSince);
    return heard.includes(undefined) ? undefined : earliest(heard);
  }

  /** Since when any watch is broken, on the monotonic clock; undefined while none is. */
  unwatchedSince(): Instant | undefined {
    const reflectors = [...this.#leases.all, ...this.#candidates.reflectors];
    return earliest(reflectors.map(({ unwatchedSince }) => unwatchedSince));
  }

  async #process(key: LeaseKey): Promise<void> {
    // Objects that were never listed look like missing ones. The end of the list enqueues the Lease again.
    if (!this.knows(splitLeaseKey(key).namespace)) {
      // A Lease that is gone is not enqueued again.
      this.#reconciler.forgetIfGone(key);
      return;
    }
    // The end of the take-over enqueues all Leases.
    if (this.#takeOver.isPending) return;
    await this.#share.take(() => {
      this.queue.requeue(key, this.#reconciler.reconcile(key));
      this.queue.forget(key);
    });
  }

  /** Whether all Leases and candidates of a namespace are cached. */
  knows(namespace: string): boolean {
    return this.#leases.knows(namespace) && this.#candidates.knows(namespace);
  }

  #onSyncChange(): void {
    for (const namespace of this.#leases.namespaces) {
      if (this.#known.has(namespace) || !this.knows(namespace)) continue;
      this.#known.add(namespace);
      this.#records.seeBeginning(this.#records.hasLock() ? 'firstList' : 'firstEver', namespace, this.#now());
    }
    // Otherwise the take-over enqueues all Leases.
    if (this.#parts.mayWrite()) this.#enqueueAll();
    this.#parts.onCanElectChange?.();
  }

  #leaseReflector(namespace: string): Reflector<Lease> {
    const { client, clock, observer } = this.#parts;
    const observe = observer.reflectorObserver('leases');
    return new Reflector({
      client,
      clock,
      path: resourcePaths.leases(namespace),
      decode: decodeLease,
      handler: (event) => this.#onLease(event),
      onSynced: () => this.#onSyncChange(),
      onError: (error, context) => observer.reflectorFailed(error, context),
      observe: (observation) => {
        if (observation.type === 'listed' && this.#leases.knows(namespace)) this.#takeOver.relisted();
        observe(observation);
      },
    });
  }

  #podWatch(): PodWatch {
    const { client, clock, namespaces, observer } = this.#parts;
    return new PodWatch({
      client,
      clock,
      namespaces,
      onChange: (uid) => {
        for (const key of this.#records.leasesOfPod(uid)) this.queue.add(key);
      },
      onError: (error, context) => observer.reflectorFailed(error, context),
    });
  }

  #onLease({ type, object, previous, initial, isListed }: ReflectorEvent<Lease>): void {
    const key = leaseKey(object.namespace, object.name);
    const isRenewal = type === 'modified' && isRenewalOnly(previous, object);
    const isRoutine = isRenewal && this.#lastDecisions.isSettled(key);
    const lease = type === 'deleted' ? undefined : object;
    // Noted before the end of the list, as the list may show our lock.
    if (isListed && !initial) this.#takeOver.relisted();
    const coordinatingSince = isListed ? this.#coordinatesSince() : undefined;
    const isNewcomer = type === 'added' && isListed && !initial;
    this.#records.seeLease(key, lease, this.#now(), coordinatingSince, isNewcomer);
    this.#reconciler.outdate(key);
    this.#notify(key, isRenewal);
    this.#takeOver.see(key);
    if (type === 'deleted' && this.#reconciler.forgetIfGone(key)) return;
    const isRelevant = this.#records.hasCandidates(key) || object.isPreferredHolderOurs;
    // The end of the first list enqueues every Lease.
    if (isRelevant && !isRoutine && !initial) this.queue.add(key);
  }

  #onCandidate({ type, object, previous, initial }: ReflectorEvent<LeaseCandidate>): void {
    // leaseName is immutable, but not on every server.
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
      (type === 'added' && this.#lastDecisions.isSettling(key));
    this.#records.seeCandidate(object, this.#now(), type === 'added' && !initial);
    const hasTwin = this.#records.hasTwin(key, object.name);
    if (hasTwin) this.#parts.observer.twinSeen(key, object.name);
    const annotation = newlyUnreadable(previous, object);
    if (annotation) this.#parts.observer.priorityUnreadable(key, object.name, annotation);
    if (change !== 'ping') this.#reconciler.outdate(key);
    if (!initial && (!isRoutine || hasTwin || this.#reconciler.isBlocked(key))) this.queue.add(key);
    this.#notify(key, false);
  }

  /** Whether a renewal changes nothing: the candidate was alive, and its Lease is settled. */
  #isRoutine(key: LeaseKey, { name, renewTime = 0n, pingTime = 0n }: LeaseCandidate): boolean {
    // A renewTime before the last ping: the candidate's clock was set back, and it needs another ping (rule 2).
    if (pingTime > renewTime) return false;
    const { observation } = this.#records.observed(key, name) ?? {};
    const { settings, clock } = this.#parts;
    if (!observation || !this.#lastDecisions.isSettled(key)) return false;
    return isUnsuspected(observation, clock.now(), settings);
  }

  #dropCandidate(candidate: LeaseCandidate, isHidden = false): void {
    this.#records.dropCandidate(candidate, this.#now(), isHidden);
    const key = leaseKey(candidate.namespace, candidate.leaseName);
    if (!this.#records.candidate(key, candidate.name, candidate.uid))
      this.#reconciler.forgetCandidate(key, candidate);
    this.#reconciler.outdate(key);
    this.queue.add(key);
    this.#notify(key, false);
  }

  #notify(...args: Parameters<SeenListener>): void {
    for (const listener of this.#listeners) listener(...args);
  }

  #now(): Now {
    const { clock } = this.#parts;
    return { monotonic: clock.now(), wall: clock.wallTime() };
  }
}
