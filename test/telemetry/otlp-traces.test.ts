import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { InMemorySpanExporter } from '@opentelemetry/sdk-trace';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { generateCertificate } from '../../src/apiserver/access/certificates.ts';
import type { OtlpSettings } from '../../src/settings/run-settings.ts';
import { systemClock } from '../../src/support/system-clock.ts';
import type { TraceSpan } from '../../src/telemetry/election-traces.ts';
import { type OtlpTracesParts, startOtlpTraces } from '../../src/telemetry/otlp-traces.ts';
import { VirtualClock, waitFor } from '../support/virtual-clock.ts';
import { type OtlpReceiver, startOtlpReceiver } from './otlp-receiver.ts';

const bare = { attributes: {}, error: undefined, events: [], children: [] };
const trace: TraceSpan = {
  name: 'election',
  startedAt: 1000,
  endedAt: 2000.25,
  attributes: { 'cle.lease.name': 'web', 'cle.candidates': 2, 'cle.holder': undefined },
  error: undefined,
  events: [{ name: 'decide', at: 1999.5, attributes: { 'cle.actions': ['CreateLease'] } }],
  children: [{ ...bare, name: 'write', startedAt: 1999.5, endedAt: 2000.25, isCall: true, error: 'refused' }],
};

function makeTraces(parts: Partial<OtlpTracesParts> & { readonly to?: Partial<OtlpSettings> } = {}) {
  const clock = new VirtualClock();
  const failures: string[] = [];
  const { to, ...others } = parts;
  const traces = startOtlpTraces({
    settings: { url: 'http://127.0.0.1:1/v1/traces', headers: {}, timeoutMs: 2000, attributes: {}, ...to },
    clock,
    version: '1.2.3',
    host: 'here',
    onFailure: (error) => failures.push(error instanceof Error ? error.message : String(error)),
    ...others,
  });
  return { clock, failures, traces };
}

async function receive(...args: Parameters<typeof startOtlpReceiver>): Promise<OtlpReceiver> {
  const receiver = await startOtlpReceiver(...args);
  onTestFinished(() => receiver.stop());
  return receiver;
}

describe('a trace', () => {
  async function exported(emit: (world: ReturnType<typeof makeTraces>) => Promise<void>) {
    const exporter = new InMemorySpanExporter();
    // What is handed over is forgotten once the exporter is shut down.
    const spans: ReturnType<InMemorySpanExporter['getFinishedSpans']> = [];
    const world = makeTraces({
      exporter: {
        export(batch, done) {
          spans.push(...batch);
          exporter.export(batch, done);
        },
        shutdown: () => exporter.shutdown(),
      },
    });
    await emit(world);
    await world.traces.stop();
    return { spans, ...world };
  }

  test('is one of OpenTelemetry, with all its spans', async () => {
    const { spans } = await exported(async ({ clock, traces }) => {
      await clock.advance(2000.25);
      traces.emit(trace);
    });
    const [write, election] = spans;
    expect(spans).toHaveLength(2);
    expect(election).toMatchObject({
      name: 'election',
      kind: SpanKind.INTERNAL,
      parentSpanContext: undefined,
      attributes: { 'cle.lease.name': 'web', 'cle.candidates': 2 },
      status: { code: SpanStatusCode.UNSET },
      events: [{ name: 'decide', attributes: { 'cle.actions': ['CreateLease'] } }],
      resource: {
        attributes: {
          'service.name': 'coordinated-leader-election',
          'service.version': '1.2.3',
          'host.name': 'here',
          'telemetry.sdk.name': 'opentelemetry',
        },
      },
    });
    expect(election?.attributes).not.toHaveProperty(['cle.holder']);
    expect(write).toMatchObject({
      name: 'write',
      kind: SpanKind.CLIENT,
      parentSpanContext: { spanId: election?.spanContext().spanId },
      status: { code: SpanStatusCode.ERROR, message: 'refused' },
    });
    expect(write?.spanContext().traceId).toBe(election?.spanContext().traceId);
  });

  test('is told in wall time, to the microsecond, and lasts as long as by the monotonic clock', async () => {
    const { spans } = await exported(async ({ clock, traces }) => {
      await clock.advance(1500);
      // In the middle of it the wall clock is set by an hour: it is where that says now, and no longer than it was.
      clock.jumpWallClock(3_600_000);
      await clock.advance(1500);
      traces.emit(trace);
    });
    const start = Date.UTC(2026, 0, 1, 1, 0, 1) / 1000;
    const [write, election] = spans;
    expect(election).toMatchObject({
      startTime: [start, 0],
      endTime: [start + 1, 250_000],
      events: [{ time: [start, 999_500_000] }],
    });
    expect(write).toMatchObject({ startTime: [start, 999_500_000], endTime: [start + 1, 250_000] });
  });

  test('is another one than the one before', async () => {
    const { spans } = await exported(async ({ traces }) => {
      traces.emit({ ...trace, children: [] });
      traces.emit({ ...trace, children: [] });
    });
    expect(new Set(spans.map((span) => span.spanContext().traceId)).size).toBe(2);
  });
});

