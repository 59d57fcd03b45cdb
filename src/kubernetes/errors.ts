import { isJsonObject, type JsonObject, parseJsonObject } from '../support/json.ts';
import { messageOf } from '../support/text.ts';

/** What an {@link ApiError} is made of. */
export interface ApiErrorFields {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly reason?: string | undefined;
  readonly message: string;
  readonly retryAfterMs?: number | undefined;
}

/** The server answered, and its answer is an error. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly method: string;
  readonly path: string;
  /** The HTTP status code. */
  readonly status: number;
  /** The server's word for it (`Conflict`, `NotFound`, `Expired`, ...); '' when it gave none. */
  readonly reason: string;
  /**
   * How long the server asks to be left alone, in milliseconds; two minutes at most. reflector-state.ts keeps to it for lists and
   * watches, the controller's sender.ts for writes.
   */
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
 * There was no complete answer: it is not known whether the server acted on the request.
 *
 * `code` is Node's or undici's (`ECONNREFUSED`, `CERT_HAS_EXPIRED`, `UND_ERR_SOCKET`, ...), or one of ours:
 * `DEADLINE_EXCEEDED`, `ABORTED` (by the caller's signal or the client's end), `CLIENT_CLOSED` (nothing was sent), `CREDENTIALS` (none could be had),
 * `MALFORMED_ANSWER` (not what the API says), `WATCH_CLOSED_EARLY`.
 */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
  readonly code: string;

  constructor(message: string, options: ErrorOptions & { readonly code: string }) {
    super(message, options);
    this.code = options.code;
  }
}

/** Refused because the object is not as it was when it was decided on: changed, deleted, or created meanwhile. */
export function isConflict(error: unknown): boolean {
  return (
    error instanceof ApiError &&
    (error.status === 409 || (error.status === 404 && error.reason === 'NotFound'))
  );
}

/** What went wrong with a call, whatever it was about: the same for what is the same, so that it can be told once. */
export function kindOfFailure(error: unknown): string {
  if (error instanceof ApiError) return `${error.method} ${error.status} ${error.reason}`;
  if (error instanceof ConnectionError) return error.code;
  return messageOf(error);
}

/** How long a server's own explanation may be before it is cut, in characters: proxies answer with whole pages. */
const MAX_MESSAGE = 500;

/** The same of its one word. */
const MAX_REASON = 100;

/** An absurd Retry-After must not leave us blind, or a Lease without a leader, for hours. In milliseconds. */
const MAX_RETRY_AFTER_MS = 120_000;

/** Reads an error out of a response: a `Status` object where there is one, else whatever text came. */
export function apiErrorFromResponse(
  call: { readonly method: string; readonly path: string },
  status: number,
  retryAfter: string | undefined,
  body: string,
): ApiError {
  const parsed = parseJsonObject(body);
  if (parsed) return apiErrorFromStatus(call, parsed, status, secondsToMs(retryAfter));
  const message = body.trim().slice(0, MAX_MESSAGE) || 'no explanation given';
  return new ApiError({ ...call, status, message, retryAfterMs: secondsToMs(retryAfter) });
}

/** Reads an error out of a `Status` object, as error responses and a watch's ERROR events carry it. */
export function apiErrorFromStatus(
  call: { readonly method: string; readonly path: string },
  statusObject: JsonObject,
  httpStatus?: number,
  headerRetryAfterMs?: number,
): ApiError {
  const { code, reason, message, details } = statusObject as Record<
    'code' | 'reason' | 'message' | 'details',
    unknown
  >;
  const detailSeconds = isJsonObject(details) ? details['retryAfterSeconds'] : undefined;
  return new ApiError({
    ...call,
    status: httpStatus ?? (typeof code === 'number' ? code : 500),
    reason: typeof reason === 'string' ? reason.slice(0, MAX_REASON) : undefined,
    message: typeof message === 'string' && message ? message.slice(0, MAX_MESSAGE) : 'no explanation given',
    retryAfterMs:
      headerRetryAfterMs ?? (typeof detailSeconds === 'number' ? secondsToMs(`${detailSeconds}`) : undefined),
  });
}

/** Kubernetes always gives seconds; the header's other form, a date, would need the server's clock to be ours. */
function secondsToMs(seconds: string | undefined): number | undefined {
  return seconds !== undefined && /^\d+$/.test(seconds.trim()) && Number(seconds) > 0
    ? Math.min(Number(seconds) * 1000, MAX_RETRY_AFTER_MS)
    : undefined;
}
