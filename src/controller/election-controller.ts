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
import { ElectionRecords } from './election-records.ts';
import {
  type ElectionsSurvey,
  type SurveyedElection,
  surveyEach,
  surveyElections,
} from './elections-survey.ts';
import { LastDecisions } from './last-decisions.ts';
import type { OwnLock } from './lock/lock-record.ts';
import { Workqueue } from './queue/workqueue.ts';
import type { WriteQueue } from './queue/write-queue.ts';
import { Reconciler } from './reconcile.ts';
import { candidateChange, isRenewalOnly, newlyUnreadable } from './renewal-only.ts';
import { createActionWriter } from './sender.ts';
import { TakeOver } from './take-over.ts';
import { CandidateSourcesWatch, NamespacedReflectors } from './watches.ts';

/**
 * Watches Leases and LeaseCandidates and reconciles each Lease that somebody is a candidate for. It watches from the
 * start, whether or not it may write, so that a standby knows since when each record has been as it is (rule 8).
 */
export class ElectionController {
  readonly queue: Workqueue;
  readonly #parts: ElectionControllerParts;
  readonly #records: ElectionRecords;
  readonly #reconciler: Reconciler;
  readonly #share: EventLoopShare;
  readonly #leases: NamespacedReflectors<Lease>;
  readonly #candidates: CandidateSourcesWatch;
  readonly #lastDecisions: LastDecisions;
  readonly #listeners = new Set<SeenListener>();
  /** Namespaces of which all was listed once; '' are all of them. */
  readonly #known = new Set<string>();
  readonly #takeOver: TakeOver;
  #tookOverAt: Instant = Number.NEGATIVE_INFINITY;
  #workers: Promise<void> | undefined;

