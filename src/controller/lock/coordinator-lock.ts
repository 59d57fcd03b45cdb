import { leaseKey } from '../../coordination/lease-key.ts';
import { parseMicroTime } from '../../coordination/micro-time.ts';
import { isConflict } from '../../kubernetes/errors.ts';
import { isNotNewer, type KubernetesObject } from '../../kubernetes/objects.ts';
import { Backoff } from '../../support/backoff.ts';
import { type Instant, InterruptibleSleep } from '../../support/clock.ts';
import {
  decideLock,
  type LockDecision,
  type LockObservation,
  type LockRules,
  observeLock,
} from './lock-decision.ts';
import { isForeign, type OwnLock, readLockRecord, release } from './lock-record.ts';
import {
  type CoordinatorLockOptions,
  checkLockSettings,
  DEFAULT_LOCK_TIMING,
  isSameState,
  LONGEST_WRITE_MS,
  type LockState,
  type LockTiming,
  stateOf,
} from './lock-settings.ts';
import { LockCalls } from './lock-storage.ts';

/** Fraction of the retry period by which calls of replicas that started together drift apart. */
const JITTER = 0.1;

/**
 * The lock that makes this replica the only coordinator of the cluster (rule 10). Call `isActive` right before each write;
 * see `LONGEST_WRITE_MS`.
 */
export class CoordinatorLock {
  readonly #options: CoordinatorLockOptions;
  readonly #timing: LockTiming;
  readonly #rules: LockRules;
  readonly #calls: LockCalls;
  readonly #sleep: InterruptibleSleep;
  /** Keeps two processes that claim by force from ousting each other all the time. */
  readonly #forceBackoff: Backoff;
  #forceNotBefore: Instant = Number.NEGATIVE_INFINITY;
  #state: LockState;
  /** The Lease as last seen, the base of the next write. */
  #lease: KubernetesObject | undefined;
  #observation: LockObservation | undefined;
  /** Whether `#lease` is recent enough to decide on. */
  #fresh = false;
  /** While we hold the lock: when we sent the last successful renewal. */
  #renewedAt: Instant | undefined;
  /** Whether we have sent a claim, so that the Lease may name us even without an answer. */
  #mayHold = false;
  /** We never act before this. Another claim does not move it back: former holders may still act. */
  #actFrom: Instant = Number.NEGATIVE_INFINITY;
  /**
   * `#actFrom` before a claim that was refused. The refused request may be a retransmission of a claim that succeeded; the next
   * read tells.
   */
  #actFromIfRefused: Instant | undefined;
  /** Set when the watch shows another holder during our write: its answer is then outdated. */
  #contested = false;
  /** Since when `canCoordinate` has been false. */
  #unableSince: Instant | undefined;
  /** Until then a write that began while we were active may be in flight. */
  #writesEndBy: Instant = Number.NEGATIVE_INFINITY;
  #stopping = false;
  #cancelBoundary: (() => void) | undefined;
  #stopWatch: (() => void) | undefined;
  #running: Promise<void> | undefined;
  #stopped: Promise<void> | undefined;

