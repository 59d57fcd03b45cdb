import { type CandidateSource, GROUP } from '../election/model.ts';

/** All versions of the LeaseCandidate in the API server's own group, newest first. */
const leaseCandidateVersions = ['v1beta1', 'v1alpha2', 'v1alpha1'] as const;

export type LeaseCandidateVersion = (typeof leaseCandidateVersions)[number];

/** Group and version of this project's LeaseCandidate, a custom resource. */
export const CUSTOM_API_VERSION = `${GROUP}/v1alpha1` as const;

/** A group with a version in which an API server may serve LeaseCandidates. */
export type CandidateApiVersion = `coordination.k8s.io/${LeaseCandidateVersion}` | typeof CUSTOM_API_VERSION;

/** The versions of LeaseCandidates that the embedded API server (`src/apiserver`) can serve. */
export const servedCandidates = [...leaseCandidateVersions, CUSTOM_API_VERSION] as const;

export type ServedCandidates = (typeof servedCandidates)[number];

/** For each source of candidates: the name of the resource, and the versions that discovery looks for, newest first. */
export const candidateResources: Readonly<
  Record<CandidateSource, { readonly resource: string; readonly apiVersions: readonly CandidateApiVersion[] }>
> = {
  native: {
    resource: 'leasecandidates',
    apiVersions: leaseCandidateVersions.map((version) => `coordination.k8s.io/${version}` as const),
  },
  custom: { resource: 'leasecandidates', apiVersions: [CUSTOM_API_VERSION] },
};

export const candidateSources: readonly CandidateSource[] = ['native', 'custom'];

/**
 * Returns the source of a LeaseCandidate with this `apiVersion`. A LeaseCandidate without an `apiVersion` is native: it
 * comes from a list, in which the server omits the `apiVersion` of native objects.
 */
export function sourceOf(apiVersion: string | undefined): CandidateSource {
  return apiVersion?.startsWith(`${GROUP}/`) ? 'custom' : 'native';
}
