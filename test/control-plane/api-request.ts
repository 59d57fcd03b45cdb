import type { IncomingHttpHeaders } from 'node:http';
import { type Agent, request } from 'node:https';
import { setTimeout } from 'node:timers/promises';

/** The address of an API server, and the credentials. */
export interface ApiAccess {
  readonly url: string;
  /** PEM of the certificate to trust. */
  readonly ca: string;
  readonly token: string;
  /** The agent for connections; default: each request opens its own. */
  readonly agent?: Agent;
}

/** As many as client-go's. */
const MAX_RETRIES = 10;

/** The response of the API server. */
export interface ApiAnswer {
  readonly status: number;
  readonly text: string;
  readonly headers: IncomingHttpHeaders;
}

/**
 * One request with a JSON body, by default on its own connection: tests of a control plane suspend and restart the
 * server, which pooled connections do not survive.
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
        // Without a Content-Length, Node sends no body with a DELETE.
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

/**
 * The same, but retries while the server answers 429 with Retry-After, like client-go: a server that has just started
 * answers this for custom resources that it has not loaded yet.
 */
export async function apiRequestInTurn(
  access: ApiAccess,
  method: string,
  path: string,
  body?: unknown,
): Promise<ApiAnswer> {
  for (let attempt = 1; ; attempt++) {
    const answer = await apiRequest(access, method, path, body);
    const retryAfterSeconds = Number(answer.headers['retry-after']);
    if (answer.status !== 429 || Number.isNaN(retryAfterSeconds) || attempt > MAX_RETRIES) return answer;
    await setTimeout(retryAfterSeconds * 1000);
  }
}

function contentType(method: string): string {
  return method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
}
