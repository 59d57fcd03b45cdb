/** The versions of LeaseCandidate there have been, the newest first. */
export const leaseCandidateVersions = ['v1beta1', 'v1alpha2', 'v1alpha1'] as const;

/** A version of LeaseCandidate. */
export type LeaseCandidateVersion = (typeof leaseCandidateVersions)[number];

/** What to look for in a server's discovery: LeaseCandidates, the newest version first. */
export const leaseCandidateResource = {
  group: 'coordination.k8s.io',
  resource: 'leasecandidates',
  versions: leaseCandidateVersions,
} as const;
