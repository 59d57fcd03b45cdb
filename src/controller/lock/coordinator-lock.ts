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

/** Calls of replicas that started together drift apart by up to this fraction of the retry period. */
const JITTER = 0.1;

/**
 * The lock that makes this replica the cluster's one coordinator (rule 10). Whatever writes asks `isActive` right before
 * each write; `LONGEST_WRITE_MS` says why that is enough.
 */
export class CoordinatorLock {
  readonly #options: CoordinatorLockOptions;
  readonly #timing: LockTiming;
  readonly #rules: LockRules;
  readonly #calls: LockCalls;
  readonly #sleep: InterruptibleSleep;
  /** Between claims by force, so that we and another that claims by force do not oust each other all the time. */
  readonly #forceBackoff: Backoff;
  #forceNotBefore: Instant = Number.NEGATIVE_INFINITY;
  #state: LockState;
  /** The Lease as last seen: the next write is based on it. */
  #lease: KubernetesObject | undefined;
  #observation: LockObservation | undefined;
  /** Whether `#lease` is recent enough to decide on. */
  #fresh = false;
  /** While we hold it: when the last renewal that succeeded was sent. */
  #renewedAt: Instant | undefined;
  /** Whether the Lease may name us: a claim was sent, be it that its answer never came. */
  #mayHold = false;
  /** We never act before this. It only moves forward: what an ousted holder is owed does not end with one claim. */
  #actFrom: Instant = Number.NEGATIVE_INFINITY;
  /** Set when a claim was refused: it may have been a copy of it, and the claim a success, which the next look tells. */
  #actFromIfRefused: Instant | undefined;
  /** Set when somebody else was seen to hold the lock during a write of ours, whose answer is then outdated. */
  #contested = false;
  /** Since when we could not coordinate, even with the lock. */
  #unableSince: Instant | undefined;
  /** Until then a write may be under way that has begun while we were active. */
  #writesEndBy: Instant = Number.NEGATIVE_INFINITY;
  #stopping = false;
  #cancelBoundary: (() => void) | undefined;
  #stopWatch: (() => void) | undefined;
  #running: Promise<void> | undefined;
  #stopped: Promise<void> | undefined;

  /** @throws RangeError when the identity lacks our prefix or the timing is unsafe. */
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

