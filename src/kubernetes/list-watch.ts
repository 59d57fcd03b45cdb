import type { Clock } from '../support/clock.ts';
import { isJsonObject, type JsonObject } from '../support/json.ts';
import type { KubernetesClient, Query } from './client.ts';
import { ApiError, apiErrorFromStatus, ConnectionError, connectionError, hasStatus } from './errors.ts';
import { isKubernetesObject, type KubernetesObject, metadataText } from './objects.ts';
import { asBuffer, type TakeItems } from './read-answer.ts';

/** Items per page. Small pages are slow: each page costs the server 10 ms, and the client waits for each page. */
const DEFAULT_PAGE_SIZE = 5000;

/** The result of a complete list. The caller has already got the items through {@link ListRequest.begin}. */
export interface ObjectList {
  /** The state of the server that the list shows. A watch from this resourceVersion sends all later changes. */
  readonly resourceVersion: string;
  readonly pages: number;
  /** The number of items in all pages. */
  readonly objects: number;
}

export interface ListRequest {
  readonly path: string;
  readonly query: Query;
  /** Items per page, default 5000. */
  readonly pageSize?: number;
  /** Deadline of each page, in milliseconds. */
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
  /**
   * Called when the list begins, and again if it restarts. Items from before a restart do not belong to the result. The
   * returned function takes the items as they arrive. The items are not validated.
   */
  readonly begin: () => TakeItems;
}

/** Lists page by page. Restarts the list, but only once, if a continue token has expired (410). */
export async function listAllPages(
  client: KubernetesClient,
  request: ListRequest,
  mayRestart = true,
): Promise<ObjectList> {
  const take = request.begin();
  let objects = 0;
  const takeItems = (items: readonly unknown[]) => {
    objects += items.length;
    return take(items);
  };
  let token: string | undefined;
  for (let pages = 1; ; pages++) {
    try {
      const page = await readPage(client, request, token, takeItems);
      const resourceVersion = page.resourceVersion;
      token = page.token;
      if (token === undefined) return { resourceVersion, pages, objects };
    } catch (error) {
      // The first page has no continue token, so its 410 has another cause.
      if (pages > 1 && hasStatus(error, 410) && mayRestart) return await listAllPages(client, request, false);
      throw error;
    }
  }
}

async function readPage(
  client: KubernetesClient,
  { path, query, pageSize = DEFAULT_PAGE_SIZE, deadlineMs, signal }: ListRequest,
  token: string | undefined,
  takeItems: TakeItems,
) {
  const list = await client.request({
    method: 'GET',
    path,
    query: { ...query, limit: pageSize, continue: token },
    deadlineMs,
    signal,
    takeItems,
  });
  // Go encodes an empty (nil) list as null.
  const items = list['items'] === null ? [] : list['items'];
  const resourceVersion = metadataText(list, 'resourceVersion');
  if (!Array.isArray(items) || !resourceVersion) {
    const problem = 'the answer is not a list with a resourceVersion';
    throw connectionError({ method: 'GET', path }, 'MALFORMED_ANSWER', problem);
  }
  // A client that ignores `takeItems` leaves the items in its answer, so pass them on here.
  if (items.length > 0) await takeItems(items);
  return { resourceVersion, token: metadataText(list, 'continue') };
}

export interface WatchRequest {
  readonly path: string;
  readonly query: Query;
  readonly resourceVersion: string;
  /** Time without data from the server after which the watch ends, in milliseconds. */
  readonly stallMs: number;
  readonly signal: AbortSignal;
  /** Called when the server has accepted the watch. */
  readonly onOpen?: () => void;
  /** Called each time data arrives. */
  readonly onActivity?: () => void;
  /** Called with each event except ERROR, in the order of arrival. Not called after `signal` has aborted. */
  readonly onEvent: (event: WatchEvent) => void;
}

/** How a watch ended without an error: the server closed it or sent nothing for `stallMs`, or `signal` aborted. */
export type WatchEnd = 'closed' | 'stalled' | 'aborted';

/**
 * The shortest lifetime that the client requests for a watch, in seconds. For each watch, it requests a random lifetime
 * of up to twice this value, so that not all watches end together.
 */
const MIN_TIMEOUT_SECONDS = 300;
/** Deadline in ms for the server to accept a watch. Just after a start, servers up to 1.30 must fill their cache first. */
const OPEN_DEADLINE_MS = 30_000;
/**
 * Maximum bytes of a line in a watch. By default, etcd accepts objects of up to 1.5 MiB, so a line that is ten times
 * longer cannot be an event.
 */
