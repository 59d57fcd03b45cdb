import type { Moment } from '../invariants/history.ts';
import type { Journaled } from './journal.ts';

/**
 * Converts wall-clock times to the monotonic clock, in milliseconds. The wall clock may be slewed or set during a
 * run: the journal's sample before the time counts.
 */
export function machineClock(journal: readonly Journaled[]): (wallMs: number) => Moment {
  const samples = journal.flatMap((entry) => (entry.kind === 'clock' ? [entry] : []));
  return (wallMs) => {
    let low = 0;
    for (let high = samples.length - 1; low < high; ) {
      const middle = Math.ceil((low + high) / 2);
      if ((samples[middle]?.wallMs ?? 0) <= wallMs) low = middle;
      else high = middle - 1;
    }
    const sample = samples[low];
    if (sample === undefined) throw new Error('the journal has no sample of the clock');
    return wallMs - sample.wallMs + sample.at;
  };
}
