import type { Instant } from '../support/clock.ts';

/** What is known of a span or of one of its events; what is undefined is left out. */
export type TraceAttributes = Readonly<
  Record<string, string | number | boolean | readonly string[] | undefined>
>;

/** Something that happened at one moment of a span. */
export interface TraceEvent {
  readonly name: string;
  readonly at: Instant;
  readonly attributes: TraceAttributes;
}

/** A stretch of time in which something was done, with what was done as part of it; the outermost one is a trace. */
export interface TraceSpan {
  readonly name: string;
  readonly startedAt: Instant;
  readonly endedAt: Instant;
  /** Set where another program was asked to do something. */
  readonly isCall?: boolean;
  readonly attributes: TraceAttributes;
  /** Why it failed; undefined when it did not. */
  readonly error: string | undefined;
  readonly events: readonly TraceEvent[];
  readonly children: readonly TraceSpan[];
}
