import { unledSince } from '../controller/elections-survey.ts';
import type { Decision } from '../election/decision.ts';
import { grantOf, preferredBy } from '../election/decision-queries.ts';
import type { ElectionInput } from '../election/election-input.ts';
import { surveyTenure } from '../election/tenure.ts';
import type { Instant } from '../election/time.ts';

/** How long the election that was just applied took, in milliseconds. */
export interface ElectionTimes {
  /** From when it was needed, and anybody could be elected, to the decision. */
  readonly needToDecisionMs: number;
  /** From the expiry of the Lease, or from when anybody could be elected after it; undefined when it did not expire. */
  readonly expiryToHolderMs: number | undefined;
}

/** When it was last found that no election was needed, or none possible. */
export interface Rest {
  readonly at: Instant;
  /** True when nobody could have been elected then, had there been a need. */
  readonly isFruitless: boolean;
}

interface Course {
  readonly rest: Rest | undefined;
  readonly neededSince: Instant | undefined;
  readonly decidedAt: Instant;
}

/** Follows elections from the need for them to their end, one course for each Lease. */
export function createElectionTimer() {
  const courses = new Map<string, Course>();
  return {
    decided(key: string, decision: Decision, input: ElectionInput, at: Instant): void {
      const { rest, neededSince } = courses.get(key) ?? {};
      const isWaiting = decision.reason === 'AwaitingAcks' || decision.reason === 'FirstElectionSettling';
      const isOn = isWaiting || elects(decision);
      courses.set(
        key,
        isOn
          ? { rest, neededSince: neededSince ?? needSince(rest, input, at), decidedAt: at }
          : { rest: restAt(decision, input, at), neededSince: undefined, decidedAt: at },
      );
    },
    /** Undefined when the decision elected nobody. */
    applied(key: string, decision: Decision, input: ElectionInput, at: Instant): ElectionTimes | undefined {
      const course = courses.get(key);
      if (!elects(decision) || !course) return undefined;
      courses.set(key, { rest: { at, isFruitless: false }, neededSince: undefined, decidedAt: at });
      const { rest, neededSince = course.decidedAt, decidedAt } = course;
      const expiredAt = decision.reason === 'LeaseExpired' ? vacantSince(input, decidedAt) : undefined;
      return {
        needToDecisionMs: decidedAt - neededSince,
        // Before the expiry it may have been needed for another reason, as somebody better was there.
        expiryToHolderMs:
          expiredAt === undefined ? undefined : at - Math.max(expiredAt, rest ? neededSince : expiredAt),
      };
    },
    forgotten(key: string): void {
      courses.delete(key);
    },
    /** Somebody else decides from now on: what was on ends unseen. */
    standDown(): void {
      courses.clear();
    },
  };
}

function elects(decision: Decision): boolean {
  return grantOf(decision) !== undefined || preferredBy(decision) !== undefined;
}

/** How a Lease rests, once it was found at `at` that no election is needed, or none possible. */
export function restAt({ reason }: Decision, input: ElectionInput, at: Instant): Rest {
  return { at, isFruitless: reason === 'NoCandidates' || surveyTenure(input, at).kind === 'vacant' };
}

/**
 * Since when the election that is found at `at` to be needed has been needed, and possible. A Lease that this process has
 * not decided on before may have been without candidates for hours, as may one that nobody could be elected for.
 */
export function needSince(rest: Rest | undefined, input: ElectionInput, at: Instant): Instant {
  return rest === undefined || rest.isFruitless ? at : Math.max(rest.at, vacantSince(input, at) ?? at);
}

function vacantSince(input: ElectionInput, at: Instant): Instant | undefined {
  return unledSince(input, surveyTenure(input, at));
}