  /** @throws RangeError when the identity lacks our prefix or the timing is unsafe */
  constructor(options: CoordinatorLockOptions) {
    const { clock, storage, identity, takeOver } = options;
    this.#options = options;
    this.#timing = { ...DEFAULT_LOCK_TIMING, ...options.timing };
    checkLockSettings(identity, this.#timing);
    this.#sleep = new InterruptibleSleep(clock);
    const { leaseDurationMs, callTimeoutMs } = this.#timing;
    this.#calls = new LockCalls({
      clock,
      storage,
      timeoutMs: callTimeoutMs,
      onFailure: (call, error) => {
        this.#fresh = false;
        options.onEvent?.({ kind: 'callFailed', call, error });
      },
    });
    this.#rules = { identity, leaseDurationMs, takeOver };
    const maxMs = 32 * leaseDurationMs;
    this.#forceBackoff = new Backoff({ initialMs: 2 * leaseDurationMs, maxMs, resetAfterMs: maxMs }, clock);
    this.#state = { kind: 'standby', since: clock.now() };
  }

  get state(): LockState {
    return this.#state;
  }

  /** The lock as last seen, if this process holds it. */
  get own(): OwnLock | undefined {
    const { holder = '', renewTime = '' } = this.#observation?.record ?? {};
    const renewedAt = parseMicroTime(renewTime);
    if (holder !== this.#rules.identity || renewedAt === undefined) return undefined;
    const { namespace, name } = this.#options.storage.lease;
    return { key: leaseKey(namespace, name), holder, renewTime: renewedAt };
  }

  /** Whether a write may begin now. False as soon as another process may be the coordinator. */
  isActive(): boolean {
    // The timer may fire after the next renewal, and a caller that is refused waits for `onChange`.
    if (this.#state.kind === 'active' && !this.#isRenewed()) this.#refreshState();
    if (this.#state.kind !== 'active') return false;
    this.#writesEndBy = this.#options.clock.now() + LONGEST_WRITE_MS;
    return true;
  }

  /** Call this when `canCoordinate` changes. */
  reconsider(): void {
    this.#sleep.interrupt();
  }

  /** Does nothing if already started or stopped. */
  start(): void {
    if (this.#running !== undefined || this.#stopping) return;
    this.#stopWatch = this.#options.storage.watch?.((lease) => this.#onWatch(lease));
    this.#running = this.#run();
  }

  /**
   * Makes `isActive` false at once and releases the Lease, so that the next coordinator does not wait until it expires.
   * All writes must have ended before this call. Never rejects: a Lease that is not released expires.
   */
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
    await this.#release();
    this.#refreshState();
  }

  async #run(): Promise<void> {
    while (!this.#stopping) {
      const next = await this.#attempt();
      this.#refreshState();
      await this.#sleep.until(next);
    }
  }

  /** Claims or renews the lock; after a conflict tries once more. Returns the time of the next attempt. */
  async #attempt(): Promise<Instant> {
    const { clock } = this.#options;
    const next = clock.now() + this.#timing.retryPeriodMs * (1 + JITTER * clock.random());
    try {
      return Math.min(next, await this.#advance().catch((error) => this.#advanceAfter(error)));
    } catch {
      return next;
    }
  }

  /** After a conflict the Lease has changed: reads it again at once. */
  #advanceAfter(error: unknown): Promise<Instant> {
    if (!isConflict(error) || this.#stopping) throw error;
    return this.#advance();
  }

  async #advance(): Promise<Instant> {
    const { clock, canCoordinate = () => true } = this.#options;
    await this.#refresh();
    // Read after the wait, during which the watch may change it: the write must have the same base as the decision.
    const observation = this.#observation;
    if (this.#stopping || observation === undefined) return Number.POSITIVE_INFINITY;
    const decision = decideLock(observation, this.#rules, clock.now(), this.#forceNotBefore);
    const isAble = canCoordinate();
    this.#unableSince = isAble ? undefined : (this.#unableSince ?? clock.now());
    if (decision.kind === 'renew' && this.#shouldLetGo()) return await this.#letGo();
    if (decision.kind !== 'wait' && (decision.kind === 'renew' || isAble)) {
      await this.#take(decision);
      return Number.POSITIVE_INFINITY;
    }
    // The next decision needs another read, unless the watch shows a change before.
    this.#fresh = false;
    return decision.kind === 'wait' ? decision.until : Number.POSITIVE_INFINITY;
  }

  async #refresh(): Promise<void> {
    if (this.#fresh && this.#observation !== undefined) return;
    this.#observe(await this.#calls.get());
  }

  async #take(decision: Exclude<LockDecision, { kind: 'wait' }>): Promise<void> {
    const sentAt = this.#options.clock.now();
    const formerActFrom = this.#actFrom;
    // Set before the answer, which may be lost: the former holder is ousted nevertheless.
    if (decision.kind !== 'renew') this.#actFrom = Math.max(formerActFrom, decision.actFrom);
    this.#contested = false;
    this.#mayHold = true;
    // If we crash before we act, the next holder must wait for the same former holder.
    const leaseDurationMs = Math.max(this.#timing.leaseDurationMs, this.#actFrom - sentAt);
    try {
      const answer = await this.#calls.write(this.#lease, { holder: this.#rules.identity, leaseDurationMs });
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

  /** Not before `#actFrom`: the next holder would have to wait for the former one, too. */
  #shouldLetGo(): boolean {
    const unableUntil = (this.#unableSince ?? Number.POSITIVE_INFINITY) + this.#timing.renewDeadlineMs;
    return this.#options.clock.now() >= Math.max(unableUntil, this.#actFrom);
  }

  /** Releases the lock once no write is in flight. Returns the time of the next attempt. */
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

  async #release(): Promise<void> {
    if (!this.#mayHold) return;
    try {
      await this.#writeRelease().catch((error) => {
        if (isConflict(error)) return this.#writeRelease();
        throw error;
      });
    } catch {
      // `#calls` has reported the error; the Lease expires.
    }
  }

  /** Releases the Lease if it still is ours. */
  async #writeRelease(): Promise<void> {
    await this.#refresh();
    if (this.#observation?.record?.holder !== this.#rules.identity) return;
    const settlingMs = this.#actFrom - this.#options.clock.now();
    this.#observe(await this.#calls.write(this.#lease, release(this.#rules.identity, settlingMs)));
  }

  #onWatch(lease: KubernetesObject | undefined): void {
    if (this.#stopping || (lease !== undefined && isNotNewer(lease, this.#lease))) return;
    const { record } = this.#observe(lease);
    if (record?.holder === this.#rules.identity) return;
    this.#contested = true;
    this.#refreshState();
    this.#sleep.interrupt();
  }

  #observe(lease: KubernetesObject | undefined): LockObservation {
    const { clock } = this.#options;
    const record = lease && readLockRecord(lease);
    const observation = observeLock(this.#observation, record, this.#rules, clock.now());
    this.#lease = lease;
    this.#observation = observation;
    this.#fresh = true;
    if (record?.holder !== this.#rules.identity) {
      this.#actFrom = this.#actFromIfRefused ?? this.#actFrom;
      if (this.#isRenewed()) this.#reportOusted(record?.holder ?? '');
      this.#renewedAt = undefined;
    }
    this.#actFromIfRefused = undefined;
    return observation;
  }

  #reportOusted(by: string): void {
    if (by === '' || !isForeign(by)) {
      this.#options.onEvent?.({ kind: 'ousted', by });
      return;
    }
    const forceAgainInMs = this.#forceBackoff.failed();
    this.#forceNotBefore = this.#options.clock.now() + forceAgainInMs;
    this.#options.onEvent?.({ kind: 'ousted', by, forceAgainInMs });
  }

  #isRenewed(): boolean {
    const { clock } = this.#options;
    return this.#renewedAt !== undefined && clock.now() < this.#renewedAt + this.#timing.renewDeadlineMs;
  }

  /** Updates the state, now and when settling or the renew deadline ends. */
  #refreshState(): void {
    const { clock } = this.#options;
    const now = clock.now();
    if (!this.#isRenewed()) this.#renewedAt = undefined;
    const holder = this.#observation?.record?.holder ?? '';
    const next = stateOf(holder, this.#renewedAt !== undefined, this.#actFrom, now);
    this.#cancelBoundary?.();
    if (this.#renewedAt !== undefined) {
      const { activeAt = Number.POSITIVE_INFINITY } = next;
      const boundary = Math.min(activeAt, this.#renewedAt + this.#timing.renewDeadlineMs);
      this.#cancelBoundary = clock.setTimer(() => this.#refreshState(), Math.ceil(boundary - now));
    }
    if (isSameState(this.#state, next)) return;
    this.#state = next;
    this.#options.onChange?.(next);
  }
}
