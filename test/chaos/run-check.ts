import type { HistoryEvent, Moment } from '../invariants/history.ts';
import { Invariants } from '../invariants/invariants.ts';

/** A violation of an invariant. */
export interface Violation {
  readonly at: Moment;
  readonly what: string;
}

export interface Verdict {
  readonly violations: readonly Violation[];
  /**
   * A violation that the controller built into kube-apiserver caused while it was the coordinator: known, and not
   * ours.
   */
  readonly ofBuiltIn: readonly Violation[];
}

/** A candidate that has announced its end is deleted after three unanswered pings within ten minutes (rule 1). */
const CANDIDATE_VALIDITY_MS = 600_000;
const ELECTION_DURATION_MS = 5000;

/** Checks a history with the invariants of the simulation. All processes ran on one machine and share its clock. */
export function checkHistory(events: readonly HistoryEvent[]): Verdict {
  const invariants = new Invariants({
    candidateValidityMs: CANDIDATE_VALIDITY_MS,
    electionDurationMs: ELECTION_DURATION_MS,
    clockTolerance: 1,
  });
  /** By Lease: who has granted it to its present holder. */
  const givers = new Map<string, 'builtIn' | 'coordinator' | 'other'>();
  const violations: Violation[] = [];
  const ofBuiltIn: Violation[] = [];
  for (const event of events) {
    if (event.kind === 'lease' && event.after && event.after.holder !== (event.before?.holder ?? '')) {
      const { kind } = event.writer;
      if (event.after.holder !== '') givers.set(event.key, kind === 'candidate' ? 'other' : kind);
    }
    const isOfBuiltIn = 'key' in event && givers.get(event.key) === 'builtIn';
    for (const what of invariants.observe(event)) {
      (isOfBuiltIn ? ofBuiltIn : violations).push({ at: event.at, what });
    }
  }
  return { violations, ofBuiltIn };
}
