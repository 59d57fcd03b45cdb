import type { Deadline } from './deadline.ts';
import { ApiError, ConnectionError } from './errors.ts';

interface Call {
  readonly method: string;
  readonly path: string;
}

/** What went wrong with a call, as an error of ours. */
export function explainFailure(error: unknown, call: Call, deadline: Deadline): Error {
  if (error instanceof ApiError || error instanceof ConnectionError) return error;
  const called = describeCall(call);
  if (deadline.exceeded) {
    return new ConnectionError(`${called}: no complete answer in ${deadline.durationMs} ms`, {
      code: 'DEADLINE_EXCEEDED',
      cause: error,
    });
  }
  if (deadline.signal.aborted)
    return new ConnectionError(`${called}: aborted`, { code: 'ABORTED', cause: error });
  return new ConnectionError(`${called}: ${messageOf(error)}`, { code: codeOf(error), cause: error });
}

/** `GET /version` */
export function describeCall({ method, path }: Call): string {
  return `${method} ${path}`;
}

/** What an error, or whatever was thrown, says. */
export function messageOf(error: unknown): string {
  // Node tries every address of a name and reports the failures in a group that has no message of its own.
  if (error instanceof AggregateError && !error.message) return error.errors.map(messageOf).join(', ');
  return error instanceof Error && error.message ? error.message : String(error);
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'UNKNOWN';
}
