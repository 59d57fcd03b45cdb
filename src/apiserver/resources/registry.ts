import type { LeaseCandidateVersion } from '../../coordination/lease-candidate-version.ts';
import type { ResourceDefinition } from './definition.ts';
import { coreEvents, events } from './events.ts';
import { leaseCandidates } from './lease-candidates.ts';
import { leases } from './leases.ts';
import { namespaces } from './namespaces.ts';

/**
 * Everything that is served. Without any version of LeaseCandidate elections are not coordinated, as with the real server's
 * feature gate off.
 */
export function createResources(options: {
  /** The preferred one first. */
  readonly leaseCandidateVersions: readonly LeaseCandidateVersion[];
}): readonly ResourceDefinition[] {
  const { leaseCandidateVersions } = options;
  const coordinated = leaseCandidateVersions.length > 0;
  return [
    namespaces,
    coreEvents,
    events,
    leases({ coordinated }),
    ...(coordinated ? [leaseCandidates(leaseCandidateVersions)] : []),
  ];
}
