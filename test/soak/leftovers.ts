import type { Counts, Sample } from './sample.ts';

/** What is open, whatever it is, while nothing happens. */
export type Open = Pick<Sample, 'isActive' | 'descriptors' | 'resources'>;

/**
 * Which kinds of file descriptors and of timers there are more of than there were, with how many. Compared are the most
 * that there were in a quiet time at the start with what there is now: at both, the same Leases and candidates are there,
 * and nothing is under way, so that none more may be open. The active replica is compared with whichever was active then:
 * it has timers for its lock and for its Leases.
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
    // Whatever is to run in this very turn of the event loop is not left over from anything.
    return count > most && kind !== 'Immediate' ? [`${count} of ${kind}, ${most} at the start`] : [];
  });
}
