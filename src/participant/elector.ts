import { ApiError, isConflict } from '../kubernetes/errors.ts';
import { Backoff } from '../support/backoff.ts';
import type { Instant } from '../support/clock.ts';
import {
  decideElector,
  type ElectorStep,
  type ElectorTiming,
  type ElectorView,
  hasExpired,
  holderSeen,
  isGrant,
  isRenewedByRival,
  isTaken,
  lapsesAt,
} from './elector-decision.ts';
import { LeaseFollower, type LeaseParts } from './lease-follower.ts';
import { callSafely, type ParticipantMetrics } from './participant-telemetry.ts';
import { type Lead, RunningTerm, type Term, type TermEnd } from './term.ts';

interface ElectorParts extends LeaseParts {
  /** The `holderIdentity` of the Lease while this elector holds it. Unique among running programs. */
  readonly identity: string;
  readonly timing: ElectorTiming;
  readonly metrics: ParticipantMetrics | undefined;
  /** True if this elector only watches the Lease, because the program has its own elector. */
  readonly isFollowing: boolean;
  /** Minimum time from creation to the first write, in ms, if the Lease already names this identity when first seen. */
  readonly resumeDelayMs: number;
  /** Called when `holder` or `term` may have changed. Must not throw. */
  readonly onChange: () => void;
}

/**
 * Delay before the retry after a first conflict, in milliseconds. Short, because the elector has already read the Lease
 * again.
 */
const CONFLICT_DELAY_MS = 10;

/**
 * The elector of a participant. It leads only by a grant of a coordinator, and never takes a Lease by itself. It
 * watches the Lease, takes up a grant with a renewal, keeps renewing, and releases the Lease after the program has
 * stopped leading.
 */
export class Elector {
  readonly #parts: ElectorParts;
  readonly #lead: Lead;
  readonly #follower: LeaseFollower;
  readonly #conflicts: Backoff;
  readonly #failures: Backoff;
  readonly #finished = Promise.withResolvers<void>();
  readonly #resumesAt: Instant;
  #hasSeen = false;
  #isRunning = false;
  #term: RunningTerm | undefined;
  #hasRival = false;
  #isStopping = false;
  #isWithdrawn = false;
  /** Set while `resign` waits for the release of the Lease. */
  #resignation: PromiseWithResolvers<void> | undefined;
  /** The error that the callback threw. */
  #failure: { readonly error: unknown } | undefined;
  #isRequestInFlight = false;
  #retryAt: Instant = Number.NEGATIVE_INFINITY;
  #releaseDeadline: Instant = Number.POSITIVE_INFINITY;
  #isDeciding = false;
  #mustDecideAgain = false;
  #cancelTimer: (() => void) | undefined;

