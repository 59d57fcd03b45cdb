import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';

/** The outcome of a request. */
export type Reply =
  | { readonly kind: 'answered'; readonly status: number; readonly text: string }
  /** It had no connection: the server cannot have received it. */
  | { readonly kind: 'notSent' }
  /** The server may have received it, or may receive it later. */
  | { readonly kind: 'unanswered' };

/** A client of the API with its own connection. */
export interface Connection {
  send(method: string, path: string, body?: unknown, giveUpAfterMs?: number): Promise<Reply>;
  /** Resolves to the response of a watch, with any status. Rejects if there is no response. */
  open(path: string): Promise<IncomingMessage>;
  close(): void;
}

const TIMEOUT_MS = 20_000;

/**
 * Connects to a server without verification of its certificate: a server without a data directory creates a new one
 * at each start.
 */
export function connect(url: string, token: string): Connection {
  const isSecure = url.startsWith('https:');
  const agent = isSecure
    ? new HttpsAgent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false })
    : new HttpAgent({ keepAlive: true, maxSockets: 1 });
  const request = isSecure ? requestHttps : requestHttp;
  const headers = { authorization: `Bearer ${token}`, accept: 'application/json' };
  return {
    send(method, path, body, giveUpAfterMs = TIMEOUT_MS) {
      const content = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
      return new Promise((resolve) => {
        const outgoing = request(new URL(path, url), {
          method,
          agent,
          headers: {
            ...headers,
            ...(content && { 'content-type': contentType(method), 'content-length': content.length }),
          },
        });
        let isConnected = false;
        const deadline = setTimeout(() => outgoing.destroy(new Error('given up')), giveUpAfterMs);
        const end = (reply: Reply) => {
          clearTimeout(deadline);
          resolve(reply);
        };
        outgoing.once('socket', (socket) => {
          if (!socket.connecting) isConnected = true;
          else {
            socket.once('connect', () => {
              isConnected = true;
            });
          }
        });
        const fail = () => end({ kind: isConnected ? 'unanswered' : 'notSent' });
        outgoing.once('error', fail);
        outgoing.once('response', (incoming) => {
          const chunks: Buffer[] = [];
          incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
          incoming.once('end', () => {
            const text = Buffer.concat(chunks).toString('utf8');
            end({ kind: 'answered', status: incoming.statusCode ?? 0, text });
          });
          incoming.once('error', fail);
        });
        outgoing.end(content);
      });
    },
    open(path) {
      return new Promise((resolve, reject) => {
        const outgoing = request(new URL(path, url), { agent, headers });
        outgoing.once('response', resolve);
        outgoing.on('error', reject);
        outgoing.end();
      });
    },
    close: () => agent.destroy(),
  };
}

function contentType(method: string): string {
  return method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
}
