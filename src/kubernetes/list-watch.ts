import type { Clock, Instant } from '../support/clock.ts';
import { isJsonObject } from '../support/json.ts';
import type { KubernetesClient, Query } from './client.ts';
import { ApiError, apiErrorFromStatus, ConnectionError } from './errors.ts';
import { isKubernetesObject, type KubernetesObject } from './objects.ts';
import type { TakeItems } from './read-answer.ts';

/** A page costs the server 10 ms beside its objects, which it sends, and this process reads, one after the other. */
const DEFAULT_PAGE_SIZE = 5000;

/** A complete list, whose pages have been handed over. */
export interface ObjectList {
  /** The state of the server that the list shows, and that a watch goes on from. */
  readonly resourceVersion: string;
  readonly pages: number;
  /** How many items they had. */
  readonly objects: number;
}

/** What to list, and how. */
export interface ListRequest {
  readonly path: string;
  readonly query: Query;
  /** Items per page, default 5000. */
  readonly pageSize?: number;
  /** For each page, in milliseconds. */
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
  /**
   * Called when the list is begun, and when it is begun anew, so that what was handed over before is void. What it returns
   * takes the items as they arrive, some at a time, not looked at yet: all of them at once would be several times what is
   * kept. More are read once the promise that it returns has resolved.
   */
  readonly begin: () => TakeItems;
}

/**
 * Lists page by page and resolves once it has the last. When the server has meanwhile forgotten the state that the
 * pages show (410), the list is begun anew, once. Rejects as the client does.
 */
export function listAllPages(client: KubernetesClient, request: ListRequest): Promise<ObjectList> {
  return listFromStart(client, request, true);
}

async function listFromStart(
  client: KubernetesClient,
  request: ListRequest,
  mayBeginAnew: boolean,
): Promise<ObjectList> {
  const take = request.begin();
  let objects = 0;
  let token: string | undefined;
  for (let pages = 1; ; pages++) {
    let page: Page;
    try {
      page = await readPage(client, request, token, take);
    } catch (error) {
      // In answer to a list's first page it means something else.
      const isForgotten = pages > 1 && error instanceof ApiError && error.status === 410;
      if (isForgotten && mayBeginAnew) return await listFromStart(client, request, false);
      throw error;
    }
    objects += page.objects;
    token = page.token;
    if (token === undefined) return { resourceVersion: page.resourceVersion, pages, objects };
  }
}

interface Page {
  readonly objects: number;
  readonly resourceVersion: string;
  readonly token: string | undefined;
}

async function readPage(
  client: KubernetesClient,
  request: ListRequest,
  token: string | undefined,
  take: TakeItems,
): Promise<Page> {
  const { path, query, pageSize = DEFAULT_PAGE_SIZE, deadlineMs, signal } = request;
  let objects = 0;
  const takeItems = (items: readonly unknown[]) => {
    objects += items.length;
    return take(items);
  };
  const answer = await client.request({
    method: 'GET',
    path,
    query: { ...query, limit: pageSize, continue: token },
    deadlineMs,
    signal,
    takeItems,
  });
  const { items, metadata } = answer as { items?: unknown; metadata?: unknown };
  const resourceVersion = isJsonObject(metadata) ? metadata['resourceVersion'] : undefined;
  const next = isJsonObject(metadata) ? metadata['continue'] : undefined;
  // Go writes an empty list that was never allocated as null.
  if (
    !(Array.isArray(items) || items === null) ||
    typeof resourceVersion !== 'string' ||
    resourceVersion === ''
  ) {
    throw new ConnectionError(`GET ${path}: the answer is not a list with a resourceVersion`, {
      code: 'MALFORMED_ANSWER',
    });
  }
  // A client that has its answers whole takes none out of them.
  if (items !== null && items.length > 0) await takeItems(items);
  return { objects, resourceVersion, token: typeof next === 'string' && next !== '' ? next : undefined };
}

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

const NEWLINE = 0x0a;

/**
 * Cuts a stream of bytes into lines. It works on bytes, so that a character split between two chunks is whole again
 * before it is decoded. What follows the last newline is kept for the next chunk; at the end of a stream it is a
 * truncated line and simply never comes out.
 */
export class LineSplitter {
  readonly #maxLineBytes: number;
  #partial: Uint8Array[] = [];
  #partialBytes = 0;

  constructor(maxLineBytes: number) {
    this.#maxLineBytes = maxLineBytes;
  }

  /**
   * The lines that `chunk` completes, without their newlines; empty ones are left out. Throws a {@link ConnectionError}
   * (`MALFORMED_ANSWER`) when a line gets longer than allowed.
   */
  push(chunk: Uint8Array): string[] {
    const bytes = Buffer.isBuffer(chunk)
      ? chunk
      : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const lines: string[] = [];
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
      const line = this.#line(bytes, start, end).trim();
      if (line !== '') lines.push(line);
      start = end + 1;
    }
    if (start < bytes.length) this.#append(bytes.subarray(start));
    return lines;
  }

  /** What ends at `end`. Most lines come in one chunk, and need not be copied. */
  #line(bytes: Buffer, start: number, end: number): string {
    if (this.#partial.length === 0) {
      this.#assertShort(end - start);
      return bytes.toString('utf8', start, end);
    }
    this.#append(bytes.subarray(start, end));
    const whole = Buffer.concat(this.#partial);
    this.#partial = [];
    this.#partialBytes = 0;
    return whole.toString('utf8');
  }

  #append(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#partialBytes += bytes.length;
    this.#assertShort(this.#partialBytes);
    this.#partial.push(bytes);
  }

  #assertShort(bytes: number): void {
    if (bytes > this.#maxLineBytes) {
      throw new ConnectionError(`a line of the watch is longer than ${this.#maxLineBytes} bytes`, {
        code: 'MALFORMED_ANSWER',
      });
    }
  }
}

/** One line of a watch. */
export type WatchEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: KubernetesObject }
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string };

/**
 * Reads one line of a watch on `path`. Throws the {@link ApiError} that an ERROR event carries, and a
 * {@link ConnectionError} (`MALFORMED_ANSWER`) for what is no event at all.
 */
export function parseWatchEvent(line: string, path: string): WatchEvent {
  const event = parse(line, path);
  const { type, object } = isJsonObject(event) ? (event as { type?: unknown; object?: unknown }) : {};
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      if (!isKubernetesObject(object)) throw malformed(path, line);
      return { type, object };
    case 'BOOKMARK':
      return { type, resourceVersion: bookmarkOf(object, () => malformed(path, line)) };
    case 'ERROR':
      throw isJsonObject(object)
        ? apiErrorFromStatus({ method: 'GET', path }, object)
        : new ApiError({ method: 'GET', path, status: 500, message: 'the watch failed without explanation' });
    default:
      throw malformed(path, line);
  }
}

/** A bookmark has no name, so that it is no object in the sense of the others. */
function bookmarkOf(object: unknown, failure: () => Error): string {
  const metadata = isJsonObject(object) ? object['metadata'] : undefined;
  const resourceVersion = isJsonObject(metadata) ? metadata['resourceVersion'] : undefined;
  if (typeof resourceVersion !== 'string' || resourceVersion === '') throw failure();
  return resourceVersion;
}

function parse(line: string, path: string): unknown {
  try {
    return JSON.parse(line);
  } catch (error) {
    throw malformed(path, line, { cause: error });
  }
}

function malformed(path: string, line: string, options?: ErrorOptions): ConnectionError {
  return new ConnectionError(`GET ${path}: not a watch event: ${line.slice(0, 200)}`, {
    code: 'MALFORMED_ANSWER',
    ...options,
  });
}
