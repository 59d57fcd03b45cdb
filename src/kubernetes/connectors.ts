import type { buildConnector } from 'undici';
import { loadUndici } from './load-undici.ts';

/** Node's options, which undici hands on; its own types know the signal only for connections without TLS. */
type ConnectorOptions = buildConnector.BuildOptions & { readonly signal: AbortSignal };

/**
 * Makes connections, and can end all of them at once, those that are only being made among them, which undici would see
 * through to their end.
 */
export class Connectors {
  /** What ends each of the connections that there are. One signal for all would keep each of them for as long as it lives. */
  readonly #open = new Set<AbortController>();
  #isCut = false;

  /** A connector of undici's. */
  make(options: buildConnector.BuildOptions): buildConnector.connector {
    const { buildConnector: build } = loadUndici();
    /** The next handshake resumes it. */
    let session: Buffer | undefined;
    return (target, callback) => {
      const ending = new AbortController();
      if (this.#isCut) ending.abort();
      else this.#open.add(ending);
      const own: ConnectorOptions = { ...options, ...(session && { session }), signal: ending.signal };
      build(own)(target, (...outcome) => {
        const [, socket] = outcome;
        if (!socket) this.#open.delete(ending);
        socket?.once('close', () => this.#open.delete(ending));
        // Only TLS has them.
        socket?.on('session', (next: Buffer) => {
          session = next;
        });
        callback(...outcome);
      });
    };
  }

  /** Ends all connections, and those to come. */
  cut(): void {
    this.#isCut = true;
    for (const ending of this.#open) ending.abort();
    this.#open.clear();
  }
}
