import { REASONS, type Reason, reasons } from '../election/reason.ts';
import { lossTexts, reasonTexts, stateTexts } from '../inspection/wording.ts';
import { isStep, troubleLevel } from '../telemetry/election-result.ts';
import type { HelloMessage, ReasonEntry } from './wire.ts';

/** What every word means that the page shows. */
export const catalogue: Pick<HelloMessage, 'reasons' | 'states' | 'losses'> = {
  reasons: Object.fromEntries(reasons.map((reason) => [reason, reasonEntry(reason)])) as Record<
    Reason,
    ReasonEntry
  >,
  states: stateTexts,
  losses: lossTexts,
};

function reasonEntry(reason: Reason): ReasonEntry {
  const { advice } = reasonTexts[reason];
  const trouble = troubleLevel(reason);
  return {
    meaning: REASONS[reason],
    ...(advice !== undefined && { advice }),
    ...(trouble !== undefined && { trouble }),
    ...(isStep(reason) && { isStep: true }),
  };
}
