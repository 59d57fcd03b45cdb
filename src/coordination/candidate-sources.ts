import { type CandidateSource, GROUP } from '../election/model.ts';
import { type LeaseCandidateVersion, leaseCandidateVersions } from './lease-candidate-version.ts';

/** Group and version of the custom resource of this project. */
export const CUSTOM_API_VERSION = `${GROUP}/v1alpha1` as const;

/** What an API server may serve LeaseCandidates as: group and version. */
export type CandidateApiVersion = `coordination.k8s.io/${LeaseCandidateVersion}` | typeof CUSTOM_API_VERSION;

/** What a server of LeaseCandidates can be told to serve: the versions of the API server's own, and those of this project. */
export const servedCandidates = [...leaseCandidateVersions, CUSTOM_API_VERSION] as const;

/** One of {@link servedCandidates}. */
export type ServedCandidates = (typeof servedCandidates)[number];

/** What to look for in a server's discovery to find the LeaseCandidates of each source, the newest version first. */
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

/** Which source has LeaseCandidates of an `apiVersion`; without one, they are the API server's own. */
export function sourceOf(apiVersion: string | undefined): CandidateSource {
  return apiVersion?.startsWith(`${GROUP}/`) ? 'custom' : 'native';
}
