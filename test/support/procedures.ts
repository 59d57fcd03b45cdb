/** The runbooks that no alert sends anybody to, by the names of their files in docs/runbooks: somebody decides to follow one. */
export const procedures = ['slow-zone'] as const;

/** The name of a runbook without an alert. */
export type Procedure = (typeof procedures)[number];
