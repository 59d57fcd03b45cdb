import type { ApiRequest, KubernetesClient } from '../../src/kubernetes/client.ts';
import { ConnectionError } from '../../src/kubernetes/errors.ts';
import type { KubernetesObject } from '../../src/kubernetes/objects.ts';
import type { JsonObject } from '../../src/support/json.ts';

/** A watch whose events come from a test. */
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

  /** Whether it has ended or its reader is gone. */
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

/** A client without a server: a test scripts the answers of lists and watches, and provides the events. */
export class ScriptedClient implements KubernetesClient {
  readonly server = 'scripted';
  /** Except requests for the server's current revision. */
  readonly requests: ApiRequest[] = [];
  readonly watches: ScriptedWatch[] = [];
  /** Answers a request. */
  onRequest: (request: ApiRequest) => JsonObject | Promise<JsonObject> = () => makeList([], '1');
  /** Answers a request for the server's current revision before a watch resumes. Default: unknown. */
  onLook: (request: ApiRequest) => JsonObject | Promise<JsonObject> = () => ({});
  /** Throws to refuse a watch. Returns a promise to delay it. */
  onWatch: (request: ApiRequest) => void | Promise<void> = () => {};

  async request(request: ApiRequest): Promise<JsonObject> {
    if (isLook(request)) return await this.onLook(request);
    this.requests.push(request);
    return await this.onRequest(request);
  }

  async stream(request: ApiRequest): Promise<AsyncIterable<Uint8Array>> {
    const opening = this.onWatch(request);
    const watch = new ScriptedWatch(request);
    this.watches.push(watch);
    if (opening instanceof Promise) await opening;
    return watch;
  }

  async close(): Promise<void> {}

  /** The latest watch. */
  get watch(): ScriptedWatch {
    const watch = this.watches.at(-1);
    if (!watch) throw new Error('no watch has been opened');
    return watch;
  }
}

/** Pages of a list may have one item as well, but have a continue token, even an empty one. */
function isLook({ query = {} }: ApiRequest): boolean {
  return query['limit'] === 1 && !('continue' in query);
}

/** An object named `name` at a resourceVersion. */
export function makeObject(name: string, resourceVersion: string, fields: JsonObject = {}): KubernetesObject {
  return { metadata: { name, namespace: 'default', uid: `uid-of-${name}`, resourceVersion }, ...fields };
}

/** A page of a list; the last one unless it has a continue token. */
export function makeList(items: readonly unknown[], resourceVersion: string, token?: string): JsonObject {
  return { kind: 'List', metadata: { resourceVersion, ...(token && { continue: token }) }, items };
}
