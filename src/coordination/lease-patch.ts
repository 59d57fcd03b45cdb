import type {
  CreateLease,
  LeaseChange,
  NotesChange,
  PingCandidate,
  UpdateLease,
} from '../election/decision.ts';
import type { Grant } from '../election/lease-memory.ts';
import { FENCE } from '../election/model.ts';
import { NOTES } from './lease.ts';
import { formatMicroTime } from './micro-time.ts';

/** The body of a write: a new object, or a merge patch for an existing object. */
export type RequestBody = Readonly<Record<string, unknown>>;

export function newLease(
  namespace: string,
  name: string,
  { strategy, grant, notes }: CreateLease,
): RequestBody {
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { namespace, name, ...annotations(notes) },
    // For "no holder", write an empty holderIdentity, because the built-in requires the field (rule 7).
    spec: grant ? { ...grantFields(grant), leaseTransitions: 0, strategy } : { holderIdentity: '', strategy },
  };
}

/** Returns the JSON merge patch of an UpdateLease. The server keeps all fields that the patch does not contain. */
export function leasePatch({ uid, resourceVersion, change, notes }: UpdateLease): RequestBody {
  return { metadata: { uid, resourceVersion, ...annotations(notes) }, spec: changedFields(change) };
}

function changedFields(change: LeaseChange): RequestBody {
  switch (change.kind) {
    case 'grant':
      return {
        ...grantFields(change.grant),
        leaseTransitions: change.leaseTransitions,
        strategy: change.strategy,
        preferredHolder: null,
      };
    case 'prefer':
      return { preferredHolder: change.preferredHolder, strategy: change.strategy };
    case 'fence':
      return { ...grantFields({ ...change, holder: FENCE }), leaseTransitions: change.leaseTransitions };
    case 'release':
      return grantFields({ holder: '', renewTime: change.renewTime, leaseDurationSeconds: 1 });
    case 'clearPreferredHolder':
      return { preferredHolder: null };
    case 'strategy':
      return {
        strategy: change.strategy,
        ...(change.isHolderAbsent && { holderIdentity: '' }),
        ...(change.removesPreferredHolder && { preferredHolder: null }),
      };
  }
}

/**
 * Returns the fields of a grant, a fence (rule 14) or a release. In a grant, equal acquireTime and renewTime show that
 * the holder has not renewed and does not lead yet (rule 12). With `isReturn`, the two times differ, because the Lease
 * goes back to a holder that may still lead.
 */
function grantFields({
  holder,
  renewTime,
  leaseDurationSeconds,
  isReturn,
}: Pick<Grant, 'holder' | 'renewTime' | 'leaseDurationSeconds' | 'isReturn'>): RequestBody {
  return {
    holderIdentity: holder,
    leaseDurationSeconds,
    acquireTime: formatMicroTime(isReturn ? renewTime - 1n : renewTime),
    renewTime: formatMicroTime(renewTime),
  };
}

function annotations(notes: NotesChange | undefined): RequestBody {
  if (!notes) return {};
  const values = Object.entries(notes).map(([note, value]) => [NOTES[note as keyof typeof NOTES], value]);
  return { annotations: Object.fromEntries(values) };
}

export function pingPatch({ uid, resourceVersion, pingTime }: PingCandidate): RequestBody {
  return { metadata: { uid, resourceVersion }, spec: { pingTime: formatMicroTime(pingTime) } };
}