const MAX_LINE_BYTES = 16 * 1024 * 1024;

/** Runs one watch. Rejects if the request or its stream fails, and after an ERROR event or an invalid event. */
export async function runWatch(
  client: KubernetesClient,
  clock: Clock,
  request: WatchRequest,
): Promise<WatchEnd> {
  const { path, signal, onEvent } = request;
  const stall = new AbortController();
  let stopStallTimer = () => {};
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
    request.onOpen?.();
    let lastBytes = clock.now();
    // To save work, do not reset the timer for each chunk. If data has arrived when the timer fires, set the timer
    // again for the remaining time.
    const watchForStall = () => {
      const remainingMs = lastBytes + request.stallMs - clock.now();
      if (remainingMs <= 0) stall.abort();
      else stopStallTimer = clock.setTimer(watchForStall, remainingMs);
    };
    watchForStall();
    const lines = new LineSplitter(MAX_LINE_BYTES);
    for await (const chunk of chunks) {
      lastBytes = clock.now();
      request.onActivity?.();
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
    stopStallTimer();
  }
}

const NEWLINE = 0x0a;

/**
 * Splits a stream of bytes into lines. Works on bytes, because a character may be split between two chunks. Keeps an
 * unfinished line for the next chunk. If the stream ends within a line, this line is dropped.
 */
export class LineSplitter {
  readonly #maxLineBytes: number;
  #partial: Uint8Array[] = [];
  #partialBytes = 0;

  constructor(maxLineBytes: number) {
    this.#maxLineBytes = maxLineBytes;
  }

  /** Returns the non-empty lines that `chunk` completes. Throws a {@link ConnectionError} if a line is too long. */
  push(chunk: Uint8Array): string[] {
    const bytes = asBuffer(chunk);
    const lines: string[] = [];
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
      const line = this.#line(bytes, start, end).trim();
      if (line !== '') lines.push(line);
      start = end + 1;
    }
    if (start < bytes.length) {
      this.#partial.push(bytes.subarray(start));
      this.#partialBytes += bytes.length - start;
      this.#assertShort(this.#partialBytes);
    }
    return lines;
  }

  /** Returns the line that ends at `end`. Copies bytes only if the line began in an earlier chunk. */
  #line(bytes: Buffer, start: number, end: number): string {
    this.#assertShort(this.#partialBytes + end - start);
    if (this.#partialBytes === 0) return bytes.toString('utf8', start, end);
    const whole = Buffer.concat([...this.#partial, bytes.subarray(start, end)]);
    this.#partial = [];
    this.#partialBytes = 0;
    return whole.toString('utf8');
  }

  #assertShort(bytes: number): void {
    if (bytes > this.#maxLineBytes) {
      throw new ConnectionError(`a line of the watch is longer than ${this.#maxLineBytes} bytes`, {
        code: 'MALFORMED_ANSWER',
      });
    }
  }
}

export type WatchEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: KubernetesObject }
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string };

/** Throws the {@link ApiError} of an ERROR event, and a {@link ConnectionError} for an invalid event. */
export function parseWatchEvent(line: string, path: string): WatchEvent {
  let event: unknown;
  try {
    event = JSON.parse(line);
  } catch (cause) {
    throw notAnEvent(path, line, { cause });
  }
  const { type, object }: JsonObject = isJsonObject(event) ? event : {};
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      if (!isKubernetesObject(object)) throw notAnEvent(path, line);
      return { type, object };
    case 'BOOKMARK': {
      // A bookmark has no name, so isKubernetesObject() rejects it.
      const resourceVersion = metadataText(object, 'resourceVersion');
      if (!resourceVersion) throw notAnEvent(path, line);
      return { type, resourceVersion };
    }
    case 'ERROR':
      throw isJsonObject(object)
        ? apiErrorFromStatus({ method: 'GET', path }, object)
        : new ApiError({ method: 'GET', path, status: 500, message: 'the watch failed without explanation' });
    default:
      throw notAnEvent(path, line);
  }
}

function notAnEvent(path: string, line: string, options?: ErrorOptions): ConnectionError {
  const problem = `not a watch event: ${line.slice(0, 200)}`;
  return connectionError({ method: 'GET', path }, 'MALFORMED_ANSWER', problem, options);
}
