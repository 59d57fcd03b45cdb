import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { HttpServer } from '../../../src/processes/http-server.ts';
import { LeadConnections } from '../../../src/processes/participant/lead-connections.ts';
import { Leadership, startLeaderEndpoints } from '../../../src/processes/participant/leader-endpoints.ts';
import { SimProcess } from '../../simulation/sim-process.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { FakeResponse, type Told, toldIn } from './fake-response.ts';
import { FakeTerm } from './fake-term.ts';

/** How long real connections may take on a busy machine. */
const SOON = { timeout: 20_000 };
const metrics = { contentType: 'text/plain', metrics: async () => '' };
const ended: (() => unknown)[] = [];

afterEach(async () => {
  for (const end of ended.splice(0).reverse()) await end();
});

async function start() {
  const clock = new VirtualClock();
  const calls: string[] = [];
  let term = new FakeTerm(15_000, clock);
  const connections: LeadConnections = new LeadConnections({
    clock,
    lease: 'default/web',
    repeatMs: 2000,
    logger: { info: () => {}, warn: () => calls.push('warned') },
    resign() {
      calls.push('resigned');
      term.end('resigned');
    },
    onChange: () => calls.push(connections.hasProgram ? 'hasProgram' : 'hasNone'),
  });
  const leadership = new Leadership({
    clock,
    lease: 'default/web',
    identity: () => 'web-1',
    holder: () => undefined,
    connections,
  });
  const resign = async () => term.end('resigned');
  const server = await startLeaderEndpoints(
    { host: '127.0.0.1', port: 0 },
    { clock, leadership, connections, metrics, resign },
  );
  ended.push(() => server.close());
  /** Begins a term. Returns when the Lease may be released, in milliseconds. */
  const lead = (lastsMs = 15_000) => {
    term = new FakeTerm(lastsMs, clock);
    const freed: number[] = [];
    void leadership.lead(term).then(() => freed.push(clock.now()));
    return { term, freed };
  };
  return { clock, calls, connections, leadership, server, lead };
}

/** A program that asks for the lead. */
class AskingProgram {
  readonly #asked: ClientRequest;
  readonly told: Told[] = [];
  response: IncomingMessage | undefined;
  isAtEnd = false;

  constructor(server: Pick<HttpServer, 'address'>, headers: Record<string, string> = {}, method = 'GET') {
    this.#asked = request({ ...server.address, path: '/lead', agent: false, headers, method });
    this.#asked.on('error', () => {});
    this.#asked.on('response', (response) => {
      this.response = response;
      response.on('end', () => {
        this.isAtEnd = true;
      });
      response.on('error', () => {});
      response.setEncoding('utf8').on('data', (text: string) => {
        this.told.push(...toldIn(text));
      });
    });
    this.#asked.end();
    ended.push(() => this.close());
  }

  /** Waits for this many lines. */
  async heard(count: number): Promise<Told | undefined> {
    await vi.waitUntil(() => this.told.length >= count, SOON);
    return this.told.at(-1);
  }

  async answered(): Promise<number | undefined> {
    await vi.waitUntil(() => this.response, SOON);
    return this.response?.statusCode;
  }

  close(): void {
    this.#asked.destroy();
  }
}

/** Asks for the lead, and waits until the sidecar has received that. */
async function ask({ server, connections, calls }: Awaited<ReturnType<typeof start>>) {
  const before = calls.length;
  const program = new AskingProgram(server);
  await vi.waitUntil(() => connections.hasProgram && calls.length > before, SOON);
  return program;
}

