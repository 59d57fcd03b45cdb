import { ApiError } from '../errors/api-error.ts';

/** What came after `revision` is not all known any more, but what came after `since` is. */
export function revisionTooOld(revision: number, since: number): ApiError {
  return new ApiError(410, 'Expired', `too old resource version: ${revision} (${since})`);
}

/** `revision` has not come about yet. */
export function revisionTooLarge(revision: number, current: number): ApiError {
  return new ApiError(
    504,
    'Timeout',
    `Timeout: Too large resource version: ${revision}, current: ${current}`,
    {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      retryAfterSeconds: 1,
    },
  );
}
