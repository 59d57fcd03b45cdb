import type { ApiRequest } from '../../src/kubernetes/client.ts';
import { type ApiError, ConnectionError } from '../../src/kubernetes/errors.ts';
import type { Instant } from '../../src/support/clock.ts';
import type { SimApiServer } from './sim-api-server.ts';
import type { SimProcess } from './sim-process.ts';
import { keyOf, type SimChange } from './sim-store.ts';

interface Chunk {
  readonly line: Uint8Array;
  readonly change: SimChange | undefined;
  readonly dueAt: Instant;
}

interface Reader {
  readonly resolve: (result: IteratorResult<Uint8Array, undefined>) => void;
  readonly reject: (error: Error) => void;
}

/** The delivery of events to a watch. */
export interface SimWatchLink {
  /** Delay of the next event, in milliseconds. */
  readonly delayMs: () => number;
  /** Whether the next event replaces an event in flight for the same object. */
  readonly coalesces?: () => boolean;
}

const BOOKMARK_MS = 60_000;

/** A watch as its reader sees it: events arrive late but in order, until the watch ends or breaks. */
export class SimWatch implements AsyncIterable<Uint8Array> {
  readonly #process: SimProcess;
  readonly #request: ApiRequest;
  readonly #link: SimWatchLink;
  /** Events in flight. */
  readonly #travelling: Chunk[] = [];
  /** Events that have arrived and are not read yet. */
  readonly #arrived: Uint8Array[] = [];
  #lastDueAt: Instant = Number.NEGATIVE_INFINITY;
  /** Waits for the next event. */
  #reader: Reader | undefined;
  #outcome: { readonly error: Error | undefined } | undefined;
  #isHeld = false;
  #isRead = false;
  #isSilent = false;
  /** The server of the watch. */
  #api: SimApiServer | undefined;
  #stop = (): void => {};
  readonly #cancels: (() => void)[] = [];
  readonly #onAbort = (): void => this.end(new ConnectionError('aborted', { code: 'ABORTED' }));
  onEnd = (): void => {};

  constructor(process: SimProcess, request: ApiRequest, link: SimWatchLink) {
    this.#process = process;
    this.#request = request;
    this.#link = link;
    request.signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  isAt(api: SimApiServer): boolean {
    return this.#api === api;
  }

  get isBehind(): boolean {
    return this.#travelling.length > 0 || this.#arrived.length > 0;
  }

  /** Whether there is a reader. The answer that opens the watch may be late or lost, together with its events. */
  get isRead(): boolean {
    return this.#isRead;
  }

  set isHeld(isHeld: boolean) {
    this.#isHeld = isHeld;
    if (!isHeld) this.#deliver();
  }

  /** No event arrives any more, and the reader does not notice: a proxy has dropped the connection. */
  silence(): void {
    this.#isSilent = true;
    this.#travelling.length = 0;
  }

  begin(api: SimApiServer): void {
    this.#api = api;
    this.#stop = api.watch(this.#request, (change) => {
      change.line ??= lineOf({ type: change.type, object: change.object });
      this.#send(change.line, change);
    });
    const { world } = this.#process;
    const from = Number(this.#request.query?.['resourceVersion']);
    const bookmark = () => {
      // A real server sends no bookmark to a watcher that is ahead of it.
      if (api.cachedUpTo >= from)
        this.#send(
          lineOf({ type: 'BOOKMARK', object: { metadata: { resourceVersion: `${api.cachedUpTo}` } } }),
        );
      this.#cancels[0] = world.setTimer(bookmark, BOOKMARK_MS);
    };
    this.#cancels[0] = world.setTimer(bookmark, BOOKMARK_MS);
    const timeoutSeconds = Number(this.#request.query?.['timeoutSeconds'] ?? 300);
    this.#cancels[1] = world.setTimer(() => {
      if (!this.#isSilent) this.end(undefined);
    }, timeoutSeconds * 1000);
  }

  /** An ERROR event. The server sends nothing after it. */
  sendError({ status, reason, message }: ApiError): void {
    this.#send(lineOf({ type: 'ERROR', object: { kind: 'Status', code: status, reason, message } }));
  }

  end(error: Error | undefined): void {
    if (this.#outcome) return;
    this.#outcome = { error };
    this.forget();
    this.onEnd();
    this.#wake();
  }

  /** The reader gets nothing any more, not even the end. */
  forget(): void {
    // Node keeps a signal from AbortSignal.any alive while it has listeners.
    this.#request.signal?.removeEventListener('abort', this.#onAbort);
    this.#stop();
    for (const cancel of this.#cancels) cancel();
    this.#travelling.length = 0;
  }

  /** Not a generator, which would be more expensive than the events. */
  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    this.#isRead = true;
    return {
      next: () => new Promise((resolve, reject) => this.#read({ resolve, reject })),
      return: () => {
        this.end(undefined);
        return Promise.resolve({ value: undefined, done: true });
      },
    };
  }

  /** Events that have arrived come before the end. */
  #read(reader: Reader): void {
    const line = this.#arrived.shift();
    if (line) reader.resolve({ value: line, done: false });
    else if (!this.#outcome) this.#reader = reader;
    else if (this.#outcome.error) reader.reject(this.#outcome.error);
    else reader.resolve({ value: undefined, done: true });
  }

  #wake(): void {
    const reader = this.#reader;
    this.#reader = undefined;
    if (reader) this.#read(reader);
  }

  #send(line: Uint8Array, change?: SimChange): void {
    if (this.#isSilent) return;
    const { world } = this.#process;
    const dueAt = Math.max(this.#lastDueAt, world.now() + this.#link.delayMs());
    this.#lastDueAt = dueAt;
    const isCoalesced = change !== undefined && this.#coalesced(change, dueAt);
    if (!isCoalesced) this.#travelling.push({ line, change, dueAt });
    if (dueAt <= world.now()) this.#deliver();
    else world.setTimer(() => this.#deliver(), dueAt - world.now());
  }

  /** Replaces an event in flight for the same object, as a watch cache may do. */
  #coalesced(change: SimChange, dueAt: Instant): boolean {
    if (!this.#link.coalesces?.()) return false;
    const index = this.#travelling.findIndex((other) => other.change && isSameObject(other.change, change));
    const former = this.#travelling[index]?.change;
    // The event that an object has appeared is delivered separately, with its state at that time.
    if (!former || former.type === 'ADDED') return false;
    this.#travelling.splice(index, 1);
    const type: SimChange['type'] = change.type === 'DELETED' ? 'DELETED' : 'MODIFIED';
    const merged = { ...change, type };
    this.#travelling.push({ line: lineOf({ type, object: change.object }), change: merged, dueAt });
    return true;
  }

  #deliver(): void {
    const now = this.#process.world.now();
    if (this.#isHeld || this.#outcome || !this.#process.isAlive) return;
    if (this.#process.isPaused) {
      // After the process resumes.
      this.#process.setTimer(() => this.#deliver(), 0);
      return;
    }
    for (let [next] = this.#travelling; next && next.dueAt <= now; [next] = this.#travelling) {
      this.#travelling.shift();
      this.#arrived.push(next.line);
    }
    this.#wake();
  }
}

function lineOf(event: unknown): Uint8Array {
  return Buffer.from(`${JSON.stringify(event)}\n`);
}

function isSameObject(a: SimChange, b: SimChange): boolean {
  return a.resource === b.resource && keyOf(a.object) === keyOf(b.object);
}
