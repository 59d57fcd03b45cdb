import { once } from 'node:events';
import { createReadStream, existsSync, readFileSync, statSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeAuthority, makeIdentity } from '../../kubernetes/certificates.ts';
import type { ContainerRun } from './container-run.ts';

/** Serves `kubectl logs`, with `--follow`, `--tail` and `--previous`, like the kubelet's own API. */
export async function startLogServer(
  address: string,
  find: (namespace: string, pod: string, container: string) => ContainerRun | undefined,
): Promise<{ readonly port: number; close(): Promise<void> }> {
  const { cert, key } = makeIdentity(makeAuthority(), 'node');
  const server = createServer({ cert, key }, (request, response) => {
    const url = new URL(request.url ?? '/', 'https://node');
    const [kind, namespace = '', pod = '', container = ''] = url.pathname.slice(1).split('/');
    const run = kind === 'containerLogs' ? find(namespace, pod, container) : undefined;
    const previous = url.searchParams.get('previous') === 'true';
    const file = run?.logFile(previous);
    if (!run || file === undefined || !existsSync(file)) {
      response.writeHead(404).end(`no log of ${url.pathname}\n`);
      return;
    }
    const start = startOfTail(file, url.searchParams.get('tailLines'));
    const follow = url.searchParams.get('follow') === 'true' && !previous;
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    response.writeHead(200, { 'content-type': 'text/plain' });
    response.flushHeaders();
    const parts = partsOf(file, start, () => follow && run.logFile(false) === file && !!run.process(), gone);
    // The client has disconnected.
    pipeline(parts, response).catch(() => {});
  });
  server.listen(0, address);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { port, close: () => close(server) };
}

/** The content of a file from `start` on, and its additions while a process still writes it. */
async function* partsOf(
  file: string,
  start: number,
  isWritten: () => boolean,
  gone: AbortController,
): AsyncGenerator<Buffer> {
  for (let from = start, isLast = false; !isLast && !gone.signal.aborted; ) {
    isLast = !isWritten();
    const end = statSync(file).size;
    if (end > from) yield* createReadStream(file, { start: from, end: end - 1 });
    from = end;
    if (!isLast) await sleep(100, undefined, { ref: false });
  }
}

function startOfTail(file: string, tailLines: string | null): number {
  if (tailLines === null) return 0;
  const lines = readFileSync(file, 'utf8').split('\n');
  const skipped = lines.slice(0, Math.max(lines.length - 1 - Number(tailLines), 0));
  return Buffer.byteLength(skipped.map((line) => `${line}\n`).join(''));
}

async function close(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}
