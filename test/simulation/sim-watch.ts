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

/** How events travel to a watch. */
export interface SimWatchLink {
  /** How long the next one does, in milliseconds. */
  readonly delayMs: () => number;
  /** Whether the next one takes the place of what is on its way about the same object. */
  readonly coalesces?: () => boolean;
}

const BOOKMARK_MS = 60_000;

/** One watch as its reader sees it: events arrive late but in order, until it ends or breaks. */
export class SimWatch implements AsyncIterable<Uint8Array> {
  readonly #process: SimProcess;
  readonly #request: ApiRequest;
  readonly #link: SimWatchLink;
  /** On their way. */
  readonly #travelling: Chunk[] = [];
  /** Arrived, not yet read. */
  readonly #arrived: Uint8Array[] = [];
  #lastDueAt: Instant = Number.NEGATIVE_INFINITY;
  /** Waits for what is next. */
  #reader: Reader | undefined;
  #outcome: { readonly error: Error | undefined } | undefined;
  #isHeld = false;
  #isRead = false;
  #isSilent = false;
  /** The server that it is open at. */
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

  /** Whether anybody reads it: an answer may be late or lost, and what the server sends with it. */
  get isRead(): boolean {
    return this.#isRead;
  }

  set isHeld(isHeld: boolean) {
    this.#isHeld = isHeld;
    if (!isHeld) this.#deliver();
  }

  /** Nothing arrives any more, and nobody is told: a connection that something between has forgotten. */
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
      // A real server sends none to whoever is ahead of it.
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

  /** An ERROR event, after which the server has nothing more to say. */
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

  /** Nothing comes of it any more, not even its end. */
  forget(): void {
    // Node holds on to a signal made of others for as long as anybody listens to it.
    this.#request.signal?.removeEventListener('abort', this.#onAbort);
    this.#stop();
    for (const cancel of this.#cancels) cancel();
    this.#travelling.length = 0;
  }

  /** Written out, as a generator would cost more than what it carries. */
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

  /** What has arrived comes before the end. */
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

  /** Puts it in the place of what is on its way about the same object, as whatever stands between may do. */
  #coalesced(change: SimChange, dueAt: Instant): boolean {
    if (!this.#link.coalesces?.()) return false;
    const index = this.#travelling.findIndex((other) => other.change && isSameObject(other.change, change));
    const former = this.#travelling[index]?.change;
    // That an object has come is told by itself, as it was then.
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
      // Once it is awake again.
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
