import type { LeaseCandidate, StrategyPreference } from '../election/model.ts';
import { identityOf, type RawObject, specOf, textField, timeField } from './raw-object.ts';

/**
 * Reads a LeaseCandidate of any version: v1beta1 and v1alpha2 have `strategy`, v1alpha1 has `preferredStrategies`. Never
 * throws: a field that cannot be read counts as one that is not set, and the election judges what is left.
 */
export function decodeLeaseCandidate(object: RawObject): LeaseCandidate {
  const { metadata } = object;
  const spec = specOf(object);
  return {
    ...identityOf(object),
    creationTimestamp: timeField(metadata, 'creationTimestamp'),
    isDeleting: textField(metadata, 'deletionTimestamp') !== undefined,
    leaseName: textField(spec, 'leaseName') ?? '',
    binaryVersion: textField(spec, 'binaryVersion'),
    emulationVersion: textField(spec, 'emulationVersion'),
    preference: decodePreference(spec),
    renewTime: timeField(spec, 'renewTime'),
    pingTime: timeField(spec, 'pingTime'),
  };
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
