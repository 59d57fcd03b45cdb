import { ApiError } from '../errors/api-error.ts';
import type { Outcome } from './tasks.ts';

/** What to throw for an outcome that is none that was wanted. */
export function refusalOf(outcome: Outcome): Error {
  if (outcome.kind !== 'refused') {
    return new Error(outcome.kind === 'failed' ? outcome.error : `unexpected outcome: ${outcome.kind}`);
  }
  const { code, reason = '', message = '', details, metadata } = outcome.status;
  return new ApiError(code, reason, message, details, metadata);
}