describe('the request for the lead (rule 18)', () => {
  test('is answered when this pod leads, with a time that counts from the request', async () => {
    const sidecar = await start();
    const { clock, calls, lead, leadership } = sidecar;
    const program = await ask(sidecar);
    expect(calls).toEqual(['hasProgram']);
    await clock.advance(3_600_000);
    expect(program.response).toBeUndefined();
    lead();
    expect(await program.heard(1)).toEqual({
      lease: 'default/web',
      holder: 'web-1',
      leading: true,
      fencingToken: 7,
      validUntilMs: 3_605_000,
    });
    expect(program.response?.headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      connection: 'close',
    });
    // Other programs learn that this pod leads, but not that they may lead.
    expect(leadership.account()).toMatchObject({ leading: true, validForMs: 0 });
  });

  test('gets repeated times, and never beyond the term', async () => {
    const sidecar = await start();
    const { clock, lead } = sidecar;
    const program = await ask(sidecar);
    lead(8000);
    for (let count = 2; count <= 5; count += 1) {
      await program.heard(count - 1);
      await clock.advance(2000);
    }
    await program.heard(5);
    expect(program.told.map(({ leading, validUntilMs }) => [leading, validUntilMs])).toEqual([
      [true, 5000],
      [true, 7000],
      [true, 8000],
      [true, 8000],
      // The signal of the term has not aborted yet.
      [false, 8000],
    ]);
  });

  test('gets the reason to stop, and has the Lease until its connection is closed', async () => {
    const sidecar = await start();
    const { clock, calls, lead } = sidecar;
    const program = await ask(sidecar);
    const { term, freed } = lead();
    await program.heard(1);
    await clock.advance(1000);
    term.end('yielded');
    expect(await program.heard(2)).toMatchObject({ leading: false, why: 'yielded', validUntilMs: 6000 });
    await clock.advance(1000);
    // It has as much time as it needs, while the term lasts.
    expect(await program.heard(3)).toMatchObject({ leading: false, validUntilMs: 7000 });
    await clock.advance(60_000);
    expect(program.told.at(-1)?.validUntilMs).toBeLessThanOrEqual(62_000);
    expect([freed, program.isAtEnd]).toEqual([[], false]);
    program.close();
    await vi.waitUntil(() => freed.length > 0, SOON);
    expect(calls).toEqual(['hasProgram', 'resigned', 'hasNone']);
    expect(clock.pendingTimers).toBe(0);
  });

  test('releases the Lease at once when its connection is closed', async () => {
    const sidecar = await start();
    const { calls, lead } = sidecar;
    const program = await ask(sidecar);
    const { term, freed } = lead();
    await program.heard(1);
    program.close();
    await vi.waitUntil(() => freed.length > 0, SOON);
    expect(term.signal.aborted).toBe(true);
    expect(calls).toEqual(['hasProgram', 'resigned', 'hasNone']);
  });

  test('releases the Lease when only its own half of the connection is closed', async () => {
    const { server, lead, connections } = await start();
    const socket = connect(server.address.port, '127.0.0.1');
    socket.write('GET /lead HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await vi.waitUntil(() => connections.hasProgram, SOON);
    const { freed } = lead();
    await once(socket, 'data');
    socket.end();
    await vi.waitUntil(() => freed.length > 0, SOON);
  });

  test('may be cancelled while it waits', async () => {
    const sidecar = await start();
    const { calls } = sidecar;
    const program = await ask(sidecar);
    program.close();
    await vi.waitUntil(() => calls.includes('hasNone'), SOON);
    expect(calls).toEqual(['hasProgram', 'hasNone']);
  });

  test('waits while another program has the lead, and gets the next term', async () => {
    const sidecar = await start();
    const { calls, lead } = sidecar;
    const first = await ask(sidecar);
    const { freed } = lead();
    await first.heard(1);
    const second = await ask(sidecar);
    expect(calls).toEqual(['hasProgram', 'warned']);
    first.close();
    await vi.waitUntil(() => freed.length > 0, SOON);
    // It stays a candidate, but without the former term.
    expect(calls).toEqual(['hasProgram', 'warned', 'resigned']);
    expect(second.response).toBeUndefined();
    lead();
    expect(await second.heard(1)).toMatchObject({ leading: true });
  });

  test('is refused when the sidecar stops, but an existing lead is not cut', async () => {
    const sidecar = await start();
    const { lead, connections } = sidecar;
    const first = await ask(sidecar);
    lead();
    await first.heard(1);
    const second = await ask(sidecar);
    connections.close();
    expect(await second.answered()).toBe(503);
    expect(first.isAtEnd).toBe(false);
  });

  test('gets no repeated times if its program does not read, but gets the stop', async () => {
    const { clock, connections, lead } = await start();
    const response = new FakeResponse();
    connections.join(response.asResponse);
    const { term } = lead();
    await clock.advance(2000);
    expect(response.told).toHaveLength(2);
    response.writableLength = 100;
    await clock.advance(60_000);
    expect(response.told).toHaveLength(2);
    term.end('yielded');
    expect(response.told).toHaveLength(3);
  });

  test.each<{ pausedMs: number; want: number | undefined }>([
    { pausedMs: 900, want: undefined },
    { pausedMs: 4000, want: 503 },
    { pausedMs: 20_000, want: 503 },
  ])(
    'is answered $want after a pause of the sidecar of $pausedMs ms: it may have waited as long',
    async ({ pausedMs, want }) => {
      const world = new VirtualClock();
      const clock = new SimProcess(world);
      const connections = new LeadConnections({
        clock,
        lease: 'default/web',
        repeatMs: 2000,
        logger: { info: () => {}, warn: () => {} },
        resign: () => {},
        onChange: () => {},
      });
      const join = () => {
        const response = new FakeResponse();
        connections.join(response.asResponse);
        return response.status;
      };
      const end = connections.watchPauses();
      await world.advance(10_300);
      clock.pause(pausedMs);
      // The sockets may come before the timer or after it.
      await world.advance(pausedMs - 1);
      const before = join();
      await world.advance(1);
      expect([before, join()]).toEqual([want, want]);
      await world.advance(1000);
      expect(join()).toBeUndefined();
      end();
      expect(world.pendingTimers).toBe(0);
    },
  );

  test.each<{ what: string; headers?: Record<string, string>; method?: string; want: number }>([
    { what: 'a browser', headers: { 'sec-fetch-site': 'none' }, want: 403 },
    { what: 'a page of a website', headers: { origin: 'https://example.com' }, want: 403 },
    { what: 'a proxy', headers: { via: '1.1 proxy' }, want: 403 },
    { what: 'another kind of proxy', headers: { 'x-forwarded-for': '127.0.0.1' }, want: 403 },
    { what: 'a reader of headers', method: 'HEAD', want: 405 },
    { what: 'a write', method: 'POST', want: 405 },
  ])('is refused for $what', async ({ headers = {}, method, want }) => {
    const { server, calls } = await start();
    expect(await new AskingProgram(server, headers, method).answered()).toBe(want);
    expect(calls).toEqual([]);
  });

  test('is refused, with what to do, if programs lead by promises', async () => {
    const clock = new VirtualClock();
    const leadership = new Leadership({
      clock,
      lease: 'default/web',
      identity: () => 'web-1',
      holder: () => undefined,
    });
    const parts = { clock, leadership, metrics, resign: async () => {} };
    const server = await startLeaderEndpoints({ host: '127.0.0.1', port: 0 }, parts);
    ended.push(() => server.close());
    const response = await fetch(`http://127.0.0.1:${server.address.port}/lead`);
    expect([response.status, await response.text()]).toEqual([
      404,
      'this sidecar has no /lead: start it with --lead-by-connection\n',
    ]);
  });
});
