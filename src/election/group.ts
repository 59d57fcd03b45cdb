/** The API group of this project, and the domain of its annotations and strategies. */
export const GROUP = 'coordinated-leader-election.dev';

/** Who holds a Lease that is fenced (rule 14): nobody. No candidate of this name takes part in an election. */
export const FENCE = `fence.${GROUP}`;