  constructor(parts: ElectionControllerParts) {
    const { client, clock, settings, namespaces, observer, workqueueObserver } = parts;
    this.#parts = parts;
    this.#records = new ElectionRecords(settings);
    this.#lastDecisions = new LastDecisions(this.#records, clock);
    this.queue = new Workqueue({
      clock,
      putOff: (key, at) =>
        this.#reconciler.isBlocked(key) ? undefined : this.#lastDecisions.putOff(key, at),
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
      onSighted: () => this.#sighted(),
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
      mostRequests: parts.workers,
      mayWrite: parts.mayWrite,
      observer: this.#lastDecisions.noting(observer),
      writeQueueObserver: parts.writeQueueObserver,
      relist: (kind) => (kind === 'lease' ? this.#leases : this.#candidates).relist(),
      requeue: (key, at) => (at === undefined ? this.queue.add(key) : this.queue.addAt(key, at)),
    });
  }

  start(): void {
    this.#leases.start();
    this.#candidates.start();
    const { observer } = this.#parts;
    this.#workers = this.queue.run({
      workers: 1,
      process: (key) => this.#process(key),
      onError: (key, error) => observer.reconcileFailed(key, error),
    });
  }

  /** Ends all work: once this resolves no write is under way and none will follow. Watching ends with {@link stop}. */
  async drain(): Promise<void> {
    await Promise.all([this.queue.shutDown(), this.#reconciler.close()]);
    await this.#workers;
  }

  async stop(): Promise<void> {
    await this.drain();
    await Promise.all([this.#candidates.stop(), this.#leases.stop()]);
  }

  /** This process has become the coordinator; `own` is its lock, if there is one in the cluster. */
  takeOver(own?: OwnLock): void {
    this.#tookOverAt = this.#parts.clock.now();
    this.#takeOver.begin(own);
  }

  #tookOver(mayHaveMissed: boolean): void {
    const now = this.#now();
    if (mayHaveMissed)
      for (const namespace of this.#known) this.#records.seeBeginning('takeOver', namespace, now);
    this.#reconsiderAll();
  }

  /** Infinity: it is not the coordinator. */
  #coordinatesSince(): Instant {
    return this.#parts.mayWrite() ? this.#tookOverAt : Number.POSITIVE_INFINITY;
  }

  /** Looks at every Lease again: the right to write has come, or candidates have. */
  #reconsiderAll(): void {
    for (const keys of [this.#records.contestedLeases(), this.#records.leasesWithOwnPreference()]) {
      for (const key of keys) if (this.knows(splitLeaseKey(key).namespace)) this.queue.add(key);
    }
  }

  hasSynced(resource: WatchedResource): boolean {
    return resource === 'leases' ? this.#leases.knowAll() : this.#candidates.hasSynced();
  }

  /**
   * Whether there is a namespace in which this process can elect. One that sees no candidates, as it may not or as its API
   * server serves none, leaves the lock to whoever does; one that sees some of them no more lets others go first (rule 10).
   */
  canElect(): boolean {
    const knowsAny = this.#leases.namespaces.some((namespace) => this.knows(namespace));
    return knowsAny && !this.#candidates.hasJustLostOne;
  }

  /** What LeaseCandidates are watched as; nothing while none are served. */
  get candidateApis(): CandidateSourcesWatch['apiVersions'] {
    return this.#candidates.apiVersions;
  }

  /** Whether the API server has said that it has no LeaseCandidates of its own; then nobody is built in who elects. */
  get isBuiltInRuledOut(): boolean {
    return this.#candidates.isNotServed('native');
  }

  /** The requests that wait or are under way. */
  get writes(): WriteQueue {
    return this.#reconciler.writes;
  }

  /** How much is kept beside what the server has: of how many Leases and objects something is remembered. */
  get kept() {
    return { ...this.#reconciler.kept, memories: this.#records.size, reasons: this.#lastDecisions.size };
  }

  /** All Leases that somebody is a candidate for, as they stand now, after `known`. Takes time in proportion to their number. */
  survey(known?: ElectionsSurvey['redundancy']): Promise<ElectionsSurvey> {
    return surveyElections(unhurried(this.elections(), this.#parts.clock), known);
  }

  /** Each Lease that somebody is a candidate for, as it stands now; none of a namespace that is not known yet. */
  elections(): Iterable<SurveyedElection> {
    // What was decided before the right to write went is of no account any more.
    const isDeciding = this.#parts.mayWrite();
    return surveyEach(
      this.#records,
      (key) => (isDeciding ? this.#lastDecisions.reasonOf(key) : undefined),
      this.#now(),
    ).filter(({ input }) => this.knows(input.namespace));
  }

  /** Every Lease that an election is about or was. */
  coordinatedLeases(): Iterable<LeaseKey> {
    return this.#records.coordinatedLeases();
  }

  /** What is known of one Lease: all that a decision about it would be made on. */
  gather(key: LeaseKey): ElectionInput {
    return this.#records.gather(key);
  }

  /** The same with the Lease's holder as its only candidate. */
  gatherHolder(key: LeaseKey): ElectionInput {
    return this.#records.gatherHolder(key);
  }

  /** Tells `listener` of what is seen, until the returned function is called; it must neither throw nor take long. */
  subscribe(listener: SeenListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /**
   * When the server last sent anything about a resource, bookmarks included, on the monotonic clock; of several
   * namespaces or sources, a missed one among them, the one longest without news. Undefined while any has never been heard of.
   */
  lastHeard(resource: WatchedResource): Instant | undefined {
    const [{ reflectors, missedSince }, { all }] = [this.#candidates, this.#leases];
    const heard = (resource === 'leases' ? all : reflectors).map(({ lastActivity }) => lastActivity);
    if (resource === 'leasecandidates') heard.push(...missedSince);
    return heard.includes(undefined) ? undefined : earliest(heard);
  }

  /** Since when changes of anything watched are not seen, on the monotonic clock; undefined while all are. */
  unwatchedSince(): Instant | undefined {
    const reflectors = [...this.#leases.all, ...this.#candidates.reflectors];
    return earliest(reflectors.map(({ unwatchedSince }) => unwatchedSince));
  }

  async #process(key: LeaseKey): Promise<void> {
    // What was never listed cannot be told from what does not exist. Whoever completes the list looks again.
    if (!this.knows(splitLeaseKey(key).namespace)) {
      // Nobody looks again at what has gone meanwhile.
      this.#reconciler.forgetIfGone(key);
      return;
    }
    // All are looked at again when it has ended.
    if (this.#takeOver.isPending) return;
    await this.#share.take(() => {
      this.queue.requeue(key, this.#reconciler.reconcile(key));
      this.queue.forget(key);
    });
  }

  /** Whether all Leases and candidates of a namespace are known. */
  knows(namespace: string): boolean {
    return this.#leases.knows(namespace) && this.#candidates.knows(namespace);
  }

  #sighted(): void {
    for (const namespace of this.#leases.namespaces) {
      if (this.#known.has(namespace) || !this.knows(namespace)) continue;
      this.#known.add(namespace);
      this.#records.seeBeginning(this.#records.hasLock() ? 'firstList' : 'firstEver', namespace, this.#now());
    }
    // Whoever may not write yet looks at all Leases once he may.
    if (this.#parts.mayWrite()) this.#reconsiderAll();
    this.#parts.onSighted?.();
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
      onSynced: () => this.#sighted(),
      onError: (error, context) => observer.reflectorFailed(error, context),
      observe: (observation) => {
        if (observation.type === 'listed' && this.#leases.knows(namespace)) this.#takeOver.relisted();
        observe(observation);
      },
    });
  }

  #onLease({ type, object, previous, initial, isListed }: ReflectorEvent<Lease>): void {
    const key = leaseKey(object.namespace, object.name);
    const isMere = type === 'modified' && isRenewalOnly(previous, object);
    const isRenewal = isMere && this.#lastDecisions.isSettled(key);
    const lease = type === 'deleted' ? undefined : object;
    // Before the end of the list, which may show the lock earlier.
    if (isListed && !initial) this.#takeOver.relisted();
    const coordinatingSince = isListed ? this.#coordinatesSince() : undefined;
    const isNewcomer = type === 'added' && isListed && !initial;
    this.#records.seeLease(key, lease, this.#now(), coordinatingSince, isNewcomer);
    this.#reconciler.outdate(key);
    this.#seen(key, isMere);
    this.#takeOver.see(key);
    if (type === 'deleted' && this.#reconciler.forgetIfGone(key)) return;
    const concernsUs = this.#records.hasCandidates(key) || object.isPreferredHolderOurs;
    // Once the first list is complete, every Lease is looked at.
    if (concernsUs && !isRenewal && !initial) this.queue.add(key);
  }

  #onCandidate({ type, object, previous, initial }: ReflectorEvent<LeaseCandidate>): void {
    // leaseName is immutable; where a server let it change, the candidate has left its former Lease.
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
    this.#seen(key, false);
  }

  /** Whether a candidate's renewal changes nothing: it was alive anyway, and its Lease is in good order. */
  #isRoutine(key: LeaseKey, { name, renewTime = 0n, pingTime = 0n }: LeaseCandidate): boolean {
    // Before its last ping: its clock was set back, which asks for another one (rule 2).
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
    this.#seen(key, false);
  }

  #seen(...told: Parameters<SeenListener>): void {
    for (const listener of this.#listeners) listener(...told);
  }

  #now(): Now {
    const { clock } = this.#parts;
    return { monotonic: clock.now(), wall: clock.wallTime() };
  }
}
