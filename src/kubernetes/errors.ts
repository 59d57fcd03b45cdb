import { isJsonObject, type JsonObject, parseJsonObject } from '../support/json.ts';
import { messageOf } from '../support/text.ts';

export interface Call {
  readonly method: string;
  readonly path: string;
}

interface ApiErrorFields extends Call {
  readonly status: number;
  readonly reason?: string | undefined;
  readonly message: string;
  readonly retryAfterMs?: number | undefined;
}

export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly method: string;
  readonly path: string;
  readonly status: number;
  /** The server's reason (`Conflict`, `NotFound`, `Expired`, ...); '' if the answer has none. */
  readonly reason: string;
  /** The delay in ms that the server asks for (Retry-After or retryAfterSeconds), at most two minutes. */
  readonly retryAfterMs: number | undefined;

  constructor(fields: ApiErrorFields) {
    const answer = fields.reason ? `${fields.status} ${fields.reason}` : `${fields.status}`;
    super(`${fields.method} ${fields.path} was answered ${answer}: ${fields.message}`);
    this.method = fields.method;
    this.path = fields.path;
    this.status = fields.status;
    this.reason = fields.reason ?? '';
    this.retryAfterMs = fields.retryAfterMs;
  }
}

/**
 * A failure without an {@link ApiError}. Usually, the client got no complete and valid answer. The server may have
 * acted on the request, unless {@link isUnsent} is true. `code` is Node's, such as `ECONNRESET`, or one of this project:
 * - `CLIENT_CLOSED`, `DEADLINE_EXCEEDED`, `WATCH_CLOSED_EARLY`, and `UNKNOWN` for a cause without a code
 * - `CREDENTIALS`: the client could not get credentials, or the current context has no cluster
 * - `ABORTED`: by the caller's signal, by `close`, or because a background request gave way
 * - `MALFORMED_ANSWER`: the answer is not valid in this API
 * - `SET_BACK`: the server was restored from a backup
 */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
  readonly code: string;

  constructor(message: string, options: ErrorOptions & { readonly code: string }) {
    super(message, options);
    this.code = options.code;
  }
}

export function connectionError(call: Call, code: string, problem: string, options?: ErrorOptions) {
  return new ConnectionError(`${call.method} ${call.path}: ${problem}`, { code, ...options });
}

/** True if `error` is an answer of the server with one of these statuses. */
export function hasStatus(error: unknown, ...statuses: readonly number[]): error is ApiError {
  return error instanceof ApiError && statuses.includes(error.status);
}

/** Resolves to the answer, or to undefined if it is an error with one of these statuses. Rejects with other errors. */
export async function unlessStatus<T>(answer: Promise<T>, ...statuses: readonly number[]) {
  return await answer.catch((error: unknown) => {
    if (hasStatus(error, ...statuses)) return undefined;
    throw error;
  });
}

/** True if a write failed because its object has changed, is missing or exists already, or its namespace is missing. */
export function isConflict(error: unknown): boolean {
  return hasStatus(error, 409) || (hasStatus(error, 404) && error.reason === 'NotFound');
}

const UNSENT_CODES = new Set(['CLIENT_CLOSED', 'CREDENTIALS', 'ECONNREFUSED', 'ENOTFOUND']);

/** True if the client did not send the request: it had no credentials or no connection, or it was closed. */
export function isUnsent(error: unknown): boolean {
  if (!(error instanceof ConnectionError)) return false;
  const { syscall } = (error.cause ?? {}) as NodeJS.ErrnoException;
  return UNSENT_CODES.has(error.code) || syscall === 'connect' || syscall === 'getaddrinfo';
}

/** True if the server refused a patch that names `uid`, because another object with the same name has replaced this one. */
export function isReplaced(error: unknown, uid: string): boolean {
  return hasStatus(error, 409, 422) && error.message.includes(uid);
}

/** Returns the kind of a failure, without the request's path. Logs use the kind to skip repeated failures. */
export function kindOfFailure(error: unknown): string {
  if (error instanceof ApiError) return `${error.method} ${error.status} ${error.reason}`;
  if (error instanceof ConnectionError) return error.code;
  return messageOf(error);
}

/** Maximum characters of a server's message in an error, because proxies answer with whole HTML pages. */
const MAX_MESSAGE = 500;
/** Maximum characters of a server's reason in an error. A normal reason is one word. */
const MAX_REASON = 100;
/** Maximum Retry-After, in ms. A wrong value must not stop watches, or leave a Lease without a leader, for hours. */
const MAX_RETRY_AFTER_MS = 120_000;

/**
 * Converts an error response to an {@link ApiError}. Takes the message from the `Status` object in the body. If the
 * body contains no JSON object, the text of the body is the message.
 */
export function apiErrorFromResponse(
  call: Call,
  status: number,
  retryAfter: string | undefined,
  body: string,
): ApiError {
  const answer = parseJsonObject(body) ?? { message: body.trim() };
  return apiErrorFromStatus(call, { ...answer, code: status }, retryAfter);
}

/** Converts a `Status` object, which error responses and ERROR events of a watch contain, to an {@link ApiError}. */
export function apiErrorFromStatus(call: Call, statusObject: JsonObject, retryAfter?: string): ApiError {
  const { code, reason, message, details } = statusObject;
  const detailSeconds = isJsonObject(details) ? details['retryAfterSeconds'] : undefined;
  return new ApiError({
    ...call,
    status: typeof code === 'number' ? code : 500,
    reason: typeof reason === 'string' ? reason.slice(0, MAX_REASON) : undefined,
    message: typeof message === 'string' && message ? message.slice(0, MAX_MESSAGE) : 'no explanation given',
    retryAfterMs:
      secondsToMs(retryAfter) ??
      (typeof detailSeconds === 'number' ? secondsToMs(`${detailSeconds}`) : undefined),
  });
}

/** Converts a Retry-After in seconds to ms. Ignores a date, because a date would require synchronized clocks. */
function secondsToMs(seconds: string | undefined): number | undefined {
  return seconds !== undefined && /^\d+$/.test(seconds.trim()) && Number(seconds) > 0
    ? Math.min(Number(seconds) * 1000, MAX_RETRY_AFTER_MS)
    : undefined;
}
