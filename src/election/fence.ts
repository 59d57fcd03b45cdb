import { updateLease } from './actions.ts';
import { reservationFor } from './beliefs.ts';
import type { LeaseChange } from './decision.ts';
import { transitionsTo } from './grant.ts';
import { FENCE } from './group.ts';
import { blockingBeliefs, expiryOf } from './lease-memory.ts';
import type { Standing } from './standing.ts';
import type { Verdict } from './verdict.ts';
import type { HeldView } from './view.ts';

/**
 * A holder that goes on renewing for two electionDurations after a note has asked it to give way knows nothing of notes; and
 * where the server drops the field, it cannot be told otherwise: it is fenced (rule 14).
 */
export function decideUnaware(view: HeldView, preferred: Standing, strategy: string): Verdict | undefined {
  const { input, tenure } = view;
  const { memory, settings, dropsFields } = input;
  const { noted, record } = memory;
  const isUnaware =
    noted !== undefined &&
    record !== undefined &&
    record.renewTime !== noted.renewTime &&
    record.since >= noted.since + 2 * settings.electionDurationMs;
  if (!isUnaware || !preferred.isAlive) return undefined;
  if (dropsFields)
    return { reason: 'HolderUnaware', actions: [updateLease(input, tenure.lease, fence(view))] };
  // The note may be a former coordinator's: the server may keep the field by now.
  const preferredHolder = preferred.candidate.name;
  return {
    reason: 'BetterCandidate',
    actions: [updateLease(input, tenure.lease, { kind: 'prefer', preferredHolder, strategy })],
  };
}

/** To every elector the Lease is somebody else's, until later than anybody can believe in it who has held it before. */
function fence({ at, now, input, tenure: { lease } }: HeldView): LeaseChange {
  const { record } = input.memory;
  const believedUntil = Math.max(
    expiryOf(input.memory),
    reservationFor(blockingBeliefs(input.memory), at)?.until ?? at,
  );
  return {
    kind: 'fence',
    renewTime: now.wall,
    leaseDurationSeconds: Math.ceil(Math.max(record?.durationMs ?? 0, believedUntil - at) / 1000),
    leaseTransitions: transitionsTo(FENCE, lease),
  };
}
