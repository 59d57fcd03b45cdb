/** The runbooks without an alert, by their file names in docs/runbooks. Users follow them by their own decision. */
export const procedures = ['slow-zone'] as const;

/** The name of a runbook without an alert. */
export type Procedure = (typeof procedures)[number];
