import { CUSTOM_API_VERSION, type ServedCandidates } from '../../coordination/candidate-sources.ts';
import { customCandidates } from './custom-candidates.ts';
import type { ResourceDefinition } from './definition.ts';
import { events } from './events.ts';
import { leaseCandidates } from './lease-candidates.ts';
import { leases } from './leases.ts';
import { namespaces } from './namespaces.ts';

/**
 * Returns all served resources. Without a LeaseCandidate version of coordination.k8s.io, elections are not coordinated,
 * as in kube-apiserver with the feature gate off.
 */
export function createResources(options: {
  /** Preferred version first. */
  readonly leaseCandidateVersions: readonly ServedCandidates[];
}): readonly ResourceDefinition[] {
  const { leaseCandidateVersions } = options;
  const nativeVersions = leaseCandidateVersions.filter((version) => version !== CUSTOM_API_VERSION);
  const coordinated = nativeVersions.length > 0;
  return [
    namespaces,
    events,
    leases({ coordinated }),
    ...(coordinated ? [leaseCandidates(nativeVersions)] : []),
    ...(leaseCandidateVersions.includes(CUSTOM_API_VERSION) ? [customCandidates()] : []),
  ];
}
