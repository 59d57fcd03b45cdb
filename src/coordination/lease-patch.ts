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

/** What a write sends: a JSON object, a merge patch where it changes something that exists. */
export type RequestBody = Readonly<Record<string, unknown>>;

/** The Lease that a CreateLease makes. */
export function newLease(
  namespace: string,
  name: string,
  { strategy, grant, notes }: CreateLease,
): RequestBody {
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { namespace, name, ...annotations(notes) },
    // "No holder" is always written out: the built-in controller relies on the field (rule 7).
    spec: grant ? { ...grantFields(grant), leaseTransitions: 0, strategy } : { holderIdentity: '', strategy },
  };
}

/** The JSON merge patch of an UpdateLease: only the fields it is about, so that whatever else is there survives. */
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
      return {
        ...grantFields({ ...change, holder: FENCE }),
        leaseTransitions: change.leaseTransitions,
      };
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
 * acquireTime and renewTime are the same, and stay so until the holder renews. A holder that gets back what it may still lead
 * by has acquired it a microsecond before: a coordinator that starts later must not take that for a grant which nobody leads by
 * (rule 12).
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

/** The JSON merge patch of a PingCandidate. */
export function pingPatch({ uid, resourceVersion, pingTime }: PingCandidate): RequestBody {
  return { metadata: { uid, resourceVersion }, spec: { pingTime: formatMicroTime(pingTime) } };
}
