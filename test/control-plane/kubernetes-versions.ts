import type { LeaseCandidateVersion } from '../../src/coordination/candidate-sources.ts';

/** The Kubernetes versions that a control plane supports, newest first. */
export const kubernetesVersions = ['1.36.3', '1.33.13', '1.32.13', '1.31.4'] as const;

/** One of {@link kubernetesVersions}. */
export type KubernetesVersion = (typeof kubernetesVersions)[number];

/** The default version of tests. */
export const defaultVersion: KubernetesVersion = '1.36.3';

/** Every version of the LeaseCandidate API that a Kubernetes version can serve, the storage version first. */
export const leaseCandidateVersions: Readonly<
  Record<KubernetesVersion, readonly [LeaseCandidateVersion, ...LeaseCandidateVersion[]]>
> = {
  '1.36.3': ['v1beta1', 'v1alpha2'],
  '1.33.13': ['v1beta1', 'v1alpha2'],
  '1.32.13': ['v1alpha2'],
  '1.31.4': ['v1alpha1'],
};

/** Whether `version` is one of {@link kubernetesVersions}. */
export function isKubernetesVersion(version: string): version is KubernetesVersion {
  return (kubernetesVersions as readonly string[]).includes(version);
}
