/** The versions of LeaseCandidate there have been, the newest first. */
export const leaseCandidateVersions = ['v1beta1', 'v1alpha2', 'v1alpha1'] as const;

/** A version of LeaseCandidate. */
export type LeaseCandidateVersion = (typeof leaseCandidateVersions)[number];
