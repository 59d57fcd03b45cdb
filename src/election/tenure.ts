import { type Reservation, reservationFor } from './beliefs.ts';
import { isSilent } from './candidate-observation.ts';
import type { ElectionInput } from './election-input.ts';
import { FENCE } from './group.ts';
import { blockingBeliefs, expiryOf, isProvisional } from './lease-memory.ts';
import type { Lease } from './model.ts';
import type { Instant } from './time.ts';

/** Whose the Lease is. */
export type Tenure =
  | {
      readonly kind: 'held';
      readonly lease: Lease;
      readonly holder: string;
      /** From when the holder has missed so many renewals that successors are pinged (rule 6). */
      readonly lateAt: Instant;
      readonly expiresAt: Instant;
      /** True while nobody leads yet, by a grant of ours that its holder has still to take up (rule 12). */
      readonly isProvisional: boolean;
    }
  | {
      readonly kind: 'vacant';
      /**
       * LeaseFenced: nobody holds it, but for a while its former holder may still believe that it does (rule 14).
       * GrantRevised: our grant still stands, but its holder is gone or silent and has never taken it up (rule 12).
       */
      readonly need: 'LeaseMissing' | 'LeaseExpired' | 'LeaseReleased' | 'LeaseFenced' | 'GrantRevised';
      readonly lease: Lease | undefined;
      /** Set while a former holder may still believe that the Lease is its own (rule 8). */
      readonly reservation: Reservation | undefined;
    };

/** So long before an expiry successors are asked, in milliseconds: time for three waves of pings (rule 6). */
const ASK_AHEAD_MS = 3000;

/** Whose the Lease is at `at`, judged only by what this process has seen of it and when. */
export function surveyTenure(input: ElectionInput, at: Instant): Tenure {
  const { lease, memory, settings } = input;
  const { record } = memory;
  const reservation = reservationFor(blockingBeliefs(memory), at);
  if (!lease) return { kind: 'vacant', need: 'LeaseMissing', lease, reservation };
  if (!record || record.holder === '') return { kind: 'vacant', need: 'LeaseReleased', lease, reservation };
  const expiresAt = expiryOf(memory);
  if (at >= expiresAt) return { kind: 'vacant', need: 'LeaseExpired', lease, reservation };
  if (record.holder === FENCE) {
    const { since: from } = record;
    const nobodys = { holder: undefined, from, until: expiresAt, othersUntil: expiresAt };
    return { kind: 'vacant', need: 'LeaseFenced', lease, reservation: nobodys };
  }
  const isProvisionalNow = isProvisional(memory, lease, at);
  if (isProvisionalNow && isGranteeLost(input, record.holder, at)) {
    return { kind: 'vacant', need: 'GrantRevised', lease, reservation };
  }
  const aheadMs = Math.min(ASK_AHEAD_MS, settings.electionDurationMs);
  const lateAt = Math.max(record.since + (record.durationMs * 2) / 3, expiresAt - aheadMs);
  return {
    kind: 'held',
    lease,
    holder: record.holder,
    lateAt,
    expiresAt,
    isProvisional: isProvisionalNow,
  };
}

/** Whether the holder of a grant that nobody has taken up yet is gone, or does not answer. */
function isGranteeLost({ candidates, settings }: ElectionInput, holder: string, at: Instant): boolean {
  const grantee = candidates.find(({ candidate }) => candidate.name === holder);
  if (!grantee || grantee.candidate.isDeleting) return true;
  return isSilent(grantee.observation, at, settings);
}

/** Whether an election is about this Lease or was, candidates or not: it names a strategy or a preferredHolder. */
export function showsElection(lease: Lease | undefined): boolean {
  return lease?.strategy !== undefined || lease?.preferredHolder !== undefined;
}
