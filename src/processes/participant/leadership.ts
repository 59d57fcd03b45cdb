import type { ParticipantState } from '../../participant/participant-state.ts';
import type { Term } from '../../participant/term.ts';
import { type Clock, type Instant, sleep } from '../../support/clock.ts';
import { untilAborted } from '../../support/host.ts';

/** Who leads, as a program beside this one is told it. */
export interface LeaderAccount {
  /** `namespace/name`. */
  readonly lease: string;
  /** Of the candidate that this process stands for. */
  readonly identity: string;
  /** Empty: nobody is known to lead. */
  readonly holder: string;
  /** Whether that is this candidate. */
  readonly leading: boolean;
  /** Of the term; absent while another leads. */
  readonly fencingToken?: number;
  /** For so long the program may lead without asking again, counted from when it began to ask; 0 while it must not. */
  readonly validForMs: number;
}

/** What a {@link Leadership} is about. */
export interface LeadershipParts {
  readonly clock: Clock;
  readonly lease: string;
  readonly identity: () => string;
}

/**
 * Nobody is told for longer than this, in milliseconds, that the program may lead: a Lease that is given up in good order is
 * not released before everything that was told of it has run out.
 */
export const LONGEST_PROMISE_MS = 5000;

/** What is known of the leader at this very moment; nothing that is told is ever remembered, but for how long it holds. */
export class Leadership {
  readonly #parts: LeadershipParts;
  readonly #listeners = new Set<() => void>();
  #holder = '';
  #term: Term | undefined;
  #promisedUntil: Instant;
  #acknowledged = new AbortController();

  constructor(parts: LeadershipParts) {
    this.#parts = parts;
    // An earlier process of this pod, under the same identity, may have said something right before it ended.
    this.#promisedUntil = parts.clock.now() + LONGEST_PROMISE_MS;
  }

  /** Leads in the name of the program; resolves once nobody believes any more that it leads. */
  readonly lead = async (term: Term): Promise<void> => {
    this.#term = term;
    this.#acknowledged = new AbortController();
    this.#tell();
    await untilAborted(term.signal);
    this.#tell();
    const { clock } = this.#parts;
    // A Lease that another has taken by force is not to be kept by waiting.
    const waitMs = Math.min(this.#promisedUntil - clock.now(), term.until());
    if (waitMs > 0) await sleep(clock, waitMs, this.#acknowledged.signal);
    this.#term = undefined;
  };

  /** What the participant has observed. */
  readonly observe = ({ holder = '' }: ParticipantState): void => {
    if (holder === this.#holder) return;
    this.#holder = holder;
    this.#tell();
  };

  /** The program has ended what it led, or will not begin: nothing that it was told need run out. */
  acknowledge(): void {
    this.#acknowledged.abort();
  }

  /** What is so now. Whoever is told may rely on it for `validForMs`. */
  account(): LeaderAccount {
    const { clock, lease } = this.#parts;
    const identity = this.#parts.identity();
    const term = this.#term;
    const mayLeadMs = !term || term.signal.aborted ? 0 : term.until();
    if (term && mayLeadMs > 0) {
      const validForMs = Math.floor(Math.min(mayLeadMs, LONGEST_PROMISE_MS));
      this.#promisedUntil = Math.max(this.#promisedUntil, clock.now() + validForMs);
      return {
        lease,
        identity,
        holder: identity,
        leading: true,
        fencingToken: term.fencingToken,
        validForMs,
      };
    }
    // What was observed of this candidate itself is older than what its term says.
    const holder = this.#holder === identity ? '' : this.#holder;
    return { lease, identity, holder, leading: false, validForMs: 0 };
  }

  /** Calls `listener` whenever the account has changed otherwise than by time, until the returned function is called. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}
