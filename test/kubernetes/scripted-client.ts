import type { ApiRequest, KubernetesClient } from '../../src/kubernetes/client.ts';
import { ConnectionError } from '../../src/kubernetes/errors.ts';
import type { KubernetesObject } from '../../src/kubernetes/objects.ts';
import type { JsonObject } from '../../src/support/json.ts';

/** A watch that a test feeds. */
export class ScriptedWatch implements AsyncIterable<Uint8Array> {
  readonly request: ApiRequest;
  readonly #chunks: Uint8Array[] = [];
  #wake = (): void => {};
  #outcome: { readonly error: Error | undefined } | undefined;

  constructor(request: ApiRequest) {
    this.request = request;
    request.signal?.addEventListener('abort', () =>
      this.fail(new ConnectionError('aborted', { code: 'ABORTED' })),
    );
  }

  /** Whether its reader is gone or it has ended. */
  get ended(): boolean {
    return this.#outcome !== undefined;
  }

  /** The given query parameter of its request. */
  get resourceVersion(): unknown {
    return this.request.query?.['resourceVersion'];
  }

  /** Sends one event. */
  event(type: string, object: unknown): void {
    this.bytes(`${JSON.stringify({ type, object })}\n`);
  }

  bookmark(resourceVersion: string): void {
    this.event('BOOKMARK', { metadata: { resourceVersion } });
  }

  bytes(text: string | Uint8Array): void {
    this.#chunks.push(typeof text === 'string' ? Buffer.from(text) : text);
    this.#wake();
  }

  end(): void {
    this.#outcome ??= { error: undefined };
    this.#wake();
  }

  fail(error: Error): void {
    this.#outcome ??= { error };
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        for (let chunk = this.#chunks.shift(); chunk; chunk = this.#chunks.shift()) yield chunk;
        if (this.#outcome) break;
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
      if (this.#outcome.error) throw this.#outcome.error;
    } finally {
      this.end();
    }
  }
}

/** A client without a server: a test says what lists answer and how watches open, and feeds the watches. */
export class ScriptedClient implements KubernetesClient {
  readonly server = 'scripted';
  /** But for looks at where the server is. */
  readonly requests: ApiRequest[] = [];
  readonly watches: ScriptedWatch[] = [];
  /** Answers a request. */
  onRequest: (request: ApiRequest) => JsonObject | Promise<JsonObject> = () => makeList([], '1');
  /** Answers a look at where the server is, before a watch goes on; by default it does not say. */
  onLook: (request: ApiRequest) => JsonObject | Promise<JsonObject> = () => ({});
  /** Throws to refuse a watch. */
  onWatch: (request: ApiRequest) => void = () => {};

  async request(request: ApiRequest): Promise<JsonObject> {
    if (isLook(request)) return await this.onLook(request);
    this.requests.push(request);
    return await this.onRequest(request);
  }

  async stream(request: ApiRequest): Promise<AsyncIterable<Uint8Array>> {
    this.onWatch(request);
    const watch = new ScriptedWatch(request);
    this.watches.push(watch);
    return watch;
  }

  async close(): Promise<void> {}

  /** The watch opened last. */
  get watch(): ScriptedWatch {
    const watch = this.watches.at(-1);
    if (!watch) throw new Error('no watch has been opened');
    return watch;
  }
}

/** Pages of a list may have one item as well, but ask to continue, if only with nothing. */
function isLook({ query = {} }: ApiRequest): boolean {
  return query['limit'] === 1 && !('continue' in query);
}

/** An object named `name` at a resourceVersion. */
export function makeObject(name: string, resourceVersion: string, fields: JsonObject = {}): KubernetesObject {
  return { metadata: { name, namespace: 'default', uid: `uid-of-${name}`, resourceVersion }, ...fields };
}

/** One page of a list, the last one unless there is a token to continue with. */
export function makeList(items: readonly unknown[], resourceVersion: string, token?: string): JsonObject {
  return { kind: 'List', metadata: { resourceVersion, ...(token && { continue: token }) }, items };
}
