import type { LeaseCandidate, PodReference, StrategyPreference } from '../election/model.ts';
import type { KubernetesObject } from '../kubernetes/objects.ts';
import type { JsonObject } from '../support/json.ts';
import { decodePriority } from './candidate-priority.ts';
import { sourceOf } from './candidate-sources.ts';
import { CONTAINER_ANNOTATION } from './lease.ts';
import {
  annotationsOf,
  commonText,
  keptText,
  objectsIn,
  specOf,
  textField,
  timeField,
} from './raw-object.ts';

/**
 * Decodes a LeaseCandidate of any version. In the custom resource, the default of emulationVersion is binaryVersion.
 * Never throws: an invalid field counts as not set. To save memory, the result shares unchanged strings with
 * `previous`, the former state of the candidate.
 */
export function decodeLeaseCandidate(object: KubernetesObject, previous?: LeaseCandidate): LeaseCandidate {
  const { metadata } = object;
  const spec = specOf(object);
  const source = sourceOf(textField(object, 'apiVersion'));
  const binaryVersion = commonText(textField(spec, 'binaryVersion'), previous?.binaryVersion);
  const emulationVersion =
    textField(spec, 'emulationVersion') ?? (source === 'custom' ? binaryVersion : undefined);
  // List the fields one by one: V8 stores spread properties outside of the object, which takes more memory.
  const candidate: LeaseCandidate = {
    source,
    namespace: commonText(metadata.namespace ?? '', previous?.namespace),
    name: keptText(metadata.name, previous?.name),
    uid: keptText(metadata.uid ?? '', previous?.uid),
    resourceVersion: metadata.resourceVersion ?? '',
    creationTimestamp: timeField(metadata, 'creationTimestamp'),
    isDeleting: textField(metadata, 'deletionTimestamp') !== undefined,
    leaseName: commonText(textField(spec, 'leaseName') ?? '', previous?.leaseName),
    binaryVersion,
    emulationVersion: commonText(emulationVersion, previous?.emulationVersion),
    preference: decodePreference(spec),
    priority: decodePriority(object),
    renewTime: timeField(spec, 'renewTime'),
    pingTime: timeField(spec, 'pingTime'),
  };
  const pod = podOf(metadata);
  const leadingContainer = textField(annotationsOf(object), CONTAINER_ANNOTATION) || undefined;
  if (!pod && leadingContainer === undefined) return candidate;
  return { ...candidate, ...(pod && { pod }), ...(leadingContainer !== undefined && { leadingContainer }) };
}

function podOf(metadata: JsonObject): PodReference | undefined {
  const pod = objectsIn(metadata, 'ownerReferences').find(
    ({ apiVersion, kind }) => apiVersion === 'v1' && kind === 'Pod',
  );
  const name = pod && textField(pod, 'name');
  const uid = pod && textField(pod, 'uid');
  return name !== undefined && uid !== undefined ? { name, uid } : undefined;
}

/** The last decoded strategy. Consecutive candidates with this strategy share the object, to save memory. */
let lastPreference: StrategyPreference & { readonly kind: 'strategy' } = { kind: 'strategy', strategy: '' };

function decodePreference(spec: JsonObject): StrategyPreference {
  const strategies = spec['preferredStrategies'];
  if (!Array.isArray(strategies)) {
    const strategy = textField(spec, 'strategy') ?? '';
    if (strategy !== lastPreference.strategy) lastPreference = { kind: 'strategy', strategy };
    return lastPreference;
  }
  return {
    kind: 'preferredStrategies',
    strategies: strategies.filter(
      (strategy): strategy is string => typeof strategy === 'string' && strategy !== '',
    ),
  };
}
