/** How delays between attempts grow. */
export interface BackoffRange {
  /** The delay after the first failure, in milliseconds, before chance. */
  readonly initialMs: number;
  /** No delay is longer, in milliseconds. */
  readonly maxMs: number;
}

/**
 * The delay after so many failures in a row, in milliseconds; none after none. It doubles with each, and its second half
 * is left to `chance`, from 0 to 1: what failed together should not come back together.
 */
export function backoffDelayMs(failures: number, { initialMs, maxMs }: BackoffRange, chance: number): number {
  if (failures === 0) return 0;
  return Math.min(initialMs * 2 ** (failures - 1), maxMs) * (0.5 + chance / 2);
}
