import { isConflict } from '../kubernetes/errors.ts';
import type { Instant } from '../support/clock.ts';
import { CallPacing } from './call-pacing.ts';
import {
  decideElector,
  type ElectorStep,
  type ElectorView,
  isRivals,
  isTaken,
  lapsesAt,
} from './elector-decision.ts';
import type { ElectorParts } from './elector-parts.ts';
import { LeaseFollower } from './lease-follower.ts';
import { hasExpired, holderSeen, isUnrenewedGrant } from './lease-sight.ts';
import { releasedLease, renewedLease } from './lease-writes.ts';
import { callSafely, guardedLogger, type ParticipantLogger, silent } from './participant-log.ts';
import type { ParticipantMetrics } from './participant-metrics.ts';
import { RunningTerm } from './running-term.ts';
import type { Lead, Term, TermEnd } from './term.ts';

/**
 * Leads while a coordinator has given it the Lease. It takes nothing by itself: it watches the Lease, takes a grant up by
 * renewing it, renews, and releases it once its program has stopped leading.
 */
export class Elector {
  readonly #parts: ElectorParts;
  readonly #lead: Lead;
  readonly #logger: ParticipantLogger;
  readonly #follower: LeaseFollower;
  readonly #pacing: CallPacing;
  readonly #finished = Promise.withResolvers<void>();
  #running: Promise<void> | undefined;
  #term: RunningTerm | undefined;
  #hasRival = false;
  #isStopping = false;
  #isWithdrawn = false;
  /** Those who wait for the Lease to be let go. */
  readonly #resigning: (() => void)[] = [];
  /** What the callback threw. */
  #failure: { readonly error: unknown } | undefined;
  #releaseUntil: Instant = Number.POSITIVE_INFINITY;
  #isDeciding = false;
  #isToDecideAgain = false;
  #cancelTimer: (() => void) | undefined;

  constructor(parts: ElectorParts, lead: Lead) {
    const { clock, timing } = parts;
    const logger = guardedLogger(parts.logger ?? silent);
    this.#parts = parts;
    this.#lead = lead;
    this.#logger = logger;
    this.#pacing = new CallPacing(clock, timing);
    const deadlineMs = timing.renewDeadlineMs / 2;
    this.#follower = new LeaseFollower({ ...parts, logger, deadlineMs, onSeen: () => this.#seen() });
  }

  /** Resolves once the Lease is known, or that there is none: from then on a grant is noticed at once. */
  get synced(): Promise<void> {
    return this.#follower.synced;
  }

