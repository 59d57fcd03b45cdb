import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect as connectTls } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import { generateCertificate } from '../../../src/apiserver/access/certificates.ts';
import type { RequestLine } from '../../../src/apiserver/http/server.ts';
import type { StreamReply } from '../../../src/apiserver/operations/request.ts';
import type { StreamSink } from '../../../src/apiserver/watch/served-watch.ts';
import { systemClock } from '../../../src/support/system-clock.ts';
import { VirtualClock, waitFor } from '../../support/virtual-clock.ts';
import { type Front, LEASES, makeFront } from './make-front.ts';

/** A stream whose sink the test controls. */
function makeStream() {
  const sinks: StreamSink[] = [];
  const closed: StreamSink[] = [];
  const reply: StreamReply = {
    kind: 'stream',
    start(sink) {
      sinks.push(sink);
      sink.onClose(() => closed.push(sink));
    },
  };
  return { sinks, closed, handle: () => reply };
}

interface Watching {
  readonly response: IncomingMessage;
  text(): string;
  hasEnded(): boolean;
}

/** Opens a watch; `text` is its output so far. */
async function watch({ port }: Front): Promise<Watching> {
  const request = httpRequest({
    host: '127.0.0.1',
    port,
    path: `${LEASES}?watch=1`,
    headers: { authorization: 'Bearer admin' },
    agent: false,
  });
  onTestFinished(() => {
    request.destroy();
  });
  request.on('error', () => {});
  request.end();
  const response = await new Promise<IncomingMessage>((resolve) => {
    request.once('response', resolve);
  });
  let text = '';
  let ended = false;
  response.on('data', (chunk) => {
    text += chunk;
  });
  response.on('error', () => {});
  response.on('end', () => {
    ended = true;
  });
  return { response, text: () => text, hasEnded: () => ended };
}

describe('a stream', () => {
  test('is cut when its operation cuts it', async () => {
    const stream = makeStream();
    const watching = await watch(await makeFront(stream));
    stream.sinks[0]?.destroy();
    await waitFor(() => watching.response.destroyed);
    expect(watching.hasEnded()).toBe(false);
    await waitFor(() => stream.closed.length === 1);
  });

  test('reports that its client has disconnected', async () => {
    const stream = makeStream();
    const watching = await watch(await makeFront(stream));
    watching.response.destroy();
    await waitFor(() => stream.closed.length === 1);
    // A request is allowed even then.
    let wasTold = false;
    stream.sinks[0]?.onClose(() => {
      wasTold = true;
    });
    expect(wasTold).toBe(true);
  });

  test('reports each time whether the client is slow or has caught up', async () => {
    const stream = makeStream();
    const watching = await watch(await makeFront(stream));
    const [sink] = stream.sinks;
    let drained = 0;
    sink?.onDrain(() => {
      drained += 1;
    });
    const chunk = Buffer.alloc(1024 * 1024, 'x');
    for (let round = 1; round <= 2; round += 1) {
      watching.response.pause();
      let writes = 0;
      while (sink?.write(chunk)) writes += 1;
      expect(writes).toBeLessThan(64);
      watching.response.resume();
      await waitFor(() => drained === round);
    }
  });

  test('is reported at its end, with its duration', async () => {
    const clock = new VirtualClock();
    const stream = makeStream();
    const lines: RequestLine[] = [];
    const front = await makeFront({ ...stream, clock, onRequest: (line) => lines.push(line) });
    await watch(front);
    await clock.advance(1500);
    expect(lines).toEqual([]);
    stream.sinks[0]?.end();
    await waitFor(() => lines.length > 0);
    expect(lines).toEqual([{ method: 'GET', path: LEASES, code: 200, durationMs: 1500, user: 'admin' }]);
  });

  test('that fails to start is cut, and the failure is reported', async () => {
    const failures: unknown[] = [];
    const failure = new Error('broken');
    const front = await makeFront({
      handle: () => ({
        kind: 'stream',
        start() {
          throw failure;
        },
      }),
      onError: (error) => failures.push(error),
    });
    const watching = await watch(front);
    await waitFor(() => watching.response.destroyed);
    expect([failures, watching.hasEnded()]).toEqual([[failure], false]);
  });
});

describe('closing', () => {
  test('ends streams cleanly', async () => {
    const stream = makeStream();
    const front = await makeFront(stream);
    const watching = await watch(front);
    stream.sinks[0]?.write(Buffer.from('last'));
    await front.close();
    await waitFor(() => watching.hasEnded());
    expect([watching.text(), stream.closed.length]).toEqual(['last', 1]);
  });

  test('closes idle connections', async () => {
    const front = await makeFront();
    const socket = front.open();
    let received = '';
    let hasEnded = false;
    socket.on('data', (chunk) => {
      received += chunk;
    });
    socket.on('close', () => {
      hasEnded = true;
    });
    socket.write('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n');
    await waitFor(() => received.endsWith('ok'));
    await front.close();
    await waitFor(() => hasEnded);
  });

  test('waits for requests in flight, and then closes their connections', async () => {
    const front = await makeFront();
    const socket = front.open();
    let received = '';
    socket.on('data', (chunk) => {
      received += chunk;
    });
    const head = `POST ${LEASES} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n`;
    socket.write(head);
    await waitFor(() => received.includes('100 Continue'));
    const closed = front.close();
    socket.write('{}');
    await closed;
    await waitFor(() => received.includes('HTTP/1.1 200 OK'));
    expect(received).toContain('Connection: close');
  });

  test('cuts requests that do not end', async () => {
    const clock = new VirtualClock();
    const front = await makeFront({ clock });
    const socket = front.open();
    let hasEnded = false;
    socket.on('close', () => {
      hasEnded = true;
    });
    const head = `POST ${LEASES} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n`;
    socket.write(head);
    await new Promise((resolve) => socket.once('data', resolve));
    const closed = front.close();
    await clock.advance(5_000);
    await closed;
    await waitFor(() => hasEnded);
    expect(clock.pendingTimers).toBe(0);
  });
});

test('a front with a certificate uses TLS', async () => {
  const { ca, cert, key } = await generateCertificate([], systemClock);
  const { port } = await makeFront({ tls: { cert, key } });
  const socket = connectTls({ host: '127.0.0.1', port, ca });
  onTestFinished(() => {
    socket.destroy();
  });
  let received = '';
  socket.on('data', (chunk) => {
    received += chunk;
  });
  socket.write('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n');
  await waitFor(() => received.endsWith('\r\n\r\nok'));
  expect(socket.authorized).toBe(true);
});

test('a front does not start with an invalid certificate', async () => {
  await expect(makeFront({ tls: { cert: 'no', key: 'no' } })).rejects.toThrow();
});
