import type { LeaseCandidate, StrategyPreference } from '../election/model.ts';
import { isJsonObject } from '../support/json.ts';
import { decodePriority } from './candidate-priority.ts';
import { sourceOf } from './candidate-sources.ts';
import { identityOf, type RawObject, specOf, textField, timeField } from './raw-object.ts';

/**
 * Reads a LeaseCandidate of any version, as its `apiVersion` tells. Of the API server's own, v1beta1 and v1alpha2 have
 * `strategy`, v1alpha1 has `preferredStrategies`; a custom one that names no emulationVersion emulates its binaryVersion.
 * Never throws: a field that cannot be read counts as one that is not set, and the election judges what is left.
 */
export function decodeLeaseCandidate(object: RawObject): LeaseCandidate {
  const { metadata } = object;
  const spec = specOf(object);
  const source = sourceOf(textField(object, 'apiVersion'));
  const binaryVersion = textField(spec, 'binaryVersion');
  return {
    source,
    ...identityOf(object),
    creationTimestamp: timeField(metadata, 'creationTimestamp'),
    isDeleting: textField(metadata, 'deletionTimestamp') !== undefined,
    leaseName: textField(spec, 'leaseName') ?? '',
    binaryVersion,
    emulationVersion:
      textField(spec, 'emulationVersion') ?? (source === 'custom' ? binaryVersion : undefined),
    preference: decodePreference(spec),
    priority: decodePriority(object),
    renewTime: timeField(spec, 'renewTime'),
    pingTime: timeField(spec, 'pingTime'),
    ...podOf(metadata['ownerReferences']),
  };
}

function podOf(owners: unknown): Pick<LeaseCandidate, 'pod'> {
  if (!Array.isArray(owners)) return {};
  const references = owners.filter((owner) => isJsonObject(owner));
  const pod = references.find((owner) => owner['apiVersion'] === 'v1' && owner['kind'] === 'Pod');
  const name = pod && textField(pod, 'name');
  const uid = pod && textField(pod, 'uid');
  return name !== undefined && uid !== undefined ? { pod: { name, uid } } : {};
}

function decodePreference(spec: Readonly<Record<string, unknown>>): StrategyPreference {
  const strategies = spec['preferredStrategies'];
  if (!Array.isArray(strategies)) return { kind: 'strategy', strategy: textField(spec, 'strategy') ?? '' };
  return {
    kind: 'preferredStrategies',
    strategies: strategies.filter(
      (strategy): strategy is string => typeof strategy === 'string' && strategy !== '',
    ),
  };
}
