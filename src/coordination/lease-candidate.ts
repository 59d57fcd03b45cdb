import type { LeaseCandidate, PodReference, StrategyPreference } from '../election/model.ts';
import { isJsonObject } from '../support/json.ts';
import { decodePriority } from './candidate-priority.ts';
import { sourceOf } from './candidate-sources.ts';
import { commonText, keptText, type RawObject, specOf, textField, timeField } from './raw-object.ts';

/**
 * Reads a LeaseCandidate of any version, as its `apiVersion` tells. Of the API server's own, v1beta1 and v1alpha2 have
 * `strategy`, v1alpha1 has `preferredStrategies`; a custom one that names no emulationVersion emulates its binaryVersion.
 * Never throws: a field that cannot be read counts as one that is not set, and the election judges what is left.
 * `previous` is its state before: texts that have not changed are then not kept twice.
 */
export function decodeLeaseCandidate(object: RawObject, previous?: LeaseCandidate): LeaseCandidate {
  const { metadata } = object;
  const spec = specOf(object);
  const source = sourceOf(textField(object, 'apiVersion'));
  const binaryVersion = commonText(textField(spec, 'binaryVersion'), previous?.binaryVersion);
  const emulationVersion =
    textField(spec, 'emulationVersion') ?? (source === 'custom' ? binaryVersion : undefined);
  // Written out field by field: V8 keeps what is spread into an object outside of it, which takes more memory.
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
  const pod = podOf(metadata['ownerReferences']);
  return pod ? { ...candidate, pod } : candidate;
}

function podOf(owners: unknown): PodReference | undefined {
  if (!Array.isArray(owners)) return undefined;
  const references = owners.filter((owner) => isJsonObject(owner));
  const pod = references.find((owner) => owner['apiVersion'] === 'v1' && owner['kind'] === 'Pod');
  const name = pod && textField(pod, 'name');
  const uid = pod && textField(pod, 'uid');
  return name !== undefined && uid !== undefined ? { name, uid } : undefined;
}

/** Of most candidates it is the same. */
let lastPreference: StrategyPreference & { readonly kind: 'strategy' } = { kind: 'strategy', strategy: '' };

function decodePreference(spec: Readonly<Record<string, unknown>>): StrategyPreference {
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
