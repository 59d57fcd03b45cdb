import { Agent } from 'node:https';
import { type ApiAccess, apiRequest } from '../control-plane/api-request.ts';

/** What came of a request; `status` 0: the server could not be asked. */
export interface Outcome {
  readonly status: number;
  readonly object: unknown;
}

/** Asks an API server that may be away; never throws. */
export type Ask = (method: string, path: string, body?: unknown) => Promise<Outcome>;

/** As many requests at a time as an API server answers without queueing them. */
const CONNECTIONS = 64;

/** Requests on connections that are kept: with one for each, TLS would take more of the machine than the requests. */
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
