import type { CandidateSource } from '../election/model.ts';
import { GROUP } from './group.ts';
import { type LeaseCandidateVersion, leaseCandidateVersions } from './lease-candidate-version.ts';

/** What an API server may serve LeaseCandidates as: group and version. */
export type CandidateApiVersion = `coordination.k8s.io/${LeaseCandidateVersion}` | `${typeof GROUP}/v1alpha1`;

/** What to look for in a server's discovery to find the LeaseCandidates of each source, the newest version first. */
export const candidateResources: Readonly<
  Record<CandidateSource, { readonly resource: string; readonly apiVersions: readonly CandidateApiVersion[] }>
> = {
  native: {
    resource: 'leasecandidates',
    apiVersions: leaseCandidateVersions.map((version) => `coordination.k8s.io/${version}` as const),
  },
  custom: { resource: 'leasecandidates', apiVersions: [`${GROUP}/v1alpha1`] },
};

/** Of two candidates with one name for one Lease, the one from the first of these counts (rule 13). */
export const candidateSources: readonly CandidateSource[] = ['native', 'custom'];
