import { leaseKey } from '../../coordination/lease-key.ts';
import { parseMicroTime } from '../../coordination/micro-time.ts';
import { isConflict } from '../../kubernetes/errors.ts';
import { isNotNewer, type KubernetesObject } from '../../kubernetes/objects.ts';
import { Backoff } from '../../support/backoff.ts';
import { type Instant, InterruptibleSleep } from '../../support/clock.ts';
import { decideLock, type LockDecision, type LockObservation, observeLock } from './lock-decision.ts';
import {
  isForeign,
  newLockLease,
  type OwnLock,
  type RecordChange,
  readLockRecord,
  release,
  withRecord,
} from './lock-record.ts';
import {
  type CoordinatorLockOptions,
  isSameState,
  LEASE_DURATION_MS,
  LONGEST_WRITE_MS,
  type LockState,
  RENEW_DEADLINE_MS,
  RETRY_PERIOD_MS,
  stateOf,
} from './lock-settings.ts';
import type { LockCall } from './lock-storage.ts';

/** Maximum random addition to the retry period, as a share of it, so that replicas do not send requests together. */
const JITTER = 0.1;

const FORCE_BACKOFF = {
  initialMs: 2 * LEASE_DURATION_MS,
  maxMs: 32 * LEASE_DURATION_MS,
  resetAfterMs: 32 * LEASE_DURATION_MS,
};

/**
 * Claims and renews the lock. Only the replica that holds the lock coordinates the cluster (rule 10). Call `isActive`
 * right before each write.
 */
export class CoordinatorLock {
  readonly #options: CoordinatorLockOptions;
  readonly #sleep: InterruptibleSleep;
  /** Delays repeated claims by force, so that two processes do not take the lock from each other all the time. */
  readonly #forceBackoff: Backoff;
  #forceNotBefore: Instant = Number.NEGATIVE_INFINITY;
  #state: LockState;
  /** The Lease of the lock as last seen. The next write fails if the server has another version by then. */
  #lease: KubernetesObject | undefined;
  #observation: LockObservation | undefined;
  /** Whether `#lease` is recent enough for a decision. */
  #fresh = false;
  /** When we sent our last successful claim or renewal; undefined without the lock, or if we have to stop acting. */
  #renewedAt: Instant | undefined;
  /** Whether we have sent a claim. Then the Lease may name us, even if the answer was lost. */
  #mayHold = false;
  /** We do not act before this time: a former holder may still act. A later claim never makes the time earlier. */
  #actFrom: Instant = Number.NEGATIVE_INFINITY;
  /**
   * The value of `#actFrom` before a claim that got a conflict. `#observe` restores this value if the Lease does not
   * name us, because the claim then has no effect, and needs no wait.
   */
  #actFromIfRefused: Instant | undefined;
  /** Set if the watch shows another holder, or no holder, during our write. We then ignore the answer: it may be outdated. */
  #contested = false;
  #unableSince: Instant | undefined;
  /** A write that began while we were active may be in flight until this time. */
  #writesEndBy: Instant = Number.NEGATIVE_INFINITY;
  #stopping = false;
  #cancelBoundary: (() => void) | undefined;
  #stopWatch: (() => void) | undefined;
  #running: Promise<void> | undefined;
  #stopped: Promise<void> | undefined;

  constructor(options: CoordinatorLockOptions) {
    const { clock } = options;
    this.#options = options;
    this.#sleep = new InterruptibleSleep(clock);
    this.#forceBackoff = new Backoff(FORCE_BACKOFF, clock);
    this.#state = { kind: 'standby', since: clock.now() };
  }

  get state(): LockState {
    return this.#state;
  }

