import type { HistoryEvent, Moment } from '../invariants/history.ts';
import { Invariants } from '../invariants/invariants.ts';

/** Something that must never happen, and did. */
export interface Violation {
  readonly at: Moment;
  readonly what: string;
}

export interface Verdict {
  readonly violations: readonly Violation[];
  /** What the controller built into kube-apiserver brought about while it was the coordinator: known, and not ours. */
  readonly ofBuiltIn: readonly Violation[];
}

/** A candidate that has said that it goes is collected after three pings that nobody answered over ten minutes (rule 1). */
const CANDIDATE_VALIDITY_MS = 600_000;
const ELECTION_DURATION_MS = 5000;

/** Looks at a history by the invariants of the simulation. All processes were of one machine, and their clocks are one. */
export function checkHistory(events: readonly HistoryEvent[]): Verdict {
  const invariants = new Invariants({
    candidateValidityMs: CANDIDATE_VALIDITY_MS,
    electionDurationMs: ELECTION_DURATION_MS,
    clockTolerance: 1,
  });
  /** By Lease: who has given it to its present holder. */
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
