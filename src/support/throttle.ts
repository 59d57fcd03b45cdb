import type { Instant } from './clock.ts';
import { messageOf } from './error-message.ts';

/** What goes wrong again and again is told when it begins and then at most this often, in milliseconds. */
const REPEAT_AFTER_MS = 60_000;

/** Tells a first failure, or another one than before, from what an outage repeats every few seconds. */
export function createThrottle(now: () => Instant): (what: string, error: unknown) => boolean {
  const count = createRepeatCounter(now);
  return (what, error) => count(what, error) !== undefined;
}

/**
 * The same with how often it was not told: returns the number of repeats since it was told last, 0 for what is told for the
 * first time; undefined for what is not to be told now.
 */
export function createRepeatCounter(
  now: () => Instant,
): (what: string, error: unknown) => number | undefined {
  const told = new Map<string, { readonly message: string; readonly at: Instant; repeats: number }>();
  return (what, error) => {
    const message = messageOf(error);
    const last = told.get(what);
    if (last && last.message === message && now() - last.at < REPEAT_AFTER_MS) {
      last.repeats++;
      return undefined;
    }
    told.set(what, { message, at: now(), repeats: 0 });
    return last?.message === message ? last.repeats : 0;
  };
}
