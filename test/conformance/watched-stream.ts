import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Body } from './target.ts';

/** An event of a watch, parsed from its line. */
export interface WatchedEvent {
  readonly type: string;
  readonly object: Body;
}

/** A watch that a test reads. */
export interface WatchedStream {
  readonly headers: IncomingHttpHeaders;
  /**
   * Returns the next event.
   * @throws Error if there is none in time, or the stream ends
   */
  next(timeoutMs?: number): Promise<WatchedEvent>;
  /** Returns the events up to and including the first for which `isLast` is true. */
  until(isLast: (event: WatchedEvent) => boolean, timeoutMs?: number): Promise<WatchedEvent[]>;
  /**
   * Returns the events up to the end of the stream by the server.
   * @throws Error if it does not end in time, or if it is cut
   */
  end(timeoutMs?: number): Promise<WatchedEvent[]>;
  close(): void;
}

const patienceMs = 10_000;

/** Reads the lines of `incoming` as they arrive. */
export function watchedStream(incoming: IncomingMessage): WatchedStream {
  const events: WatchedEvent[] = [];
  let rest = '';
  let ending: 'open' | 'ended' | 'cut' = 'open';
  let changed = Promise.withResolvers<void>();

  function wake(): void {
    changed.resolve();
    changed = Promise.withResolvers<void>();
  }
  incoming.socket.setTimeout(0);
  incoming.setEncoding('utf8');
  incoming.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    events.push(...lines.map((line) => JSON.parse(line) as WatchedEvent));
    wake();
  });
  incoming.once('end', () => {
    ending = 'ended';
    wake();
  });
  incoming.on('error', () => undefined);
  incoming.once('close', () => {
    if (ending === 'open') ending = 'cut';
    wake();
  });

  async function wait(deadline: number, what: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<'late'>();
    const timer = setTimeout(() => resolve('late'), Math.max(0, deadline - performance.now()));
    const outcome = await Promise.race([changed.promise, promise]);
    clearTimeout(timer);
    if (outcome === 'late') throw new Error(`${what}; pending events: ${JSON.stringify(events)}`);
  }

  async function next(timeoutMs = patienceMs): Promise<WatchedEvent> {
    const deadline = performance.now() + timeoutMs;
    for (;;) {
      const event = events.shift();
      if (event !== undefined) return event;
      if (ending !== 'open') throw new Error(`the watch was ${ending} while an event was awaited`);
      await wait(deadline, `no event in ${timeoutMs} ms`);
    }
  }

  return {
    headers: incoming.headers,
    next,
    async until(isLast, timeoutMs = patienceMs) {
      const deadline = performance.now() + timeoutMs;
      const seen: WatchedEvent[] = [];
      for (;;) {
        const event = await next(deadline - performance.now()).catch((cause: unknown) => {
          throw new Error(
            `after ${JSON.stringify(seen.map(({ type, object }) => [type, object.metadata]))}`,
            {
              cause,
            },
          );
        });
        seen.push(event);
        if (isLast(event)) return seen;
      }
    },
    async end(timeoutMs = patienceMs) {
      const deadline = performance.now() + timeoutMs;
      while (ending === 'open') await wait(deadline, `the watch did not end in ${timeoutMs} ms`);
      if (ending === 'cut' || rest !== '')
        throw new Error(`the watch was cut, with ${JSON.stringify(rest)} left`);
      return events.splice(0);
    },
    close: () => incoming.destroy(),
  };
}
