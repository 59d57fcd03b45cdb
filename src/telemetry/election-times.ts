import { unledSince } from '../controller/elections-survey.ts';
import type { Decision } from '../election/decision.ts';
import { grantOf, preferredBy } from '../election/decision-result.ts';
import { type ElectionInput, surveyTenure } from '../election/survey.ts';
import type { Instant } from '../election/time.ts';

/** How long the election that was just applied took, in milliseconds. */
export interface ElectionTimes {
  /** From when it was needed, and anybody could be elected, to the decision. */
  readonly needToDecisionMs: number;
  /** From the expiry of the Lease, or from when anybody could be elected after it; undefined when it did not expire. */
  readonly expiryToHolderMs: number | undefined;
}

interface Course {
  /** When it was last found that no election was needed, or none possible. */
  readonly restedAt: Instant | undefined;
  readonly neededSince: Instant | undefined;
  readonly decidedAt: Instant;
}

/** Follows elections from the need for them to their end, one course for each Lease. */
export function createElectionTimer() {
  const courses = new Map<string, Course>();
  return {
    decided(key: string, decision: Decision, input: ElectionInput, at: Instant): void {
      const { restedAt, neededSince } = courses.get(key) ?? {};
      const isOn = decision.reason === 'AwaitingAcks' || elects(decision);
      courses.set(
        key,
        isOn
          ? { restedAt, neededSince: neededSince ?? needSince(restedAt, input, at), decidedAt: at }
          : { restedAt: at, neededSince: undefined, decidedAt: at },
      );
    },
    /** Undefined when the decision elected nobody. */
    applied(key: string, decision: Decision, input: ElectionInput, at: Instant): ElectionTimes | undefined {
      const course = courses.get(key);
      if (!elects(decision) || !course) return undefined;
      courses.set(key, { restedAt: at, neededSince: undefined, decidedAt: at });
      const { restedAt, neededSince, decidedAt } = course;
      const expiredAt = decision.reason === 'LeaseExpired' ? vacantSince(input, decidedAt) : undefined;
      return {
        needToDecisionMs: decidedAt - (neededSince ?? decidedAt),
        expiryToHolderMs:
          expiredAt === undefined ? undefined : at - Math.max(expiredAt, restedAt ?? expiredAt),
      };
    },
    forgotten(key: string): void {
      courses.delete(key);
    },
  };
}

function elects(decision: Decision): boolean {
  return grantOf(decision) !== undefined || preferredBy(decision) !== undefined;
}

/** A Lease that this process has not decided on before may have been without candidates for hours. */
function needSince(restedAt: Instant | undefined, input: ElectionInput, at: Instant): Instant {
  return restedAt === undefined ? at : Math.max(restedAt, vacantSince(input, at) ?? at);
}

function vacantSince(input: ElectionInput, at: Instant): Instant | undefined {
  const tenure = surveyTenure(input, at);
  return tenure.kind === 'vacant' ? unledSince(input, tenure) : undefined;
}
