import type { NormalAnswer } from './differential/normal.ts';
import type { Request } from './differential/request.ts';

/**
 * Where a real server and the embedded one may answer differently. The embedded one follows 1.36, so that most of these
 * are changes since older versions. Each is as narrow as it can be, so that it hides nothing else.
 */
export interface KnownDifference {
  readonly title: string;
  readonly reason: string;
  /** Minor versions of the real servers that it is about; absent: all. */
  readonly minors?: readonly number[];
  /** Makes the two answers equal if this is all that they differ in. Absent: no such requests are compared. */
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
