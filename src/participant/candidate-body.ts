import { PRIORITY_ANNOTATION, PRIORITY_UNTIL_ANNOTATION } from '../coordination/candidate-priority.ts';
import { type CandidateApiVersion, sourceOf } from '../coordination/candidate-sources.ts';
import { PARTICIPANT_FIELD_MANAGER } from '../coordination/lease.ts';
import type { RequestBody } from '../coordination/lease-patch.ts';
import { formatMicroTime } from '../coordination/micro-time.ts';
import { PRIORITY_SET_BY_ANNOTATION } from '../coordination/priority-patch.ts';
import { annotationsOf, ownersOf, specOf, timeField } from '../coordination/raw-object.ts';
import type { MicroTime, PodReference } from '../election/model.ts';
import type { KubernetesObject } from '../kubernetes/objects.ts';

export interface CandidateDescription {
  readonly namespace: string;
  readonly name: string;
  readonly leaseName: string;
  readonly binaryVersion: string;
  readonly emulationVersion: string;
  readonly strategy: string;
  /** An int32; 0 unless the user sets a priority. */
  readonly priority: number;
  readonly labels: Readonly<Record<string, string>>;
  /** The LeaseCandidate's owner, in the same namespace and cluster; undefined if there is no owner. */
  readonly pod: PodReference | undefined;
}

export function newLeaseCandidate(
  apiVersion: CandidateApiVersion,
  description: CandidateDescription,
  wallTime: MicroTime,
): RequestBody {
  const { namespace, name, leaseName } = description;
  const { metadata, spec } = declaredFields(apiVersion, description);
  return {
    apiVersion,
    kind: 'LeaseCandidate',
    metadata: { namespace, name, ...metadata },
    spec: { leaseName, ...spec, renewTime: formatMicroTime(wallTime) },
  };
}

/**
 * Returns the patch with which this process takes over an existing LeaseCandidate. The patch renews the LeaseCandidate
 * and writes the fields that describe this program.
 */
export function adoptionPatch(
  object: KubernetesObject,
  apiVersion: CandidateApiVersion,
  description: CandidateDescription,
  wallTime: MicroTime,
): RequestBody {
  const renewal = renewalPatch(object, wallTime);
  const declared = declaredFields(apiVersion, description, object);
  return {
    metadata: { ...renewal.metadata, ...declared.metadata },
    spec: { ...renewal.spec, ...declared.spec },
  };
}

/**
 * Returns the patch that renews the LeaseCandidate and answers its last ping. The patch contains the uid: if the
 * LeaseCandidate was deleted and created again, the API server rejects the patch.
 */
export function renewalPatch(object: KubernetesObject, wallTime: MicroTime) {
  const { uid } = object.metadata;
  return {
    metadata: uid === undefined ? {} : { uid },
    spec: { renewTime: formatMicroTime(renewTimeAfter(object, wallTime)) },
  };
}

export function pingTimeOf(object: KubernetesObject): MicroTime | undefined {
  return timeField(specOf(object), 'pingTime');
}

/**
 * Returns the new renewTime: the wall-clock time, or 1 µs after pingTime if this machine's clock is not later than
 * pingTime. Adds 1 µs to a result that equals the last renewTime, so that the coordinator sees a renewal.
 */
function renewTimeAfter(object: KubernetesObject, wallTime: MicroTime): MicroTime {
  const pingTime = pingTimeOf(object);
  const time = pingTime !== undefined && pingTime >= wallTime ? pingTime + 1n : wallTime;
  return time === timeField(specOf(object), 'renewTime') ? time + 1n : time;
}

/** Returns the fields that describe this program. `adopted` is the LeaseCandidate to take over, if there is one. */
function declaredFields(
  apiVersion: CandidateApiVersion,
  { binaryVersion, emulationVersion, strategy, priority, labels, pod }: CandidateDescription,
  adopted?: KubernetesObject,
) {
  // The native LeaseCandidate (`coordination.k8s.io`) has no field for the priority, so the priority must be an annotation.
  const hasPriorityField = sourceOf(apiVersion) === 'custom';
  return {
    metadata: {
      labels,
      // With this reference, the garbage collector deletes the LeaseCandidate together with its Pod.
      ...(pod && { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', ...pod }] }),
      ...(!hasPriorityField && priorityAnnotation(priority, adopted)),
    },
    spec: { binaryVersion, emulationVersion, strategy, ...(hasPriorityField && { priority }) },
  };
}

/**
 * Returns the patch of the priority annotation. The patch is empty if `drain` or `transfer` has set the priority.
 * Otherwise, if `priority` is not 0, the patch sets the annotation. If `priority` is 0, the patch removes an annotation
 * that only participants have set, and keeps any other.
 */
function priorityAnnotation(priority: number, adopted: KubernetesObject | undefined): RequestBody {
  if (adopted && annotationsOf(adopted)[PRIORITY_SET_BY_ANNOTATION] !== undefined) return {};
  if (priority !== 0) return { annotations: { [PRIORITY_ANNOTATION]: String(priority) } };
  return adopted && isPriorityOfParticipant(adopted) ? { annotations: { [PRIORITY_ANNOTATION]: null } } : {};
}

/**
 * Returns whether only participants have set the priority: they alone own its annotation, and the priority has no end.
 * An end (`priority-until`) comes from another client, because a participant never sets an end (rule 16).
 */
function isPriorityOfParticipant(object: KubernetesObject): boolean {
  const owners = ownersOf(object, ['metadata', 'annotations', PRIORITY_ANNOTATION]);
  const hasEnd = annotationsOf(object)[PRIORITY_UNTIL_ANNOTATION] !== undefined;
  return !hasEnd && owners.length === 1 && owners[0] === PARTICIPANT_FIELD_MANAGER;
}
