import { Participant } from './participant.ts';
import type { ParticipateOptions } from './participate-options.ts';
import type { Lead } from './term.ts';

/**
 * Takes part in an election, and calls `lead` each time it is elected, until the options' signal aborts, or `lead` returns
 * or throws while its term lasts.
 */
export function participate(options: ParticipateOptions, lead: Lead): Promise<void> {
  return new Participant(options, lead).run();
}
