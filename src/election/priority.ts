import type { LeaseCandidate } from './model.ts';
import type { MicroTime } from './time.ts';

/** Candidates whose priority has ended, as they are since. */
const ended = new WeakMap<LeaseCandidate, LeaseCandidate>();

/** The candidate with the priority that counts at `wall`: one that has ended has given way to what counts then. */
export function withCurrentPriority(candidate: LeaseCandidate, wall: MicroTime): LeaseCandidate {
  const { end, unreadable } = candidate.priority;
  if (end === undefined || wall < end.at) return candidate;
  const known = ended.get(candidate);
  if (known) return known;
  const current: LeaseCandidate = {
    ...candidate,
    priority: { value: end.afterwards, end: undefined, unreadable },
  };
  ended.set(candidate, current);
  return current;
}
