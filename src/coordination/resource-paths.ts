import type { CandidateApiVersion } from './candidate-sources.ts';

const LEASES = '/apis/coordination.k8s.io/v1';

/** Where an API server has Leases, LeaseCandidates and Pods; an empty namespace stands for all of them. */
export const resourcePaths = {
  /** What there is beside Leases in their group, which everybody who has logged in may read. */
  leaseApi: LEASES,
  leases: (namespace: string) => `${LEASES}${inNamespace(namespace)}/leases`,
  lease: (namespace: string, name: string) =>
    `${resourcePaths.leases(namespace)}/${encodeURIComponent(name)}`,
  candidates: (apiVersion: CandidateApiVersion, namespace: string) =>
    `/apis/${apiVersion}${inNamespace(namespace)}/leasecandidates`,
  candidate: (apiVersion: CandidateApiVersion, namespace: string, name: string) =>
    `${resourcePaths.candidates(apiVersion, namespace)}/${encodeURIComponent(name)}`,
  pods: (namespace: string) => `/api/v1${inNamespace(namespace)}/pods`,
  pod: (namespace: string, name: string) => `${resourcePaths.pods(namespace)}/${encodeURIComponent(name)}`,
};

function inNamespace(namespace: string): string {
  return namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
}

/** What is watched where `namespaces` are asked for: none are all, which is ''. */
export function watchedNamespaces(namespaces: readonly string[]): readonly string[] {
  return namespaces.length === 0 ? [''] : namespaces;
}
