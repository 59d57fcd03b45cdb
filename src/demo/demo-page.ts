import { createServer } from 'node:http';
import type { StatusPage } from '../status-page/status-page.ts';
import { hostAndPort, type ListenAddress, listenOn } from '../support/address.ts';

/** The status page of the demo, served. */
export interface DemoPage {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Serves the page and nothing else.
 *
 * @throws {Error} that names the address and what to do, when it cannot listen there.
 */
export async function servePage(page: StatusPage, listen: ListenAddress): Promise<DemoPage> {
  const server = createServer((request, response) => {
    const [path = ''] = (request.url ?? '').split('?', 1);
    if ((request.method === 'GET' || request.method === 'HEAD') && page.has(path)) {
      page.answer(request, response);
    } else {
      response.writeHead(404, { 'Content-Type': 'text/plain; charset=utf-8' }).end('not found; there is /\n');
    }
  });
  const port = await listenOn(server, listen);
  return {
    url: `http://${hostAndPort(listen.host, port)}/`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        page.close();
        server.closeAllConnections();
      }),
  };
}
