// The client of bench/event-loop.ts, in a thread of its own: asks what it is told to, and small things all the while.
import { Agent, request } from 'node:http';
import { parentPort, workerData } from 'node:worker_threads';

/** What the client is to ask. The method FILL creates `count` Leases. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly count?: number;
}

export interface LargeAnswer {
  readonly code: number;
  readonly bytes: number;
  readonly durationMs: number;
  /** What the slowest of the small requests took that were asked meanwhile. */
  readonly slowestMs: number;
}

const { port, token } = workerData as { readonly port: number; readonly token: string };
const agent = new Agent({ keepAlive: true, maxSockets: 32 });
const BESIDE_EVERY_MS = 5;

function send(
  { method, path, headers = {}, body }: Asked,
  by: Agent,
): Promise<{ readonly code: number; readonly bytes: number }> {
  return new Promise((resolve, reject) => {
    const given = { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers };
    const outgoing = request(
      { host: '127.0.0.1', port, agent: by, method, path, headers: given },
      (incoming) => {
        let bytes = 0;
        incoming.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          // A watch would go on: this is the end of its initial events.
          if (path.includes('watch=1') && chunk.includes('initial-events-end')) outgoing.destroy();
        });
        const done = () => resolve({ code: incoming.statusCode ?? 0, bytes });
        outgoing.off('error', reject);
        // A refused body is not read to its end.
        outgoing.on('error', () => {});
        incoming.once('end', done);
        incoming.once('error', done);
      },
    );
    outgoing.once('error', reject);
    outgoing.end(body);
  });
}

async function fill({ path, count = 0 }: Asked): Promise<void> {
  let next = 0;
  const one = async () => {
    for (let n = next++; n < count; n = next++) {
      const name = `lease-${String(n).padStart(6, '0')}`;
      const spec = {
        holderIdentity: `holder-${n}`,
        leaseDurationSeconds: 15,
        renewTime: '2026-01-01T00:00:00.000000Z',
      };
      const body = JSON.stringify({ metadata: { name, labels: { app: 'bench' } }, spec });
      const { code } = await send({ method: 'POST', path, body }, agent);
      if (code !== 201) throw new Error(`a Lease was answered with ${code}`);
    }
  };
  await Promise.all(Array.from({ length: 32 }, one));
}

/** Asks small things until the returned function is called, which tells what the slowest took. */
function beside(): () => Promise<number> {
  let slowestMs = 0;
  let isDone = false;
  const own = new Agent({ keepAlive: true });
  const running = (async () => {
    while (!isDone) {
      const startedAt = performance.now();
      await send({ method: 'GET', path: '/api/v1/namespaces/default' }, own);
      slowestMs = Math.max(slowestMs, performance.now() - startedAt);
      await new Promise((resolve) => setTimeout(resolve, BESIDE_EVERY_MS));
    }
    own.destroy();
  })();
  return async () => {
    isDone = true;
    await running;
    return slowestMs;
  };
}

parentPort?.on('message', (asked: Asked) => {
  void (async () => {
    if (asked.method === 'FILL') {
      await fill(asked);
      parentPort?.postMessage({ code: 0, bytes: 0, durationMs: 0, slowestMs: 0 } satisfies LargeAnswer);
      return;
    }
    const stop = beside();
    await new Promise((resolve) => setTimeout(resolve, 20));
    const startedAt = performance.now();
    const own = new Agent();
    const { code, bytes } = await send(asked, own);
    const durationMs = performance.now() - startedAt;
    parentPort?.postMessage({ code, bytes, durationMs, slowestMs: await stop() } satisfies LargeAnswer);
  })();
});
