import type { LeaseCandidateVersion } from './lease-candidate-version.ts';

const GROUP = '/apis/coordination.k8s.io';

/** Where an API server has Leases and LeaseCandidates; an empty namespace stands for all of them. */
export const resourcePaths = {
  leases: (namespace: string) => `${GROUP}/v1${inNamespace(namespace)}/leases`,
  lease: (namespace: string, name: string) =>
    `${resourcePaths.leases(namespace)}/${encodeURIComponent(name)}`,
  candidates: (version: LeaseCandidateVersion, namespace: string) =>
    `${GROUP}/${version}${inNamespace(namespace)}/leasecandidates`,
  candidate: (version: LeaseCandidateVersion, namespace: string, name: string) =>
    `${resourcePaths.candidates(version, namespace)}/${encodeURIComponent(name)}`,
};

function inNamespace(namespace: string): string {
  return namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
}
