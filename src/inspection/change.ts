import type { LeaseCandidate } from '../election/model.ts';

/** Something that is done to the candidates of a Lease. */
export type Change =
  /** A candidate appears, or comes back with other versions. */
  | { readonly kind: 'add'; readonly candidate: LeaseCandidate }
  /** Its program is stopped: it releases what it holds, and its candidate is deleted. */
  | { readonly kind: 'remove'; readonly name: string }
  /** Its program dies: it renews and answers nothing any more. */
  | { readonly kind: 'crash'; readonly name: string }
  /** Somebody gives it a priority, for good. */
  | { readonly kind: 'priority'; readonly name: string; readonly priority: number }
  /** `successor` appears, and then one of `names` is stopped: the leader, or the leader last. */
  | {
      readonly kind: 'replace';
      readonly names: readonly string[];
      readonly leaderIs: 'next' | 'last';
      readonly successor: LeaseCandidate;
    };