  /** Who holds the Lease, as far as is known; undefined where nobody does or its record has expired. */
  get holder(): string | undefined {
    return holderSeen(this.#follower.sight, this.#parts.clock.now());
  }

  /** The term whose callback has not ended. */
  get term(): Term | undefined {
    return this.#term;
  }

  /** Whether the callback goes on although its term has run out, so that somebody else may lead. */
  get isOverrun(): boolean {
    const { clock, timing } = this.#parts;
    return this.#term?.isOver === true && clock.now() >= lapsesAt(this.#term, timing);
  }

  /**
   * Takes part until `signal` aborts, or the callback ends while its term lasts. Resolves once the Lease is released, or
   * cannot be; rejects with what the callback threw. Once only.
   */
  run(signal?: AbortSignal): Promise<void> {
    this.#running ??= this.#run(signal);
    return this.#running;
  }

  /** Ends the term, if there is one, and releases the Lease; resolves then. It may be elected again at once. */
  resign(): Promise<void> {
    if (!this.#running) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#resigning.push(resolve);
    this.#refuse();
    return Promise.race([promise, this.#finished.promise]);
  }

  /** Resigns, and releases whatever is granted from now on; resolves when the Lease is let go. */
  withdraw(): Promise<void> {
    this.#isWithdrawn = true;
    return this.resign();
  }

  /** Takes up what is granted from now on, after {@link Elector.withdraw}. */
  stand(): void {
    this.#isWithdrawn = false;
    this.#decide();
  }

  async #run(signal: AbortSignal | undefined): Promise<void> {
    const stop = () => this.#stop();
    this.#follower.start();
    signal?.addEventListener('abort', stop, { once: true });
    if (signal?.aborted) stop();
    await this.#finished.promise;
    signal?.removeEventListener('abort', stop);
    this.#cancelTimer?.();
    await this.#follower.stop();
    if (this.#failure) throw this.#failure.error;
  }

  #stop(): void {
    this.#isStopping = true;
    this.#refuse();
  }

  #refuse(): void {
    this.#releaseUntil = this.#parts.clock.now() + this.#parts.timing.renewDeadlineMs;
    this.#decide();
  }

  #seen(): void {
    const { identity } = this.#parts;
    const lease = this.#follower.sight?.lease;
    if (lease?.holderIdentity !== identity || isUnrenewedGrant(lease)) this.#hasRival = false;
    if (this.#term && isTaken(this.#view(), this.#term)) {
      this.#term.take();
      if (isRivals(lease, identity, this.#term.number)) this.#meetRival();
    }
    this.#decide();
  }

  #meetRival(): void {
    if (!this.#hasRival)
      this.#logger.error(
        { identity: this.#parts.identity },
        'Another running program leads under the same identity: give each its own',
      );
    this.#hasRival = true;
  }

  /** Does what follows from what is known, and sees to it that this happens again when time alone changes that. */
  #decide(): void {
    this.#isToDecideAgain = true;
    // Whoever hears that the term is over may resign at once.
    if (this.#isDeciding) return;
    this.#isDeciding = true;
    try {
      while (this.#isToDecideAgain) {
        this.#isToDecideAgain = false;
        this.#cancelTimer?.();
        const now = this.#parts.clock.now();
        // Whoever it was renews no more: the next to be granted the Lease may be meant here.
        if (this.#follower.sight && hasExpired(this.#follower.sight, now)) this.#hasRival = false;
        this.#act(decideElector(this.#view(), now));
      }
    } finally {
      this.#isDeciding = false;
    }
    callSafely(this.#logger, 'onChange has thrown', () => this.#parts.onChange?.());
  }

  #view(): ElectorView {
    const isResigning = this.#isWithdrawn || this.#resigning.length > 0;
    return {
      identity: this.#parts.identity,
      timing: this.#parts.timing,
      sight: this.#follower.sight,
      term: this.#term,
      refusal: this.#isStopping ? 'stopped' : isResigning ? 'resigned' : undefined,
      hasRival: this.#hasRival || this.#parts.isFollowing === true,
      isCalling: this.#pacing.isCalling,
      callFrom: this.#pacing.callFrom,
      releaseUntil: this.#releaseUntil,
    };
  }

  #act(step: ElectorStep): void {
    switch (step.kind) {
      case 'await':
        this.#wakeAt(step.until);
        break;
      case 'takeUp':
        this.#call((deadlineMs) => this.#takeUp(step.number, deadlineMs));
        break;
      case 'renew':
        this.#call((deadlineMs) => this.#renew(step.number, deadlineMs));
        break;
      case 'release':
        this.#call((deadlineMs) => this.#release(deadlineMs));
        break;
      case 'end':
        this.#end(step.why);
        break;
      case 'rest':
        this.#rest();
    }
  }

  #wakeAt(until: Instant): void {
    if (until === Number.POSITIVE_INFINITY) return;
    const { clock } = this.#parts;
    this.#cancelTimer = clock.setTimer(() => this.#decide(), Math.ceil(until - clock.now()));
  }

  #call(request: (deadlineMs: number) => Promise<void>): void {
    this.#isToDecideAgain = true;
    this.#pacing
      .call(request)
      .catch((error: unknown) => this.#failed(error))
      .finally(() => this.#decide());
  }

  #failed(error: unknown): void {
    if (isConflict(error)) {
      if (this.#term) this.#count((metrics) => metrics.slowpathExercised());
      this.#logger.debug({ err: error }, 'The Lease has changed meanwhile');
    } else {
      this.#logger.warn({ err: error, leadsForMs: this.#term?.until() }, 'Cannot write the Lease');
    }
  }

  async #takeUp(number: number, deadlineMs: number): Promise<void> {
    const renewedAt = await this.#write(number, deadlineMs);
    const { clock, lease, identity: holder, timing } = this.#parts;
    const term = new RunningTerm({ clock, lease, holder, number, timing, renewedAt });
    // Answered too late, or not wanted any more: it has never led, then.
    if (decideElector({ ...this.#view(), term }, clock.now()).kind === 'end') return;
    this.#term = term;
    this.#count((metrics) => metrics.leads(true));
    this.#logger.info({ lease, holder, fencingToken: number }, 'Leads');
    void this.#carryOut(term);
  }

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

  async #renew(number: number, deadlineMs: number): Promise<void> {
    const term = this.#term;
    const renewedAt = await this.#write(number, deadlineMs);
    if (term) term.renewedAt = renewedAt;
  }

  #write(leaseTransitions: number, deadlineMs: number): Promise<Instant> {
    const { clock, identity: holder, timing } = this.#parts;
    const { leaseDurationMs } = timing;
    return this.#follower.write(
      (lease) =>
        renewedLease(lease, { holder, leaseDurationMs, leaseTransitions, wallTime: clock.wallTime() }),
      deadlineMs,
    );
  }

  async #release(deadlineMs: number): Promise<void> {
    const { clock } = this.#parts;
    await this.#follower.write((lease) => releasedLease(lease, clock.wallTime()), deadlineMs);
    this.#logger.info({ lease: this.#parts.lease }, 'Released the Lease');
  }

  #end(why: TermEnd): void {
    this.#isToDecideAgain = true;
    this.#term?.end(why);
    this.#count((metrics) => metrics.leads(false));
    this.#logger.info({ lease: this.#parts.lease, why }, 'Leads no longer');
  }

  #count(count: (metrics: ParticipantMetrics) => void): void {
    const { metrics } = this.#parts;
    if (metrics) callSafely(this.#logger, 'The metrics have thrown', () => count(metrics));
  }

  #rest(): void {
    if (this.#resigning.length > 0) this.#isToDecideAgain = true;
    for (const resolve of this.#resigning.splice(0)) resolve();
    if (this.#isStopping) this.#finished.resolve();
  }
}
