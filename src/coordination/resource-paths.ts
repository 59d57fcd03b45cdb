import type { CandidateApiVersion } from './candidate-sources.ts';

const LEASES = '/apis/coordination.k8s.io/v1';

/** The paths of Leases, LeaseCandidates, Pods and Namespaces; an empty namespace means all namespaces. */
export const resourcePaths = {
  /** The list of resources in the API group of Leases. Every authenticated user may read it. */
  leaseApi: LEASES,
  leases: (namespace: string) => `${LEASES}${inNamespace(namespace)}/leases`,
  lease: (namespace: string, name: string) =>
    `${resourcePaths.leases(namespace)}/${encodeURIComponent(name)}`,
  candidates: (apiVersion: CandidateApiVersion, namespace: string) =>
    `/apis/${apiVersion}${inNamespace(namespace)}/leasecandidates`,
  candidate: (apiVersion: CandidateApiVersion, namespace: string, name: string) =>
    `${resourcePaths.candidates(apiVersion, namespace)}/${encodeURIComponent(name)}`,
  pods: (namespace: string) => `/api/v1${inNamespace(namespace)}/pods`,
  namespaces: '/api/v1/namespaces',
  pod: (namespace: string, name: string) => `${resourcePaths.pods(namespace)}/${encodeURIComponent(name)}`,
};

function inNamespace(namespace: string): string {
  return namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
}

/** Returns the namespaces to watch. If `namespaces` is empty, returns only '', which stands for all namespaces. */
export function watchedNamespaces(namespaces: readonly string[]): readonly string[] {
  return namespaces.length === 0 ? [''] : namespaces;
}
