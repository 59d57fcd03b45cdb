import type { Reason } from '../election/reason.ts';

/** Something worth telling whoever watches the demo. */
export interface Happening {
  /** The wall clock, in microseconds since the Unix epoch. */
  readonly at: bigint;
  /** Who did it or had it happen: a candidate's name, `coordinator`, `you`. */
  readonly who: string;
  /** Set for a decision. */
  readonly reason?: Reason;
  /** In words. */
  readonly text: string;
  /** True when somebody should do something about it. */
  readonly isTrouble: boolean;
}

/** Takes what happens, in order. Must not throw. */
export type Tell = (happening: Omit<Happening, 'at'>) => void;
