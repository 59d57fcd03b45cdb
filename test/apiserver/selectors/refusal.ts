import { ApiError } from '../../../src/apiserver/errors/api-error.ts';

/** Returns the message of the 400 error of `act`; undefined if it succeeds. */
export function refusal(act: () => unknown): string | undefined {
  try {
    act();
    return undefined;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { code, reason, message, details } = error.status;
    if (code !== 400 || reason !== 'BadRequest' || details !== undefined) throw error;
    return message;
  }
}
