import { ApiError, ConnectionError } from './errors.ts';
import { SET_BACK } from './set-back.ts';

/** How to go on after a list or a watch has failed. */
export interface Recovery {
  /** Whether the watch cannot go on from where it was, so that everything has to be listed again. */
  readonly relist: boolean;
  /** Whether that is so as the server has forgotten the place, as it does in a restart: nothing is wrong with it. */
  readonly forgotten: boolean;
  /** Whether the server says that it does not know the resource. */
  readonly notServed: boolean;
  /** Whether the server itself refused to go on from this state, other than for being busy. */
  readonly refused: boolean;
  /** The shortest delay that the server asks for, in milliseconds. */
  readonly minDelayMs: number;
}

/** Decides how to go on after a failure. */
export function decideRecovery(error: unknown): Recovery {
  if (error instanceof ApiError) {
    return {
      relist: losesPlace(error),
      forgotten: isForgotten(error),
      notServed: error.status === 404,
      refused: error.status !== 429,
      minDelayMs: error.retryAfterMs ?? 0,
    };
  }
  if (error instanceof ConnectionError && error.code === SET_BACK)
    return { relist: true, forgotten: true, notServed: false, refused: false, minDelayMs: 0 };
  // A connection that broke says nothing about our place; an answer that made no sense may have hidden an event.
  const broken = error instanceof ConnectionError && error.code !== 'MALFORMED_ANSWER';
  return { relist: !broken, forgotten: false, notServed: false, refused: false, minDelayMs: 0 };
}

function losesPlace(error: ApiError): boolean {
  if (isForgotten(error)) return true;
  const mayPass = error.status === 401 || error.status === 403 || error.status === 429 || error.status >= 500;
  return !mayPass;
}

function isForgotten({ status, reason }: ApiError): boolean {
  return status === 410 || reason === 'Expired' || reason === 'Gone';
}
