/**
 * The share of a Lease's duration in which nobody else can lead, by the clock of the machine that renewed it, from when the
 * renewal was sent on. That clock may run 5 % slow while the coordinator's runs 5 % fast: 0.95 / 1.05 is 0.905.
 */
export const SAFE_SHARE = 0.9;
