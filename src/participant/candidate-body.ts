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
  /** An int32. 0 means no priority. */
  readonly priority: number;
  readonly labels: Readonly<Record<string, string>>;
  /** The owner of the LeaseCandidate, in the same namespace and cluster. */
  readonly pod: PodReference | undefined;
}

export function newLeaseCandidate(
  apiVersion: CandidateApiVersion,
  description: CandidateDescription,
  wallTime: MicroTime,
): RequestBody {
  const { namespace, name, labels, leaseName } = description;
  return {
    apiVersion,
    kind: 'LeaseCandidate',
    metadata: {
      namespace,
      name,
      labels,
      ...ownerReferencesOf(description),
      ...(hasPriorityField(apiVersion) ? {} : priorityAnnotation(description)),
    },
    spec: {
      leaseName,
      ...declaredFields(apiVersion, description),
      renewTime: formatMicroTime(wallTime),
    },
  };
}

/** Returns the patch that renews a LeaseCandidate of an earlier run and gives it the fields of a new one. */
export function adoptionPatch(
  object: KubernetesObject,
  apiVersion: CandidateApiVersion,
  description: CandidateDescription,
  wallTime: MicroTime,
): RequestBody {
  const renewal = renewalPatch(object, wallTime);
  return {
    metadata: {
      ...(renewal['metadata'] as object),
      labels: description.labels,
      ...ownerReferencesOf(description),
      ...(hasPriorityField(apiVersion) ? {} : adoptedPriority(object, description)),
    },
    spec: { ...(renewal['spec'] as object), ...declaredFields(apiVersion, description) },
  };
}

/**
 * Returns the JSON merge patch of a renewal, which also answers the last ping. Because of the uid, it fails on a
 * re-created object.
 */
export function renewalPatch(object: KubernetesObject, wallTime: MicroTime): RequestBody {
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
 * Returns a time after the ping, even if the local clock is behind. It differs from the last renewTime, because a renewal
 * must change it.
 */
function renewTimeAfter(object: KubernetesObject, wallTime: MicroTime): MicroTime {
  const pingTime = pingTimeOf(object);
  const time = pingTime !== undefined && pingTime >= wallTime ? pingTime + 1n : wallTime;
  return time === timeField(specOf(object), 'renewTime') ? time + 1n : time;
}

function declaredFields(
  apiVersion: CandidateApiVersion,
  { binaryVersion, emulationVersion, strategy, priority }: CandidateDescription,
): RequestBody {
  const declared = { binaryVersion, emulationVersion, strategy };
  return hasPriorityField(apiVersion) ? { ...declared, priority } : declared;
}

/** The native API drops unknown fields, so the priority must be an annotation. */
function hasPriorityField(apiVersion: CandidateApiVersion): boolean {
  return sourceOf(apiVersion) === 'custom';
}

function priorityAnnotation({ priority }: CandidateDescription): RequestBody {
  return priority === 0 ? {} : { annotations: { [PRIORITY_ANNOTATION]: String(priority) } };
}

/** Keeps a priority that a drain or a transfer has set: these commands remove it themselves. */
function adoptedPriority(object: KubernetesObject, description: CandidateDescription): RequestBody {
  if (annotationsOf(object)[PRIORITY_SET_BY_ANNOTATION] !== undefined) return {};
  if (description.priority !== 0) return priorityAnnotation(description);
  return isPriorityOfParticipant(object) ? { annotations: { [PRIORITY_ANNOTATION]: null } } : {};
}

/**
 * Returns whether only participants have written the priority. If the priority has an end, another client has written it:
 * a participant never sets an end (rule 16).
 */
function isPriorityOfParticipant(object: KubernetesObject): boolean {
  const owners = ownersOf(object, ['metadata', 'annotations', PRIORITY_ANNOTATION]);
  const hasEnd = annotationsOf(object)[PRIORITY_UNTIL_ANNOTATION] !== undefined;
  return !hasEnd && owners.length === 1 && owners[0] === PARTICIPANT_FIELD_MANAGER;
}

/** With this reference, the garbage collector deletes the LeaseCandidate together with its Pod. */
function ownerReferencesOf({ pod }: CandidateDescription): RequestBody {
  if (!pod) return {};
  return { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: pod.name, uid: pod.uid }] };
}
