import type { IncomingHttpHeaders } from 'node:http';
import { type Agent, request } from 'node:https';

/** How to reach an API server, and as whom. */
export interface ApiAccess {
  readonly url: string;
  /** PEM of the certificate to trust. */
  readonly ca: string;
  readonly token: string;
  /** Where connections come from; by default each request has one of its own. */
  readonly agent?: Agent;
}

/** What the API server answered. */
export interface ApiAnswer {
  readonly status: number;
  readonly text: string;
  readonly headers: IncomingHttpHeaders;
}

/**
 * One request with a JSON body, on a connection of its own unless told otherwise: a control plane's tests suspend and
 * restart the server, which pooled connections would not survive.
 */
export function apiRequest(
  access: ApiAccess,
  method: string,
  path: string,
  body?: unknown,
): Promise<ApiAnswer> {
  const content = body === undefined ? undefined : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const outgoing = request(new URL(path, access.url), {
      method,
      ca: access.ca,
      agent: access.agent ?? false,
      timeout: 10_000,
      headers: {
        authorization: `Bearer ${access.token}`,
        accept: 'application/json',
        // Without its length Node sends no body with a DELETE.
        ...(content === undefined
          ? {}
          : { 'content-type': contentType(method), 'content-length': Buffer.byteLength(content) }),
      },
    });
    outgoing.once('timeout', () => outgoing.destroy(new Error(`${method} ${path}: no answer in 10 s`)));
    outgoing.once('error', reject);
    outgoing.once('response', (incoming) => {
      let text = '';
      incoming.setEncoding('utf8');
      incoming.on('data', (chunk: string) => {
        text += chunk;
      });
      incoming.once('end', () => {
        resolve({ status: incoming.statusCode ?? 0, text, headers: incoming.headers });
      });
      incoming.once('error', reject);
    });
    outgoing.end(content);
  });
}

function contentType(method: string): string {
  return method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
}
