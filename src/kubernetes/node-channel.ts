import { Agent as HttpAgent, type RequestOptions, request as sendHttp } from 'node:http';
import { Agent as HttpsAgent, request as sendHttps } from 'node:https';
import { readWhole } from './answer-text.ts';
import { type Channel, KEEP_ALIVE_DELAY_MS, KEEP_ALIVE_MS } from './channel.ts';
import type { DispatcherOptions } from './cluster-config.ts';

/** What Node's own modules can do: to connect directly. */
export type DirectOptions = Extract<DispatcherOptions, { readonly type: 'none' | 'agent' }>;

/**
 * Sends with Node's own modules. They take more time for a request than undici, and 15 MB less memory, half of which is
 * what WebAssembly needs; they are all that a program of few requests needs, and work where there is no WebAssembly.
 */
export function openNodeChannel(options: DirectOptions, maxConnections: number): Channel {
  const settings = {
    keepAlive: true,
    keepAliveMsecs: KEEP_ALIVE_DELAY_MS,
    // Of an idle connection: it has no effect on one that is in use.
    timeout: KEEP_ALIVE_MS,
    maxSockets: maxConnections,
  };
  const http = new HttpAgent(settings);
  const https = new HttpsAgent({ ...settings, ...(options.type === 'agent' && options.connect) });
  const agents = [http, https];
  const send: Channel['send'] = (url, { method, headers, body, signal }) =>
    new Promise((resolve, reject) => {
      const request: RequestOptions = { method, headers, signal };
      const call = url.startsWith('https:')
        ? sendHttps(url, { ...request, agent: https })
        : sendHttp(url, { ...request, agent: http });
      call.on('response', (answer) => {
        resolve({ statusCode: answer.statusCode ?? 0, headers: answer.headers, body: answer });
      });
      // Once it is answered, its body fails instead.
      call.on('error', reject);
      call.end(body);
    });
  return {
    send,
    exchange: async (url, request) => readWhole(await send(url, request)),
    retire() {
      for (const agent of agents) {
        agent.maxFreeSockets = 0;
        for (const socket of Object.values(agent.freeSockets).flat()) socket?.destroy();
      }
    },
    cut() {
      for (const agent of agents) agent.destroy();
    },
  };
}
