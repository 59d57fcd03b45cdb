import { backoffMs } from './time.ts';
import type { Verdict } from './verdict.ts';
import type { View } from './view.ts';

const BACKOFF_MS = 30_000;
const BACKOFF_CAP_MS = 10 * 60_000;

/** Where the holder or the server drops what we write, writing again after each renewal would only be noise (rule 7). */
export function decideIgnoredWrites(view: View): Verdict | undefined {
  const { count, lastAt } = view.input.memory.ignoredWrites;
  const retryAt = lastAt + backoffMs(count, BACKOFF_MS, BACKOFF_CAP_MS);
  return view.at < retryAt ? { reason: 'WritesIgnored', recheckAt: [retryAt] } : undefined;
}
