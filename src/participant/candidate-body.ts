import { PRIORITY_ANNOTATION, PRIORITY_UNTIL_ANNOTATION } from '../coordination/candidate-priority.ts';
import { type CandidateApiVersion, sourceOf } from '../coordination/candidate-sources.ts';
import { ownersOf } from '../coordination/field-owner.ts';
import { PARTICIPANT_FIELD_MANAGER } from '../coordination/lease.ts';
import type { RequestBody } from '../coordination/lease-patch.ts';
import { formatMicroTime } from '../coordination/micro-time.ts';
import { PRIORITY_SET_BY_ANNOTATION } from '../coordination/priority-patch.ts';
import { annotationsOf, type RawObject, specOf, timeField } from '../coordination/raw-object.ts';
import type { MicroTime, PodReference } from '../election/model.ts';

/** What a program publishes of itself in its LeaseCandidate. */
export interface CandidateDescription {
  readonly namespace: string;
  /** Its identity. */
  readonly name: string;
  readonly leaseName: string;
  readonly binaryVersion: string;
  readonly emulationVersion: string;
  readonly strategy: string;
  /** An int32; 0 is none. */
  readonly priority: number;
  readonly labels: Readonly<Record<string, string>>;
  /** Its owner, in the same namespace and cluster. */
  readonly pod: PodReference | undefined;
}

/** The LeaseCandidate that a program creates. */
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

/**
 * The JSON merge patch by which a program makes a LeaseCandidate its own that was there before it, of a former life of its
 * or of a former version: it says the same as a new one, and is renewed.
 */
export function adoptionPatch(
  object: RawObject,
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

/** The JSON merge patch of a renewal, which answers the last ping as well. The uid: another object is another candidate. */
export function renewalPatch(object: RawObject, wallTime: MicroTime): RequestBody {
  const { uid } = object.metadata;
  return {
    metadata: uid === undefined ? {} : { uid },
    spec: { renewTime: formatMicroTime(renewTimeAfter(object, wallTime)) },
  };
}

/** By when somebody last asked for a sign of life; undefined: nobody has. */
export function pingTimeOf(object: RawObject): MicroTime | undefined {
  return timeField(specOf(object), 'pingTime');
}

/** Later than the ping, whatever our clock says; and unlike the last one, as others go by the change. */
function renewTimeAfter(object: RawObject, wallTime: MicroTime): MicroTime {
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

/** The native API drops what it does not know. */
function hasPriorityField(apiVersion: CandidateApiVersion): boolean {
  return sourceOf(apiVersion) === 'custom';
}

function priorityAnnotation({ priority }: CandidateDescription): RequestBody {
  return priority === 0 ? {} : { annotations: { [PRIORITY_ANNOTATION]: String(priority) } };
}

/** A drain or a transfer takes back what it has set by itself. */
function adoptedPriority(object: RawObject, description: CandidateDescription): RequestBody {
  if (annotationsOf(object)[PRIORITY_SET_BY_ANNOTATION] !== undefined) return {};
  if (description.priority !== 0) return priorityAnnotation(description);
  return isPriorityOfParticipant(object) ? { annotations: { [PRIORITY_ANNOTATION]: null } } : {};
}

/** Whether a participant alone has set the annotation, for good: with an end, it is somebody else's (rule 16). */
function isPriorityOfParticipant(object: RawObject): boolean {
  const owners = ownersOf(object, ['metadata', 'annotations', PRIORITY_ANNOTATION]);
  const hasEnd = annotationsOf(object)[PRIORITY_UNTIL_ANNOTATION] !== undefined;
  return !hasEnd && owners.length === 1 && owners[0] === PARTICIPANT_FIELD_MANAGER;
}

/** The server's garbage collection deletes it with its Pod. */
function ownerReferencesOf({ pod }: CandidateDescription): RequestBody {
  if (!pod) return {};
  return { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: pod.name, uid: pod.uid }] };
}
