import type { Counts, Sample } from './sample.ts';

/** All open resources while nothing happens. */
export type Open = Pick<Sample, 'isActive' | 'descriptors' | 'resources'>;

/**
 * Returns the kinds of file descriptors and timers that have increased, with their numbers. Compares the maximum in a
 * quiet time at the start with the present numbers: both times have the same Leases and candidates and no pending
 * work, so that no more may be open. The active replica is compared with the one that was active at the start,
 * because it has timers for its lock and Leases.
 */
export function leftoversOf(atStart: readonly Open[], now: Open): readonly string[] {
  const alike = atStart.filter(({ isActive }) => isActive === now.isActive);
  return (['descriptors', 'resources'] as const).flatMap((what) =>
    moreThan(
      alike.map((each) => each[what]),
      now[what],
    ).map((kind) => `${what}: ${kind}`),
  );
}

function moreThan(before: readonly Counts[], now: Counts): readonly string[] {
  return Object.entries(now).flatMap(([kind, count]) => {
    const most = Math.max(0, ...before.map((counts) => counts[kind] ?? 0));
    // Work that is due in this turn of the event loop is not a leftover.
    return count > most && kind !== 'Immediate' ? [`${count} of ${kind}, ${most} at the start`] : [];
  });
}
