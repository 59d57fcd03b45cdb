import type { Moment } from '../invariants/history.ts';

/** Returns CLOCK_MONOTONIC, which all processes of one machine share. */
export function monotonicNow(): Moment {
  return Number(process.hrtime.bigint()) / 1e6;
}
