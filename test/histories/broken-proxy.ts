import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Agent, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Transform } from 'node:stream';

/** The faults of the proxy, which it injects now and then. */
export type Flaw = 'staleRead' | 'lostEvent' | 'duplicateEvent';

const PER_FLAW = 20;

/** Starts a proxy that makes a server look broken. Returns its address and a function that stops it. */
export async function startBrokenProxy(url: string, flaw: Flaw): Promise<{ url: string; close: () => void }> {
  const agent = new Agent({ keepAlive: true, rejectUnauthorized: false });
  const staleReads = new StaleReads();
  const lines = { count: 0 };
  const server = createServer((near, answer) => {
    const { method, headers, url: path = '' } = near;
    const isWatch = path.includes('watch=true');
    const isRead = method === 'GET' && /\/(object-[\d-]+)(\?|$)/.test(path);
    if (flaw === 'staleRead' && isRead && staleReads.answer(path, answer)) return;
    const outgoing = request(new URL(path, url), { method, headers, agent });
    outgoing.on('error', () => answer.destroy());
    // Only if the client has gone: the connection may already belong to another request.
    answer.on('close', () => {
      if (!answer.writableFinished) outgoing.destroy();
    });
    outgoing.once('response', (far) => {
      answer.writeHead(far.statusCode ?? 0, far.headers);
      far.on('error', () => answer.destroy());
      if (flaw === 'staleRead' && isRead) staleReads.keep(path, far);
      if (isWatch && flaw !== 'staleRead') far.pipe(flawedLines(flaw, lines)).pipe(answer);
      else far.pipe(answer);
    });
    near.pipe(outgoing);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close() {
      server.closeAllConnections();
      server.close();
      agent.destroy();
    },
  };
}

/** Answers some reads with the state of the object's first read. */
class StaleReads {
  readonly #first = new Map<string, string>();
  #count = 0;

  keep(path: string, far: IncomingMessage): void {
    if (this.#first.has(path) || far.statusCode !== 200) return;
    const chunks: Buffer[] = [];
    far.on('data', (chunk: Buffer) => chunks.push(chunk));
    far.once('end', () => this.#first.set(path, Buffer.concat(chunks).toString('utf8')));
  }

  answer(path: string, answer: ServerResponse): boolean {
    const first = this.#first.get(path);
    this.#count += 1;
    if (first === undefined || this.#count % PER_FLAW !== 0) return false;
    answer.writeHead(200, { 'content-type': 'application/json' }).end(first);
    return true;
  }
}

/** `passed` counts the lines of all watches. */
function flawedLines(flaw: 'lostEvent' | 'duplicateEvent', passed: { count: number }): Transform {
  let rest = '';
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const lines = (rest + chunk.toString('utf8')).split('\n');
      rest = lines.pop() ?? '';
      const flawed = lines.flatMap((line) => {
        passed.count += 1;
        if (passed.count % PER_FLAW !== 0 || line.includes('"BOOKMARK"')) return [line];
        return flaw === 'lostEvent' ? [] : [line, line];
      });
      done(null, flawed.map((line) => `${line}\n`).join(''));
    },
  });
}
