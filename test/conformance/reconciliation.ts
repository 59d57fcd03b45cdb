import type { NormalAnswer } from './differential/normal.ts';
import type { Request } from './differential/request.ts';

/**
 * An allowed difference between a real server and the embedded one. The embedded one follows 1.36, so most
 * differences are changes since older versions. Each is as narrow as possible, so that it hides no other difference.
 */
export interface KnownDifference {
  readonly title: string;
  readonly reason: string;
  /** Minor versions of the affected real servers; absent: all. */
  readonly minors?: readonly number[];
  /** Makes the two answers equal if they differ only in this. Absent: such requests are not compared. */
  readonly reconcile?: (answers: AnswerPair, request: Request) => AnswerPair;
}

export interface AnswerPair {
  readonly real: NormalAnswer;
  readonly embedded: NormalAnswer;
}

export type Reconciliation = NonNullable<KnownDifference['reconcile']>;
export type Rewriting = (answer: NormalAnswer) => NormalAnswer;

export function onReal(rewrite: Rewriting): Reconciliation {
  return ({ real, embedded }) => ({ real: rewrite(real), embedded });
}

export function onBoth(rewrite: Rewriting): Reconciliation {
  return ({ real, embedded }) => ({ real: rewrite(real), embedded: rewrite(embedded) });
}

export function isFailure(answer: NormalAnswer, code: number): boolean {
  return answer.code === code && (answer.body as { readonly kind?: unknown } | null)?.kind === 'Status';
}