  constructor(parts: ElectorParts, lead: Lead) {
    const { clock, timing } = parts;
    const { renewDeadlineMs, retryPeriodMs: resetAfterMs } = timing;
    this.#parts = parts;
    this.#lead = lead;
    this.#resumesAt = clock.now() + parts.resumeDelayMs;
    // Half of the retry period, because a leader has time for only a few attempts before the renew deadline.
    const maxMs = resetAfterMs / 2;
    this.#conflicts = new Backoff({ initialMs: CONFLICT_DELAY_MS, maxMs, resetAfterMs }, clock);
    this.#failures = new Backoff({ initialMs: resetAfterMs / 8, maxMs, resetAfterMs }, clock);
    this.#follower = new LeaseFollower({
      ...parts,
      // Half of the renew deadline, so that a request without an answer leaves time for another attempt.
      deadlineMs: renewDeadlineMs / 2,
      onSeen: () => this.#seen(),
    });
  }

  /** Resolves after the Lease was first read, or found missing. From then on, the elector watches for grants. */
  get synced(): Promise<void> {
    return this.#follower.synced;
  }

  /** The holder as last seen; undefined if the Lease was not read yet, is missing, has no holder or has expired. */
  get holder(): string | undefined {
    return holderSeen(this.#follower.sight, this.#parts.clock.now());
  }

  /** The term whose callback has not ended yet; undefined if there is none. */
  get term(): Term | undefined {
    return this.#term;
  }

  /** Whether the callback still runs although its Lease has expired. Another candidate may then lead, too. */
  get isOverrun(): boolean {
    const { clock, timing } = this.#parts;
    return this.#term?.isOver === true && clock.now() >= lapsesAt(this.#term, timing);
  }

  /**
   * Takes part until `signal` aborts, or until the callback fails or ends without being told to stop. Then releases the
   * Lease if this elector holds it. Resolves even if the release fails. Rejects with the error of the callback.
   */
  async run(signal: AbortSignal): Promise<void> {
    const stop = () => {
      this.#isStopping = true;
      this.#refuse();
    };
    this.#isRunning = true;
    this.#follower.start();
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    await this.#finished.promise;
    signal.removeEventListener('abort', stop);
    this.#cancelTimer?.();
    await this.#follower.stop();
    if (this.#failure) throw this.#failure.error;
  }

  /**
   * Ends the term, waits until the callback has ended, and then releases the Lease. Resolves even if the release fails.
   * The coordinator may grant the Lease to this elector again at once.
   */
  resign(): Promise<void> {
    if (!this.#isRunning) return Promise.resolve();
    this.#resignation ??= Promise.withResolvers<void>();
    const { promise } = this.#resignation;
    this.#refuse();
    return Promise.race([promise, this.#finished.promise]);
  }

  /** Like {@link Elector.resign}, but also releases each later grant until {@link Elector.stand} is called. */
  withdraw(): Promise<void> {
    this.#isWithdrawn = true;
    return this.resign();
  }

  /** Accepts grants again after {@link Elector.withdraw}. */
  stand(): void {
    this.#isWithdrawn = false;
    this.#decide();
  }

  #refuse(): void {
    this.#releaseDeadline = this.#parts.clock.now() + this.#parts.timing.renewDeadlineMs;
    this.#decide();
  }

  #seen(): void {
    const { identity, logger } = this.#parts;
    const lease = this.#follower.sight?.lease;
    // If the Lease names this identity when the elector first sees the Lease, an earlier process with this identity may
    // have told other programs to lead. Wait until `#resumesAt`, because these programs may still lead.
    if (!this.#hasSeen && lease?.holderIdentity === identity) this.#retryAt = this.#resumesAt;
    this.#hasSeen = true;
    if (lease?.holderIdentity !== identity || isGrant(lease)) this.#hasRival = false;
    if (this.#term && isTaken(this.#view(), this.#term)) {
      this.#term.take();
      if (!this.#hasRival && isRenewedByRival(lease, identity, this.#term.fencingToken)) {
        this.#hasRival = true;
        logger.error(
          { identity },
          'Another running program leads with the same identity: give each program its own identity',
        );
      }
    }
    this.#decide();
  }

  /**
   * Decides on the next steps and carries them out. If the decision will change at a known time, sets a timer for this
   * time.
   */
  #decide(): void {
    this.#mustDecideAgain = true;
    // A step may call this function again, for example if a listener of the term's signal calls `resign`. The loop
    // below then decides again.
    if (this.#isDeciding) return;
    this.#isDeciding = true;
    try {
      while (this.#mustDecideAgain) {
        this.#mustDecideAgain = false;
        this.#cancelTimer?.();
        const now = this.#parts.clock.now();
        // The rival is another program with this identity. If the Lease has expired, the rival no longer renews it, and
        // the next grant to this identity may be for this elector.
        if (this.#follower.sight && hasExpired(this.#follower.sight, now)) this.#hasRival = false;
        this.#act(decideElector(this.#view(), now));
      }
    } finally {
      this.#isDeciding = false;
    }
    this.#parts.onChange();
  }

  #view(): ElectorView {
    const isResigning = this.#isWithdrawn || this.#resignation !== undefined;
    return {
      identity: this.#parts.identity,
      timing: this.#parts.timing,
      sight: this.#follower.sight,
      term: this.#term,
      refusal: this.#isStopping ? 'stopped' : isResigning ? 'resigned' : undefined,
      hasRival: this.#hasRival || this.#parts.isFollowing,
      isRequestInFlight: this.#isRequestInFlight,
      retryAt: this.#retryAt,
      releaseDeadline: this.#releaseDeadline,
    };
  }

  #act(step: ElectorStep): void {
    const { clock } = this.#parts;
    switch (step.kind) {
      case 'await':
        if (step.until === Number.POSITIVE_INFINITY) break;
        this.#cancelTimer = clock.setTimer(() => this.#decide(), Math.ceil(step.until - clock.now()));
        break;
      case 'takeUp':
        void this.#send(() => this.#takeUp(step.fencingToken));
        break;
      case 'renew':
        void this.#send(() => this.#renew(step.fencingToken));
        break;
      case 'release':
        void this.#send(() => this.#release());
        break;
      case 'end':
        this.#end(step.why);
        break;
      case 'rest':
        if (this.#resignation) this.#mustDecideAgain = true;
        this.#resignation?.resolve();
        this.#resignation = undefined;
        if (this.#isStopping) this.#finished.resolve();
    }
  }

  /**
   * Sends a request. The next request waits until this one has ended and, after a failure, until `#retryAt`. Never
   * rejects.
   */
  async #send(request: () => Promise<void>): Promise<void> {
    this.#mustDecideAgain = true;
    this.#isRequestInFlight = true;
    try {
      await request();
      this.#conflicts.succeeded();
      this.#failures.succeeded();
      this.#retryAt = Number.NEGATIVE_INFINITY;
    } catch (error) {
      this.#retryAt = this.#parts.clock.now() + this.#failed(error);
    }
    this.#isRequestInFlight = false;
    this.#decide();
  }

  /** Reports the failure of a request. Returns the delay before the next request, in milliseconds. */
  #failed(error: unknown): number {
    const { logger, timing } = this.#parts;
    if (isConflict(error)) {
      if (this.#term) this.#count((metrics) => metrics.slowpathExercised());
      logger.debug({ err: error }, 'The Lease has changed in the meantime');
      return this.#conflicts.failed();
    }
    logger.warn({ err: error, leadsForMs: this.#term?.remainingMs() }, 'Cannot write the Lease');
    const { retryAfterMs = 0 } = error instanceof ApiError ? error : {};
    return Math.max(this.#failures.failed(), Math.min(retryAfterMs, timing.retryPeriodMs));
  }

  async #takeUp(fencingToken: number): Promise<void> {
    const renewedAt = await this.#write(fencingToken);
    const { clock, lease, identity: holder, timing } = this.#parts;
    const { leaseDurationMs } = timing;
    const term = new RunningTerm({ clock, lease, holder, fencingToken, leaseDurationMs, renewedAt });
    // Do not begin a term that would end at once, for example because the answer came too late.
    if (decideElector({ ...this.#view(), term }, clock.now()).kind === 'end') return;
    this.#term = term;
    this.#count((metrics) => metrics.leads(true));
    this.#parts.logger.info({ lease, holder, fencingToken }, 'Leads');
    void this.#carryOut(term);
  }

  /** Calls the program's callback with the term. Ends the term when the callback has ended. */
  async #carryOut(term: RunningTerm): Promise<void> {
    try {
      if (await term.run(this.#lead)) this.#isStopping = true;
    } catch (error) {
      this.#failure = { error };
      this.#isStopping = true;
    }
    if (!term.isOver) this.#end('stopped');
    term.take();
    this.#term = undefined;
    this.#refuse();
  }

  async #renew(fencingToken: number): Promise<void> {
    const term = this.#term;
    const renewedAt = await this.#write(fencingToken);
    if (term) term.renewedAt = renewedAt;
  }

  #write(leaseTransitions: number): Promise<Instant> {
    const { identity: holderIdentity, timing } = this.#parts;
    const leaseDurationSeconds = timing.leaseDurationMs / 1000;
    return this.#follower.write({ holderIdentity, leaseDurationSeconds, leaseTransitions });
  }

  /**
   * Writes an empty `holderIdentity`, a duration of 1 s and a new renewTime, as client-go's elector does. The
   * coordinator recognizes a release by these values (rule 8).
   */
  async #release(): Promise<void> {
    await this.#follower.write({ holderIdentity: '', leaseDurationSeconds: 1 });
    this.#parts.logger.info({ lease: this.#parts.lease }, 'Released the Lease');
  }

  #end(why: TermEnd): void {
    this.#mustDecideAgain = true;
    this.#term?.end(why);
    this.#count((metrics) => metrics.leads(false));
    this.#parts.logger.info({ lease: this.#parts.lease, why }, 'Leads no longer');
  }

  #count(count: (metrics: ParticipantMetrics) => void): void {
    const { metrics, logger } = this.#parts;
    if (metrics) callSafely(logger, 'The metrics have thrown', () => count(metrics));
  }
}
