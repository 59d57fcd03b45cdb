import type { ParticipantState } from './participant-state.ts';
import type { ParticipateOptions } from './participate-options.ts';
import type { Lead } from './term.ts';

/** A candidate and an elector under one identity, below {@link participate}. */
export class Participant {
  /** @throws RangeError when an option is not as it has to be. */
  constructor(_options: ParticipateOptions, _lead: Lead) {
    throw new Error('not yet');
  }

  /** Of its LeaseCandidate, and as a holder. */
  get identity(): string {
    throw new Error('not yet');
  }

  get state(): ParticipantState {
    throw new Error('not yet');
  }

  /**
   * Takes part until `signal`, or that of the options, aborts, or the callback returns or throws. Resolves, or rejects with
   * what it threw, once the Lease is released and the LeaseCandidate deleted. Once only.
   */
  run(_signal?: AbortSignal): Promise<void> {
    throw new Error('not yet');
  }

  /** Ends the term and releases the Lease; resolves then. It goes on standing: others are elected first. */
  resign(): Promise<void> {
    throw new Error('not yet');
  }

  /** Resigns and deletes the LeaseCandidate; resolves then. `run` goes on; it stays so until {@link Participant.stand}. */
  withdraw(): Promise<void> {
    throw new Error('not yet');
  }

  /** Publishes the LeaseCandidate again after {@link Participant.withdraw}. */
  stand(): void {
    throw new Error('not yet');
  }
}
