import { Agent } from 'node:https';
import { type ApiAccess, apiRequest } from '../control-plane/api-request.ts';

/** The result of a request; `status` 0: no answer. */
export interface Outcome {
  readonly status: number;
  readonly object: unknown;
}

/** Sends a request to an API server that may be down. Never throws. */
export type Ask = (method: string, path: string, body?: unknown) => Promise<Outcome>;

/** As many parallel requests as an API server answers without queueing. */
const CONNECTIONS = 64;

/** Requests on kept connections: with a connection for each, TLS would use more CPU than the requests. */
export function askerOf(access: ApiAccess): { readonly ask: Ask; close(): void } {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  return {
    async ask(method, path, body) {
      try {
        const { status, text } = await apiRequest({ ...access, agent }, method, path, body);
        return { status, object: status < 300 ? (JSON.parse(text) as unknown) : undefined };
      } catch {
        return { status: 0, object: undefined };
      }
    },
    close: () => agent.destroy(),
  };
}

export function isOk({ status }: Outcome): boolean {
  return status >= 200 && status < 300;
}
