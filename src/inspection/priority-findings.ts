import type { ElectionInput } from '../election/election-input.ts';
import type { Now } from '../election/time.ts';
import type { ObservedElections } from './elections.ts';
import type { Finding } from './finding.ts';
import { counted, listed } from './lease-status.ts';
import { describePriority, endOf } from './priority-text.ts';

/** What is to be said about priorities that somebody has set (rule 16); nothing where nobody has. */
export function checkPriorities({ elections, now }: ObservedElections): readonly Finding[] {
  const check = 'Priorities';
  const candidates = elections.flatMap(({ input }) => candidatesOf(input, now));
  const unreadable = candidates.filter((one) => one.unreadable !== undefined);
  const ended = candidates.filter(({ hasEnded }) => hasEnded);
  const inForce = candidates.filter(({ priority, hasEnded }) => priority !== '0' && !hasEnded);
  return [
    ...unreadable.map(
      ({ name, unreadable: annotation }): Finding => ({
        check,
        severity: 'warning',
        what: `${name}: ${annotation} cannot be read.`,
        meaning: 'The priority that it was to have does not count.',
        advice: UNREADABLE_ADVICE,
      }),
    ),
    ...(inForce.length === 0
      ? []
      : [
          {
            check,
            severity: 'ok',
            what: `${counted(inForce.length, 'candidate')} with a priority: ${listed(inForce.map(({ name, priority }) => `${name} ${priority}`))}.`,
          } as const,
        ]),
    ...(ended.length === 0
      ? []
      : [
          {
            check,
            severity: 'ok',
            what: `${listed(ended.map(({ name }) => name))}: the priority that was set has ended. undrain removes what drain and transfer have left of it.`,
          } as const,
        ]),
  ];
}

/** What to do about an annotation that cannot be read. */
export const UNREADABLE_ADVICE =
  'Set the annotation priority to a whole number such as 100, and priority-until to a time such as 2026-01-01T12:00:00Z.';

function candidatesOf({ namespace, candidates }: ElectionInput, now: Now) {
  return candidates.map(({ candidate: { name, priority } }) => ({
    name: `${namespace}/${name}`,
    priority: describePriority(priority.value, endOf(priority)),
    hasEnded: priority.end !== undefined && priority.end.at <= now.wall,
    unreadable: priority.unreadable,
  }));
}
