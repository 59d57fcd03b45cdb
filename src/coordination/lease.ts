import { FENCE, GROUP, type Lease, type LeaseNotes } from '../election/model.ts';
import { withNotes } from '../election/notes.ts';
import type { KubernetesObject } from '../kubernetes/objects.ts';
import { isJsonObject, type JsonObject } from '../support/json.ts';
import {
  annotationsOf,
  commonText,
  integerField,
  keptText,
  specOf,
  textField,
  timeField,
} from './raw-object.ts';

/** The field manager of this controller's writes (metadata.managedFields). */
export const FIELD_MANAGER = 'coordinated-leader-election';

/** The field manager of writes by this project's participants. */
export const PARTICIPANT_FIELD_MANAGER = 'coordinated-leader-election-participant';

/** The annotation on a LeaseCandidate, a Lease or a Pod with the name of the leading program's container (rule 17). */
export const CONTAINER_ANNOTATION = `${GROUP}/container`;

/** The annotation on a Lease or a Namespace that asks for crash evidence about plain electors (rule 17). */
export const EVIDENCE_ANNOTATION = `${GROUP}/crash-evidence`;

/** Whether a Lease or a Namespace asks for crash evidence about plain electors. */
export function asksForEvidence(object: KubernetesObject): boolean {
  return textField(annotationsOf(object), EVIDENCE_ANNOTATION) === 'enabled';
}

/** The annotations for fields that the server drops (rule 14). */
export const NOTES = { strategy: `${GROUP}/strategy`, preferredHolder: `${GROUP}/preferred-holder` } as const;

/**
 * Decodes a Lease. Never throws: an invalid field counts as not set. The result shares unchanged strings with `previous`.
 */
export function decodeLease(object: KubernetesObject, previous?: Lease): Lease {
  const { metadata } = object;
  const spec = specOf(object);
  const managedFields = metadata['managedFields'];
  const holder = textField(spec, 'holderIdentity');
  const isHeld = Boolean(holder) && holder !== FENCE;
  const leadingContainer = textField(annotationsOf(object), CONTAINER_ANNOTATION) || undefined;
  const fields: Lease = {
    namespace: commonText(metadata.namespace ?? '', previous?.namespace),
    name: keptText(metadata.name, previous?.name),
    uid: keptText(metadata.uid ?? '', previous?.uid),
    resourceVersion: metadata.resourceVersion ?? '',
    holderIdentity: keptText(holder, previous?.holderIdentity),
    // client-go treats an empty preferredHolder as not set.
    preferredHolder: textField(spec, 'preferredHolder') || undefined,
    isPreferredHolderOurs: isOwned(managedFields, 'f:preferredHolder', FIELD_MANAGER),
    strategy: commonText(textField(spec, 'strategy'), previous?.strategy),
    leaseDurationSeconds: integerField(spec, 'leaseDurationSeconds'),
    leaseTransitions: integerField(spec, 'leaseTransitions') ?? 0,
    acquireTime: timeField(spec, 'acquireTime'),
    renewTime: timeField(spec, 'renewTime'),
    ...(isReleasedByParticipant(spec, managedFields) && { isReleasedByParticipant: true }),
    ...(isHeld &&
      isOwned(managedFields, 'f:renewTime', PARTICIPANT_FIELD_MANAGER) && { isRenewedByParticipant: true }),
    ...(isHeld && isUnrenewedGrant(spec, managedFields) && { isUnrenewedGrant: true }),
    ...(isDurationHolders(managedFields) && { isDurationHolders: true }),
    ...(isHeld &&
      areOfOne(managedFields, 'f:holderIdentity', 'f:acquireTime') && { isAcquireTimeHolders: true }),
    ...(isHeld && isAcquireTimeRenewers(managedFields) && { isAcquireTimeRenewers: true }),
    ...(leadingContainer !== undefined && { leadingContainer }),
    ...(asksForEvidence(object) && { asksForEvidence: true }),
  };
  return withNotes(fields, notesOn(object));
}

function isReleasedByParticipant(spec: JsonObject, managedFields: unknown): boolean {
  return (
    textField(spec, 'holderIdentity') === '' &&
    isOwned(managedFields, 'f:holderIdentity', PARTICIPANT_FIELD_MANAGER)
  );
}

/**
 * True if the holder has not renewed since the grant. A renewal changes renewTime, so renewTime then differs from
 * acquireTime. If the holder's clock gives the same renewTime, its renewal changes the duration or the ownership of one
 * of these fields.
 */
function isUnrenewedGrant(spec: JsonObject, managedFields: unknown): boolean {
  return (
    textField(spec, 'renewTime') !== undefined &&
    textField(spec, 'renewTime') === textField(spec, 'acquireTime') &&
    GRANTED_FIELDS.every(
      (field) =>
        isOwned(managedFields, field, FIELD_MANAGER) &&
        !isOwned(managedFields, field, undefined, FIELD_MANAGER),
    )
  );
}

const GRANTED_FIELDS = ['f:holderIdentity', 'f:renewTime', 'f:acquireTime', 'f:leaseDurationSeconds'];

function notesOn(object: KubernetesObject): LeaseNotes | undefined {
  const annotations = annotationsOf(object);
  const strategy = textField(annotations, NOTES.strategy) || undefined;
  const preferredHolder = textField(annotations, NOTES.preferredHolder) || undefined;
  return strategy === undefined && preferredHolder === undefined ? undefined : { strategy, preferredHolder };
}

function isDurationHolders(managedFields: unknown): boolean {
  return (
    isOwned(managedFields, 'f:leaseDurationSeconds', FIELD_MANAGER) ||
    areOfOne(managedFields, 'f:renewTime', 'f:leaseDurationSeconds')
  );
}

/** True if one manager owns both times, and this manager is not a coordinator of this program. */
function isAcquireTimeRenewers(managedFields: unknown): boolean {
  const isOurs = isOwned(managedFields, 'f:renewTime', FIELD_MANAGER);
  return !isOurs && areOfOne(managedFields, 'f:renewTime', 'f:acquireTime');
}

/** True if one manager owns both fields of the spec. */
function areOfOne(managedFields: unknown, one: string, other: string): boolean {
  return (
    Array.isArray(managedFields) &&
    managedFields.some((entry: unknown) => {
      const spec = specFieldsOf(entry);
      return spec !== undefined && one in spec && other in spec;
    })
  );
}

function specFieldsOf(entry: unknown): JsonObject | undefined {
  const fields = isJsonObject(entry) ? entry['fieldsV1'] : undefined;
  const spec = isJsonObject(fields) ? fields['f:spec'] : undefined;
  return isJsonObject(spec) ? spec : undefined;
}

/** True if `manager`, or any manager other than `except`, owns a field of the spec. */
export function isOwned(
  managedFields: unknown,
  field: string,
  manager: string | undefined,
  except?: string,
): boolean {
  if (!Array.isArray(managedFields)) return false;
  return managedFields.some((entry: unknown) => {
    if (!isJsonObject(entry) || entry['manager'] === except) return false;
    if (manager !== undefined && entry['manager'] !== manager) return false;
    const fields = entry['fieldsV1'];
    const spec = isJsonObject(fields) ? fields['f:spec'] : undefined;
    return isJsonObject(spec) && field in spec;
  });
}
