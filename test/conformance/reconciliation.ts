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

/** Rewrites every text of an answer. */
export function texts(rewrite: (text: string) => string): Rewriting {
  const rewritten = (value: unknown): unknown => {
    if (typeof value === 'string') return rewrite(value);
    if (Array.isArray(value)) return value.map(rewritten);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([field, each]) => [field, rewritten(each)]));
  };
  return (answer) => ({
    ...answer,
    warnings: answer.warnings.map(rewrite),
    body: rewritten(answer.body),
  });
}

export function isFailure(answer: NormalAnswer, code: number): boolean {
  return answer.code === code && (answer.body as { readonly kind?: unknown } | null)?.kind === 'Status';
}

/** A Status with its causes in an order of our own. */
export function sorted(answer: NormalAnswer): NormalAnswer {
  const body = answer.body as { readonly details?: { readonly causes?: readonly unknown[] } };
  const causes = body.details?.causes;
  if (causes === undefined) return answer;
  const inOrder = causes.map((cause) => JSON.stringify(cause)).sort();
  return { ...answer, body: { ...body, details: { ...body.details, causes: inOrder } } };
}
