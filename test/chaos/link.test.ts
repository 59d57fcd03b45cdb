import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Link } from './link.ts';

/** A server that keeps what it is told, and answers each piece with `answer`. */
async function startServer(answer: string): Promise<{ server: Server; port: number; heard: () => string }> {
  let heard = '';
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.setEncoding('utf8').on('data', (text: string) => {
      heard += text;
      socket.write(answer);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, port: (server.address() as AddressInfo).port, heard: () => heard };
}

interface Caller {
  readonly socket: Socket;
  readonly heard: () => string;
  readonly errors: string[];
}

function call(port: number): Caller {
  let heard = '';
  const errors: string[] = [];
  const socket = connect(port, '127.0.0.1');
  socket.on('error', (error: NodeJS.ErrnoException) => errors.push(error.code ?? ''));
  socket.setEncoding('utf8').on('data', (text: string) => {
    heard += text;
  });
  return { socket, heard: () => heard, errors };
}

/** Long enough for a byte that is free to go. Only what must not come is waited for so. */
const aWhile = () => sleep(100);

describe('a link', () => {
  let target: Awaited<ReturnType<typeof startServer>>;
  let link: Link;
  let caller: Caller;
  beforeEach(async () => {
    target = await startServer('answer');
    link = await Link.start(target.port);
    caller = call(link.port);
  });
  afterEach(() => {
    caller.socket.destroy();
    link.close();
    target.server.close();
  });

  const say = (text: string) => caller.socket.write(text);

  test('passes everything both ways while nothing is wrong', async () => {
    say('hello');
    await expect.poll(caller.heard).toBe('answer');
    expect(target.heard()).toBe('hello');
    expect(link.counts).toEqual({ resets: 0, delays: 0 });
  });

  test('that is cut resets the connections that are there and those that come, until it is mended', async () => {
    say('hello');
    await expect.poll(caller.heard).toBe('answer');
    link.cut();
    await expect.poll(() => caller.errors).toEqual(['ECONNRESET']);
    const refused = call(link.port);
    await expect.poll(() => refused.errors).toEqual(['ECONNRESET']);
    // Both ends of the first, and the second at its one end.
    expect(link.counts.resets).toBe(3);
    link.mend();
    caller = call(link.port);
    say('again');
    await expect.poll(caller.heard).toBe('answer');
  });

  test('that is cut resets a connection at once even if an end of it reads nothing', async () => {
    const frozen = createServer((socket) => socket.on('error', () => {}).pause());
    await new Promise<void>((resolve) => frozen.listen(0, '127.0.0.1', resolve));
    link.leadTo((frozen.address() as AddressInfo).port);
    const stuck = call(link.port);
    // More than the kernel keeps for it on the way.
    stuck.socket.write(Buffer.alloc(50_000_000));
    await aWhile();
    link.cut();
    await expect.poll(() => stuck.errors.length).toBeGreaterThan(0);
    frozen.close();
  });

  test('that holds both ways passes nothing and breaks nothing, and delivers everything once it is mended', async () => {
    say('hello');
    await expect.poll(caller.heard).toBe('answer');
    link.hold('requests', 'answers');
    say(' and again');
    await aWhile();
    expect(target.heard()).toBe('hello');
    expect(caller.errors).toEqual([]);
    expect(link.counts.delays).toBeGreaterThan(0);
    link.mend();
    await expect.poll(caller.heard).toBe('answeranswer');
    expect(target.heard()).toBe('hello and again');
  });

  test('that holds answers lets requests through', async () => {
    link.hold('answers');
    say('hello');
    await expect.poll(target.heard).toBe('hello');
    await aWhile();
    expect(caller.heard()).toBe('');
    link.mend();
    await expect.poll(caller.heard).toBe('answer');
  });

  test('that holds requests lets answers through that are under way', async () => {
    link.hold('answers');
    say('hello');
    await expect.poll(() => link.counts.delays).toBeGreaterThan(0);
    link.mend();
    link.hold('requests');
    say(' and again');
    await expect.poll(caller.heard).toBe('answer');
    await aWhile();
    expect(target.heard()).toBe('hello');
  });

  test('delivers a request that it held up even if its sender has hung up since', async () => {
    link.hold('requests');
    caller.socket.end('late');
    await expect.poll(() => link.counts.delays).toBeGreaterThan(0);
    link.mend();
    await expect.poll(target.heard).toBe('late');
  });

  test('that is throttled lets no more bytes through than it says', async () => {
    link.throttle(20_000);
    const begun = performance.now();
    say('x'.repeat(10_000));
    await expect.poll(() => target.heard().length).toBe(10_000);
    expect(performance.now() - begun).toBeGreaterThan(400);
    expect(link.counts.delays).toBeGreaterThan(0);
  });

  test('leads new connections to another server when told, and keeps those that it has', async () => {
    say('hello');
    await expect.poll(caller.heard).toBe('answer');
    const other = await startServer('other');
    link.leadTo(other.port);
    const second = call(link.port);
    second.socket.write('hello');
    await expect.poll(second.heard).toBe('other');
    say('still');
    await expect.poll(caller.heard).toBe('answeranswer');
    second.socket.destroy();
    other.server.close();
  });

  test('leaves no port open once it is closed', async () => {
    const { port } = link;
    link.hold('requests');
    say('held');
    link.close();
    const refused = connect(port, '127.0.0.1');
    const [error] = (await once(refused, 'error')) as [NodeJS.ErrnoException];
    expect(error.code).toBe('ECONNREFUSED');
  });
});