describe('the receiver', () => {
  test('gets protobuf over HTTP, with the headers and the names that were asked for', async () => {
    const receiver = await receive();
    const { traces, failures } = makeTraces({
      to: {
        url: `${receiver.url}/v1/traces`,
        headers: { authorization: 'Bearer a' },
        attributes: { 'service.name': 'elections' },
      },
    });
    traces.emit(trace);
    await traces.stop();
    expect(receiver.requests).toMatchObject([
      { url: '/v1/traces', headers: { authorization: 'Bearer a', 'content-type': 'application/x-protobuf' } },
    ]);
    const [write, election] = receiver.spans;
    expect(election).toMatchObject({
      name: 'election',
      parentSpanId: '',
      attributes: { 'cle.lease.name': 'web', 'cle.candidates': 2 },
      events: [{ name: 'decide', attributes: { 'cle.actions': ['CreateLease'] } }],
      resource: { 'service.name': 'elections', 'service.version': '1.2.3' },
    });
    expect(write).toMatchObject({ name: 'write', parentSpanId: election?.spanId, hasFailed: true });
    expect((write?.endTime ?? 0n) - (write?.startTime ?? 0n)).toBe(750_000n);
    expect(failures).toEqual([]);
  });

  test('is trusted by the certificate, and spoken to in the way, that the environment names', async () => {
    const { ca, cert, key } = await generateCertificate(['127.0.0.1'], systemClock);
    const directory = await mkdtemp(join(tmpdir(), 'otlp-traces-'));
    onTestFinished(() => rm(directory, { recursive: true, force: true }));
    await writeFile(join(directory, 'ca.crt'), ca);
    vi.stubEnv('OTEL_EXPORTER_OTLP_CERTIFICATE', join(directory, 'ca.crt'));
    vi.stubEnv('OTEL_EXPORTER_OTLP_COMPRESSION', 'gzip');
    onTestFinished(() => {
      vi.unstubAllEnvs();
    });
    const receiver = await receive({ tls: { cert, key } });
    const { traces, failures } = makeTraces({ to: { url: receiver.url } });
    traces.emit(trace);
    await traces.stop();
    expect(failures).toEqual([]);
    expect(receiver.requests).toMatchObject([{ headers: { 'content-encoding': 'gzip' } }]);
    expect(receiver.spans).toHaveLength(2);
  });

  test('that is down costs the traces, and is told of', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    server.close();
    await once(server, 'close');
    const port = typeof address === 'object' ? address?.port : undefined;
    const { traces, failures } = makeTraces({
      to: { url: `http://127.0.0.1:${port}/v1/traces`, timeoutMs: 100 },
    });
    traces.emit(trace);
    await traces.stop();
    expect(failures).toEqual([expect.stringContaining('ECONNREFUSED')]);
  });

  test('that refuses them is told of', async () => {
    const receiver = await receive({ answer: (response) => response.writeHead(401).end() });
    const { traces, failures } = makeTraces({ to: { url: receiver.url } });
    traces.emit(trace);
    await traces.stop();
    expect(failures).toEqual(['Unauthorized']);
  });

  test('that never answers keeps nobody from ending for more than a second', async () => {
    const receiver = await receive({ answer: () => {} });
    const { traces, clock } = makeTraces({ to: { url: receiver.url } });
    traces.emit(trace);
    let hasStopped = false;
    const stopped = traces.stop().then(() => {
      hasStopped = true;
    });
    await waitFor(() => receiver.requests.length === 1, 'the hand-over');
    await clock.advance(999);
    expect(hasStopped).toBe(false);
    await clock.advance(1);
    await stopped;
    expect(clock.pendingTimers).toBe(0);
  });

  test('that is too slow is not waited for with ever more spans: those beyond a bound are dropped, and told of', async () => {
    let spans = 0;
    const waiting: (() => void)[] = [];
    const { traces, failures } = makeTraces({
      exporter: {
        export(batch, done) {
          spans += batch.length;
          waiting.push(() => done({ code: 0 }));
        },
        shutdown: () => Promise.resolve(),
      },
    });
    for (let index = 0; index < 10_000; index++) traces.emit({ ...trace, children: [] });
    expect(spans).toBe(512);
    waiting.shift()?.();
    await waitFor(() => waiting.length === 1, 'the next batch');
    traces.emit({ ...trace, children: [] });
    const stopped = traces.stop();
    await waitFor(() => spans > 8192);
    for (const finish of waiting) finish();
    await stopped;
    expect(spans).toBe(512 + 8192 + 1);
    expect(failures).toEqual(['Dropped 1296 spans because maxQueueSize reached']);
  });
});