  /** The lock as last seen, if this process holds it. */
  get own(): OwnLock | undefined {
    const { holder = '', renewTime = '' } = this.#observation?.record ?? {};
    const renewedAt = parseMicroTime(renewTime);
    if (holder !== this.#options.identity || renewedAt === undefined) return undefined;
    const { namespace, name } = this.#options.storage.lease;
    return { key: leaseKey(namespace, name), holder, renewTime: renewedAt };
  }

  /** True if a write may begin now. The lock then waits for this write: until its deadline, only `stop` gives up the lock. */
  isActive(): boolean {
    // Refresh the state now, because the timer may be late: call `onChange` before `isActive` returns false.
    if (this.#state.kind === 'active' && !this.#isRenewed()) this.#refreshState();
    if (this.#state.kind !== 'active') return false;
    this.#writesEndBy = this.#options.clock.now() + LONGEST_WRITE_MS;
    return true;
  }

  /** Decides about the lock without delay. Call this when the result of `canCoordinate` changes. */
  reconsider(): void {
    this.#sleep.interrupt();
  }

  start(): void {
    if (this.#running !== undefined || this.#stopping) return;
    this.#stopWatch = this.#options.storage.watch((lease) => this.#onWatch(lease));
    this.#running = this.#run();
  }

  /** Makes `isActive` false at once, and gives up the lock. Call this after all writes have ended. Never rejects. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    this.#stopping = true;
    this.#stopWatch?.();
    this.#renewedAt = undefined;
    this.#refreshState();
    this.#sleep.interrupt();
    await this.#running;
    // Ignore a failed release: `#call` has reported the error, and the lock expires by itself.
    if (this.#mayHold) await againAfterConflict(() => this.#writeRelease()).catch(() => {});
    this.#refreshState();
  }

  async #run(): Promise<void> {
    while (!this.#stopping) {
      const next = await this.#attempt();
      this.#refreshState();
      await this.#sleep.until(next);
    }
  }

  /** Decides about the lock. If necessary, claims, renews or releases it. Returns the time of the next attempt. */
  async #attempt(): Promise<Instant> {
    const { clock } = this.#options;
    const next = clock.now() + RETRY_PERIOD_MS * (1 + JITTER * clock.random());
    try {
      return Math.min(next, await againAfterConflict(() => this.#advance()));
    } catch {
      return next;
    }
  }

  async #advance(): Promise<Instant> {
    const { clock, canCoordinate = () => true } = this.#options;
    if (!this.#stopping) await this.#refresh();
    // Read `#observation` after the await, because the watch may have changed it. The decision and the write must be
    // based on the same version of the Lease.
    const observation = this.#observation;
    if (this.#stopping || observation === undefined) return Number.POSITIVE_INFINITY;
    const decision = decideLock(observation, this.#options, clock.now(), this.#forceNotBefore);
    const isAble = canCoordinate();
    this.#unableSince = isAble ? undefined : (this.#unableSince ?? clock.now());
    if (decision.kind === 'renew' && this.#shouldRelease()) return await this.#letGo();
    if (decision.kind !== 'wait' && (decision.kind === 'renew' || isAble)) {
      await this.#take(decision);
      return Number.POSITIVE_INFINITY;
    }
    // The next decision needs another read, unless the watch shows a change first.
    this.#fresh = false;
    return decision.kind === 'wait' ? decision.until : Number.POSITIVE_INFINITY;
  }

  async #refresh(): Promise<void> {
    if (!this.#fresh) this.#observe(await this.#call('get', this.#options.storage.get()));
  }

  async #take(decision: Exclude<LockDecision, { kind: 'wait' }>): Promise<void> {
    const sentAt = this.#options.clock.now();
    const formerActFrom = this.#actFrom;
    // Set `#actFrom` before the answer arrives: the answer may be lost although the server has applied the claim.
    if (decision.kind !== 'renew') this.#actFrom = Math.max(formerActFrom, decision.actFrom);
    this.#contested = false;
    this.#mayHold = true;
    // If we crash before `#actFrom`, the next holder must wait until then, too. So the Lease must not expire earlier.
    const leaseDurationMs = Math.max(LEASE_DURATION_MS, this.#actFrom - sentAt);
    try {
      const answer = await this.#write({ holder: this.#options.identity, leaseDurationMs });
      if (!this.#contested) this.#observe(answer);
    } catch (error) {
      if (isConflict(error)) this.#actFromIfRefused = formerActFrom;
      throw error;
    }
    if (this.#contested) this.#fresh = false;
    else if (!this.#stopping) this.#renewedAt = sentAt;
    this.#forceBackoff.succeeded();
    if (decision.kind === 'force') this.#options.onEvent?.({ kind: 'claimedByForce', from: decision.ousted });
  }

  /**
   * Whether to release the lock, because we have been unable to coordinate for too long. False before `#actFrom`: a
   * release would not help, because until then, other replicas would also have to wait for the former holder.
   */
  #shouldRelease(): boolean {
    const unableUntil = (this.#unableSince ?? Number.POSITIVE_INFINITY) + RENEW_DEADLINE_MS;
    return this.#options.clock.now() >= Math.max(unableUntil, this.#actFrom);
  }

  /**
   * Stops acting, and releases the lock. While a write may still be in flight, leaves the release to a later attempt.
   * Returns the time of that attempt; Infinity after the release.
   */
  async #letGo(): Promise<Instant> {
    const { clock, onEvent } = this.#options;
    if (this.#renewedAt !== undefined) onEvent?.({ kind: 'letGo' });
    this.#renewedAt = undefined;
    this.#refreshState();
    if (clock.now() < this.#writesEndBy) {
      this.#fresh = false;
      return this.#writesEndBy;
    }
    await this.#writeRelease();
    return Number.POSITIVE_INFINITY;
  }

  async #writeRelease(): Promise<void> {
    await this.#refresh();
    if (this.#observation?.record?.holder !== this.#options.identity) return;
    const settlingMs = this.#actFrom - this.#options.clock.now();
    this.#observe(await this.#write(release(this.#options.identity, settlingMs)));
  }

  #write(change: Omit<RecordChange, 'wallTime'>): Promise<KubernetesObject> {
    const { clock, storage } = this.#options;
    const timed = { ...change, wallTime: clock.wallTime() };
    return this.#lease === undefined
      ? this.#call('create', storage.create(newLockLease(storage.lease, timed)))
      : this.#call('update', storage.update(withRecord(this.#lease, timed)));
  }

  async #call<T>(call: LockCall, answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      // The server may have applied a write that failed here, so read the Lease again before the next write.
      this.#fresh = false;
      this.#options.onEvent?.({ kind: 'callFailed', call, error });
      throw error;
    }
  }

  #onWatch(lease: KubernetesObject | undefined): void {
    if (this.#stopping || (lease !== undefined && isNotNewer(lease, this.#lease))) return;
    const { record } = this.#observe(lease);
    if (record?.holder === this.#options.identity) return;
    this.#contested = true;
    this.#refreshState();
    this.#sleep.interrupt();
  }

  #observe(lease: KubernetesObject | undefined): LockObservation {
    const { clock } = this.#options;
    const record = lease && readLockRecord(lease);
    const observation = observeLock(this.#observation, record, clock.now());
    this.#lease = lease;
    this.#observation = observation;
    this.#fresh = true;
    if (record?.holder !== this.#options.identity) {
      this.#actFrom = this.#actFromIfRefused ?? this.#actFrom;
      if (this.#isRenewed()) this.#reportLoss(record?.holder ?? '');
      this.#renewedAt = undefined;
    } else if (observation.formerHolderUntil !== undefined && observation.formerHolderUntil > this.#actFrom) {
      // A restored backup may name us, because we held the lock earlier. Wait, because a later holder may still act.
      this.#actFrom = observation.formerHolderUntil;
      this.#refreshState();
    }
    this.#actFromIfRefused = undefined;
    return observation;
  }

  #reportLoss(by: string): void {
    if (by === '' || !isForeign(by) || !this.#options.takeOver) {
      this.#options.onEvent?.({ kind: 'ousted', by });
      return;
    }
    const forceAgainInMs = this.#forceBackoff.failed();
    this.#forceNotBefore = this.#options.clock.now() + forceAgainInMs;
    this.#options.onEvent?.({ kind: 'ousted', by, forceAgainInMs });
  }

  #isRenewed(): boolean {
    const { clock } = this.#options;
    return this.#renewedAt !== undefined && clock.now() < this.#renewedAt + RENEW_DEADLINE_MS;
  }

  /** Updates the state now, and again when settling ends or the renew deadline passes. */
  #refreshState(): void {
    const { clock } = this.#options;
    const now = clock.now();
    if (!this.#isRenewed()) this.#renewedAt = undefined;
    const holder = this.#observation?.record?.holder ?? '';
    const next = stateOf(holder, this.#renewedAt !== undefined, this.#actFrom, now);
    this.#cancelBoundary?.();
    if (this.#renewedAt !== undefined) {
      const { activeAt = Number.POSITIVE_INFINITY } = next;
      const boundary = Math.min(activeAt, this.#renewedAt + RENEW_DEADLINE_MS);
      this.#cancelBoundary = clock.setTimer(() => this.#refreshState(), Math.ceil(boundary - now));
    }
    if (isSameState(this.#state, next)) return;
    this.#state = next;
    this.#options.onChange?.(next);
  }
}

/** Runs `work`. After a conflict, runs `work` a second time without a delay: `work` then reads the changed Lease. */
async function againAfterConflict<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isConflict(error)) throw error;
    return await work();
  }
}
