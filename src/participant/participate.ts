import { Participant } from './participant.ts';
import type { ParticipateOptions } from './participate-options.ts';
import type { Lead } from './term.ts';

/**
 * Takes part in an election, and calls `lead` each time it is elected, until the options' signal aborts, or `lead` returns
 * or throws while its term lasts. Rejects with what `lead` threw, or with a RangeError where an option is not as it has to be.
 */
export async function participate(options: ParticipateOptions, lead: Lead): Promise<void> {
  await new Participant(options, lead).run();
}
