import type { Instant } from './clock.ts';

/** What goes wrong again and again is told when it begins and then at most this often, in milliseconds. */
const REPEAT_AFTER_MS = 60_000;

/** Tells a first failure, or another one than before, from what an outage repeats every few seconds. */
export function createThrottle(now: () => Instant): (what: string, error: unknown) => boolean {
  const told = new Map<string, { readonly message: string; readonly at: Instant }>();
  return (what, error) => {
    const message = error instanceof Error ? error.message : String(error);
    const last = told.get(what);
    if (last && last.message === message && now() - last.at < REPEAT_AFTER_MS) return false;
    told.set(what, { message, at: now() });
    return true;
  };
}
