import { badRequest } from '../errors/api-error.ts';

const DURATION = /^[-+]?(?:0|(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/;

/**
 * Checks the parameter `timeout`, a duration like `1m30s`, which clients send along with their own deadline. It changes
 * nothing: no request takes that long here.
 * @throws {ApiError} 400
 */
export function checkTimeout(query: URLSearchParams): void {
  const timeout = query.get('timeout');
  if (!timeout || DURATION.test(timeout)) return;
  const problem = /^[-+]?(?:\d+\.?\d*|\.\d+)$/.test(timeout)
    ? 'missing unit in duration'
    : 'invalid duration';
  throw badRequest(
    `invalid timeout specified in the request URL - time: ${problem} ${JSON.stringify(timeout)}`,
  );
}
