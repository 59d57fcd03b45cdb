/** All versions of the API server's own LeaseCandidate, newest first. */
export const leaseCandidateVersions = ['v1beta1', 'v1alpha2', 'v1alpha1'] as const;

export type LeaseCandidateVersion = (typeof leaseCandidateVersions)[number];