  /** The lock as last seen, if it is this process's own. */
  get own(): OwnLock | undefined {
    const { holder = '', renewTime = '' } = this.#observation?.record ?? {};
    const renewedAt = parseMicroTime(renewTime);
    if (holder !== this.#rules.identity || renewedAt === undefined) return undefined;
    const { namespace, name } = this.#options.storage.lease;
    return { key: leaseKey(namespace, name), holder, renewTime: renewedAt };
  }

  /** Whether a write may begin now. False from the moment at which somebody else might be the coordinator. */
  isActive(): boolean {
    // Not left to the timer, which may come after a renewal that ends this: whoever is refused waits for `onChange`.
    if (this.#state.kind === 'active' && !this.#isRenewed()) this.#refreshState();
    if (this.#state.kind !== 'active') return false;
    this.#writesEndBy = this.#options.clock.now() + LONGEST_WRITE_MS;
    return true;
  }

  /** Looks at the lock at once, as what `canCoordinate` says has changed. */
  reconsider(): void {
    this.#sleep.interrupt();
  }

  /** Begins to watch and to claim the lock. Without effect when already started, or after `stop`. */
  start(): void {
    if (this.#running !== undefined || this.#stopping) return;
    this.#stopWatch = this.#options.storage.watch?.((lease) => this.#onWatch(lease));
    this.#running = this.#run();
  }

  /**
   * Lets go for good: `isActive` is false at once, and a Lease that is ours is released, so that the next coordinator
   * need not wait until it expires. Writes begun before must have ended by the time this is called. Never rejects: a
   * Lease that could not be released expires.
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

  /** Looks at the lock and does what follows, after a conflict once more. Returns when to look again. */
  async #attempt(): Promise<Instant> {
    const { clock } = this.#options;
    const next = clock.now() + this.#timing.retryPeriodMs * (1 + JITTER * clock.random());
    try {
      return Math.min(next, await this.#advance().catch((error) => this.#advanceAfter(error)));
    } catch {
      return next;
    }
  }

  /** A conflict means that the Lease has changed: worth another look at once. Anything else waits. */
  #advanceAfter(error: unknown): Promise<Instant> {
    if (!isConflict(error) || this.#stopping) throw error;
    return this.#advance();
  }

  async #advance(): Promise<Instant> {
    const { clock, canCoordinate = () => true } = this.#options;
    await this.#look();
    // Taken only now, as the watch may tell more during any wait: what is decided on is what the write is based on.
    const observation = this.#observation;
    if (this.#stopping || observation === undefined) return Number.POSITIVE_INFINITY;
    const decision = decideLock(observation, this.#rules, clock.now(), this.#forceNotBefore);
    const isAble = canCoordinate();
    this.#unableSince = isAble ? undefined : (this.#unableSince ?? clock.now());
    if (decision.kind === 'renew' && this.#isBetterLetGo()) return await this.#letGo();
    if (decision.kind !== 'wait' && (decision.kind === 'renew' || isAble)) {
      await this.#take(decision);
      return Number.POSITIVE_INFINITY;
    }
    // Unless the watch tells more by then, the next decision needs another look.
    this.#fresh = false;
    return decision.kind === 'wait' ? decision.until : Number.POSITIVE_INFINITY;
  }

  /** Looks at the server, unless the last answer or watch event still stands. */
  async #look(): Promise<void> {
    if (this.#fresh && this.#observation !== undefined) return;
    this.#see(await this.#calls.get());
  }

  async #take(decision: Exclude<LockDecision, { kind: 'wait' }>): Promise<void> {
    const sentAt = this.#options.clock.now();
    const formerActFrom = this.#actFrom;
    // Before it is known to have succeeded: an answer that never comes changes nothing about who was ousted.
    if (decision.kind !== 'renew') this.#actFrom = Math.max(formerActFrom, decision.actFrom);
    this.#contested = false;
    this.#mayHold = true;
    // Whoever finds this record must wait as long as we would have to, should we crash before we ever act.
    const leaseDurationMs = Math.max(this.#timing.leaseDurationMs, this.#actFrom - sentAt);
    try {
      const answer = await this.#calls.write(this.#lease, { holder: this.#rules.identity, leaseDurationMs });
      if (!this.#contested) this.#see(answer);
    } catch (error) {
      if (isConflict(error)) this.#actFromIfRefused = formerActFrom;
      throw error;
    }
    if (this.#contested) this.#fresh = false;
    else if (!this.#stopping) this.#renewedAt = sentAt;
    this.#forceBackoff.succeeded();
    if (decision.kind === 'force') this.#options.onEvent?.({ kind: 'claimedByForce', from: decision.ousted });
  }

  /** Once whoever was ousted is out: letting go before that would make the next one wait for it, too. */
  #isBetterLetGo(): boolean {
    const unableUntil = (this.#unableSince ?? Number.POSITIVE_INFINITY) + this.#timing.renewDeadlineMs;
    return this.#options.clock.now() >= Math.max(unableUntil, this.#actFrom);
  }

  /** First ends all writing, then empties the Lease. Returns when to look again. */
  async #letGo(): Promise<Instant> {
    const { clock, onEvent } = this.#options;
    if (this.#renewedAt !== undefined) onEvent?.({ kind: 'letGo' });
    this.#renewedAt = undefined;
    this.#refreshState();
    if (clock.now() < this.#writesEndBy) {
      this.#fresh = false;
      return this.#writesEndBy;
    }
    await this.#empty();
    return Number.POSITIVE_INFINITY;
  }

  /** Only a record that still is ours is emptied: another's must not be touched. */
  async #release(): Promise<void> {
    if (!this.#mayHold) return;
    try {
      await this.#empty().catch((error) => {
        if (isConflict(error)) return this.#empty();
        throw error;
      });
    } catch {
      // Reported by the call; the Lease expires.
    }
  }

  async #empty(): Promise<void> {
    await this.#look();
    if (this.#observation?.record?.holder !== this.#rules.identity) return;
    const settlingMs = this.#actFrom - this.#options.clock.now();
    this.#see(await this.#calls.write(this.#lease, release(this.#rules.identity, settlingMs)));
  }

  #onWatch(lease: KubernetesObject | undefined): void {
    if (this.#stopping || (lease !== undefined && isNotNewer(lease, this.#lease))) return;
    const { record } = this.#see(lease);
    if (record?.holder === this.#rules.identity) return;
    this.#contested = true;
    this.#refreshState();
    this.#sleep.interrupt();
  }

  #see(lease: KubernetesObject | undefined): LockObservation {
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

  /** Brings the state up to now, and sees to it that this happens again when settling or the renew deadline ends. */
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
