import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { isSuccess, MOST_ERROR_BYTES } from './answer-text.ts';
import type { OutgoingRequest, WholeAnswer } from './channel.ts';

/**
 * Sends a request and takes in its answer as it comes. A stream of the body, which undici's `request()` makes, takes as long
 * as a third of all the rest of a short request.
 */
export function exchange(
  dispatcher: Dispatcher,
  url: string,
  request: OutgoingRequest,
): Promise<WholeAnswer> {
  return new Promise((resolve, reject) => {
    const { origin, path } = splitUrl(url);
    const { method, headers, body, signal } = request;
    dispatcher.dispatch(
      {
        origin,
        path,
        method: method as Dispatcher.HttpMethod,
        headers: { ...headers },
        body: body ?? null,
      },
      new Exchange(signal, { resolve, reject }),
    );
  });
}

interface Settling {
  resolve(answer: WholeAnswer): void;
  reject(error: unknown): void;
}

class Exchange implements Dispatcher.DispatchHandler {
  readonly #signal: AbortSignal;
  readonly #settle: Settling;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  #statusCode = 0;
  #headers: IncomingHttpHeaders = {};
  #controller: Dispatcher.DispatchController | undefined;

  constructor(signal: AbortSignal, settle: Settling) {
    this.#signal = signal;
    this.#settle = settle;
    signal.addEventListener('abort', this.#abort, { once: true });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // To abort it would end the connection, which has carried nothing yet and serves the next request.
    if (this.#signal.aborted) throw this.#signal.reason;
    this.#controller = controller;
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
  ): void {
    this.#statusCode = statusCode;
    this.#headers = headers;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (isSuccess(this.#statusCode) || this.#bytes < MOST_ERROR_BYTES) return;
    this.#answer();
    controller.abort(new Error('the answer is longer than is read of one that says what went wrong'));
  }

  onResponseEnd(): void {
    this.#answer();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#end();
    this.#settle.reject(error);
  }

  #answer(): void {
    this.#end();
    const [first = Buffer.alloc(0), ...others] = this.#chunks;
    const whole = others.length === 0 ? first : Buffer.concat(this.#chunks);
    const text = isSuccess(this.#statusCode) ? whole : whole.subarray(0, MOST_ERROR_BYTES);
    this.#settle.resolve({
      statusCode: this.#statusCode,
      headers: this.#headers,
      text: text.toString('utf8'),
    });
  }

  #end(): void {
    this.#signal.removeEventListener('abort', this.#abort);
  }

  readonly #abort = (): void => this.#controller?.abort(this.#signal.reason);
}

function splitUrl(url: string): { readonly origin: string; readonly path: string } {
  const at = url.indexOf('/', url.indexOf('://') + 3);
  return { origin: url.slice(0, at), path: url.slice(at) };
}
