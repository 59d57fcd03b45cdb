import type { Clock, Instant } from '../support/clock.ts';
import type { KubernetesClient } from './client.ts';
import type { Query } from './request-subject.ts';
import { parseWatchEvent, type WatchEvent } from './watch-event.ts';
import { LineSplitter } from './watch-lines.ts';

/** One watch, from its request to its end. */
export interface WatchRequest {
  readonly path: string;
  readonly query: Query;
  readonly resourceVersion: string;
  /** A watch that is silent for this long is given up, in milliseconds. */
  readonly stallMs: number;
  readonly signal: AbortSignal;
  /** Called when the server has accepted the watch. */
  readonly onOpen: () => void;
  /** Called whenever bytes arrive. */
  readonly onActivity: () => void;
  /** Called with each event in turn; not once `signal` has aborted. */
  readonly onEvent: (event: WatchEvent) => void;
}

/** How a watch ended that did not fail: the server closed it, it fell silent, or `signal` aborted. */
export type WatchEnd = 'closed' | 'stalled' | 'aborted';

/** After which the server ends a watch by itself, in seconds; the other half is chance, so that watches spread. */
const MIN_TIMEOUT_SECONDS = 300;
/** For a watch to be accepted, in milliseconds: a server whose cache is still filling lets it wait, up to 1.30. */
const OPEN_DEADLINE_MS = 30_000;
/** By default etcd takes objects of 1.5 MiB; a line longer than this is no event. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;

/** Runs one watch. Rejects as the client does, with the error of an ERROR event, or for what is no event. */
export async function runWatch(
  client: KubernetesClient,
  clock: Clock,
  request: WatchRequest,
): Promise<WatchEnd> {
  const { path, signal, onEvent } = request;
  const stall = new AbortController();
  const stopStallTimer = { current: () => {} };
  try {
    const chunks = await client.stream({
      method: 'GET',
      path,
      query: {
        ...request.query,
        watch: true,
        allowWatchBookmarks: true,
        resourceVersion: request.resourceVersion,
        timeoutSeconds: Math.round(MIN_TIMEOUT_SECONDS * (1 + clock.random())),
      },
      deadlineMs: OPEN_DEADLINE_MS,
      signal: AbortSignal.any([signal, stall.signal]),
    });
    request.onOpen();
    let lastBytes: Instant = clock.now();
    // One timer per silence rather than one per chunk: it looks how long the silence is and sleeps on for the rest.
    const watchForStall = () => {
      const remainingMs = lastBytes + request.stallMs - clock.now();
      if (remainingMs <= 0) stall.abort();
      else stopStallTimer.current = clock.setTimer(watchForStall, remainingMs);
    };
    watchForStall();
    const lines = new LineSplitter(MAX_LINE_BYTES);
    for await (const chunk of chunks) {
      lastBytes = clock.now();
      request.onActivity();
      for (const line of lines.push(chunk)) {
        if (signal.aborted) return 'aborted';
        onEvent(parseWatchEvent(line, path));
      }
    }
    return signal.aborted ? 'aborted' : 'closed';
  } catch (error) {
    if (signal.aborted) return 'aborted';
    if (stall.signal.aborted) return 'stalled';
    throw error;
  } finally {
    stopStallTimer.current();
  }
}
