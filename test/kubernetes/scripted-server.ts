import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';

/** A real server on its own port that answers as a test scripts it, and counts connections and requests. */
export class ScriptedServer {
  readonly #server: Server;
  readonly #open = new Set<Socket>();
  /** Number of all connections so far. */
  connections = 0;
  /** Requests in the order of their arrival. */
  readonly requests: IncomingMessage[] = [];
  /** Answers a request. Default: no answer. */
  answer: (request: IncomingMessage, response: ServerResponse) => void = () => {};

  private constructor(tls: ServerOptions | undefined) {
    const listener = (request: IncomingMessage, response: ServerResponse) => {
      this.requests.push(request);
      this.answer(request, response);
    };
    this.#server = tls ? createTlsServer(tls, listener) : createServer(listener);
    // It never closes an idle connection: if one closes, the client has closed it.
    this.#server.keepAliveTimeout = 0;
    this.#server.on('connection', (socket: Socket) => {
      this.connections++;
      this.#open.add(socket);
      socket.on('close', () => this.#open.delete(socket));
      socket.on('error', () => {});
    });
  }

  static async start(tls?: ServerOptions): Promise<ScriptedServer> {
    const server = new ScriptedServer(tls);
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve));
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Number of open connections. */
  get openConnections(): number {
    return this.#open.size;
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#open) socket.destroy();
    await closed;
  }
}

/** Answers with JSON. */
export function sendJson(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
