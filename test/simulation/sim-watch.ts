import type { ApiRequest } from '../../src/kubernetes/client.ts';
import { type ApiError, ConnectionError } from '../../src/kubernetes/errors.ts';
import type { Instant } from '../../src/support/clock.ts';
import type { SimApiServer } from './sim-api-server.ts';
import type { SimProcess } from './sim-process.ts';

interface Chunk {
  readonly bytes: Uint8Array;
  readonly dueAt: Instant;
}

const BOOKMARK_MS = 60_000;

/** One watch as its reader sees it: events arrive late but in order, until it ends or breaks. */
export class SimWatch implements AsyncIterable<Uint8Array> {
  readonly #process: SimProcess;
  readonly #request: ApiRequest;
  readonly #delayMs: () => number;
  /** On their way. */
  readonly #travelling: Chunk[] = [];
  /** Arrived, not yet read. */
  readonly #arrived: Uint8Array[] = [];
  #lastDueAt: Instant = Number.NEGATIVE_INFINITY;
  #wake = (): void => {};
  #outcome: { readonly error: Error | undefined } | undefined;
  #isHeld = false;
  #isRead = false;
  #stop = (): void => {};
  readonly #cancels: (() => void)[] = [];
  onEnd = (): void => {};

  constructor(process: SimProcess, request: ApiRequest, delayMs: () => number) {
    this.#process = process;
    this.#request = request;
    this.#delayMs = delayMs;
    request.signal?.addEventListener(
      'abort',
      () => this.end(new ConnectionError('aborted', { code: 'ABORTED' })),
      { once: true },
    );
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

  begin(api: SimApiServer): void {
    this.#stop = api.watch(this.#request, ({ type, object }) => this.#send({ type, object }));
    const { world } = this.#process;
    const from = Number(this.#request.query?.['resourceVersion']);
    const bookmark = () => {
      // A real server sends none to whoever is ahead of it.
      if (api.store.revision >= from)
        this.#send({ type: 'BOOKMARK', object: { metadata: { resourceVersion: `${api.store.revision}` } } });
      this.#cancels[0] = world.setTimer(bookmark, BOOKMARK_MS);
    };
    this.#cancels[0] = world.setTimer(bookmark, BOOKMARK_MS);
    const timeoutSeconds = Number(this.#request.query?.['timeoutSeconds'] ?? 300);
    this.#cancels[1] = world.setTimer(() => this.end(undefined), timeoutSeconds * 1000);
  }

  /** An ERROR event, after which the server has nothing more to say. */
  sendError({ status, reason, message }: ApiError): void {
    this.#send({ type: 'ERROR', object: { kind: 'Status', code: status, reason, message } });
  }

  end(error: Error | undefined): void {
    if (this.#outcome) return;
    this.#outcome = { error };
    this.#stop();
    for (const cancel of this.#cancels) cancel();
    this.#travelling.length = 0;
    this.onEnd();
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    this.#isRead = true;
    try {
      for (;;) {
        for (let chunk = this.#arrived.shift(); chunk; chunk = this.#arrived.shift()) yield chunk;
        if (this.#outcome) break;
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
      if (this.#outcome.error) throw this.#outcome.error;
    } finally {
      this.end(undefined);
    }
  }

  #send(event: unknown): void {
    const { world } = this.#process;
    const dueAt = Math.max(this.#lastDueAt, world.now() + this.#delayMs());
    this.#lastDueAt = dueAt;
    this.#travelling.push({ bytes: Buffer.from(`${JSON.stringify(event)}\n`), dueAt });
    if (dueAt <= world.now()) this.#deliver();
    else this.#process.setTimer(() => this.#deliver(), dueAt - world.now());
  }

  #deliver(): void {
    const now = this.#process.world.now();
    if (this.#isHeld || this.#outcome || !this.#process.isAlive) return;
    if (this.#process.isPaused) {
      this.#process.setTimer(() => this.#deliver(), 0);
      return;
    }
    for (let [next] = this.#travelling; next && next.dueAt <= now; [next] = this.#travelling) {
      this.#travelling.shift();
      this.#arrived.push(next.bytes);
    }
    this.#wake();
  }
}
