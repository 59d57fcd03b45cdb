import { get } from 'node:http';
import { type Clock, sleep } from '../../support/clock.ts';

/** Whether a program is well, by what it has answered so far. */
export interface Readiness {
  readonly isReady: boolean;
  /** In a row. */
  readonly failures: number;
}

/** Before the first answer. */
export const notReadyYet: Readiness = { isReady: false, failures: 0 };

/** So many in a row, as with the probes of a kubelet, and a program that was well is not. */
const FAILURES = 3;
const PERIOD_MS = 2000;
/** For one answer, in milliseconds. */
const TIMEOUT_MS = 1500;

/** What one more answer makes of it. */
export function judge({ isReady, failures }: Readiness, isOk: boolean): Readiness {
  if (isOk) return { isReady: true, failures: 0 };
  return { isReady: isReady && failures + 1 < FAILURES, failures: failures + 1 };
}

/** Asks `url` again and again until `signal` aborts, and tells of each change. */
export async function watchReadiness(
  url: URL,
  { clock, signal, onChange }: { clock: Clock; signal: AbortSignal; onChange: (isReady: boolean) => void },
): Promise<void> {
  let readiness = notReadyYet;
  while (!signal.aborted) {
    const next = judge(readiness, await answersOk(url, clock, signal));
    if (signal.aborted) return;
    if (next.isReady !== readiness.isReady) onChange(next.isReady);
    readiness = next;
    await sleep(clock, PERIOD_MS, signal);
  }
}

async function answersOk(url: URL, clock: Clock, ending: AbortSignal): Promise<boolean> {
  const timeout = new AbortController();
  const signal = AbortSignal.any([timeout.signal, ending]);
  const cancel = clock.setTimer(() => timeout.abort(), TIMEOUT_MS);
  try {
    return await new Promise<boolean>((resolve, reject) => {
      const asked = get(url, { signal, agent: false }, ({ statusCode = 0 }) => {
        resolve(statusCode >= 200 && statusCode < 300);
        // What else it says does not matter.
        asked.destroy();
      });
      asked.on('error', reject);
    });
  } catch {
    return false;
  } finally {
    cancel();
  }
}
