import {
  PRIORITY_ANNOTATION,
  PRIORITY_UNTIL_ANNOTATION,
} from '../../../src/coordination/candidate-priority.ts';
import { formatMicroTime } from '../../../src/coordination/micro-time.ts';
import { candidateResourceOf } from '../sim-store.ts';
import { type Fault, fault } from './fault.ts';

/** The names of the users who move leaders. */
export const PRIORITY_WRITER = 'on-call';

interface PriorityArgs {
  readonly slot: string;
  /** Undefined: the priority is removed. */
  readonly priority: number | undefined;
  /** Undefined: the priority has no end. */
  readonly forMs: number | undefined;
}

/** Changes of priorities by users who move leaders (rule 16). */
export const priorityFaults = {
  prioritySet: fault<PriorityArgs>({
    plan: (chance, { slots }) => ({
      slot: chance.pick(slots)?.name ?? '',
      priority: chance.pick([1, 1, 100, -1000, undefined]),
      forMs: chance.is(0.5) ? chance.between(1000, 90_000) : undefined,
    }),
    strike: (world, { slot, priority, forMs }) => {
      const candidate = world.candidateOf(slot);
      if (!candidate) return false;
      const until = forMs && formatMicroTime(world.clock.wallTime() + BigInt(forMs) * 1000n);
      const annotations = {
        ...(priority !== undefined && { [PRIORITY_ANNOTATION]: String(priority) }),
        ...(priority !== undefined && until !== undefined && { [PRIORITY_UNTIL_ANNOTATION]: until }),
      };
      const metadata = { ...candidate.metadata, annotations };
      world.writeAs(PRIORITY_WRITER, candidateResourceOf(candidate), candidate, { ...candidate, metadata });
      return true;
    },
    settlesWithin: {
      ms: 75_000,
      why: 'the candidate that has to lead is pinged and preferred, and the Lease of the holder expires, after at most 60 s; after the end of a priority, the same again',
    },
  }),
} satisfies Record<string, Fault<unknown>>;
