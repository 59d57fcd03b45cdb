import {
  type Attributes,
  type Context,
  DiagLogLevel,
  diag,
  type HrTime,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, type SpanExporter, TracerProvider } from '@opentelemetry/sdk-trace';
import type { OtlpSettings } from '../settings/run-settings.ts';
import { type Clock, type Instant, within } from '../support/clock.ts';
import type { TraceAttributes, TraceSpan } from './election-traces.ts';

// Only this file imports OpenTelemetry. It is loaded only if traces are exported.

/** Exports traces to an OTLP receiver, a few seconds after they have ended. */
interface OtlpTraces {
  /** Queues a trace. Neither throws nor waits. */
  emit(trace: TraceSpan): void;
  /** Exports the queued traces, for at most about a second. */
  stop(): Promise<void>;
}

/** What {@link startOtlpTraces} needs. */
export interface OtlpTracesParts {
  readonly settings: OtlpSettings;
  readonly clock: Clock;
  readonly version: string;
  /** The host on which this process runs. */
  readonly host: string;
  /** Called for traces that the receiver refused or took in part. */
  readonly onFailure: (error: unknown) => void;
  /** Replaces the exporter for `settings.url`, for tests. */
  readonly exporter?: SpanExporter;
}

const NAME = 'coordinated-leader-election';

/** Length of the queue, in spans; more are dropped. Fits an expiry of a thousand Leases at once. */
const MAX_WAITING = 8192;
const FLUSH_MS = 1000;

/** Starts the export of traces to `settings.url`. */
export function startOtlpTraces(parts: OtlpTracesParts): OtlpTraces {
  const { settings, clock, version, host, onFailure } = parts;
  // OpenTelemetry reports partial successes and dropped spans only through its logger. Failed exports, logged as
  // errors, are reported elsewhere.
  const ignore = () => {};
  const warn = (message: string, ...more: unknown[]) => onFailure(new Error([message, ...more].join(' ')));
  diag.setLogger(
    { error: ignore, warn, info: ignore, debug: ignore, verbose: ignore },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
  const exporter =
    parts.exporter ??
    new OTLPTraceExporter({
      url: settings.url,
      headers: { ...settings.headers },
      timeoutMillis: settings.timeoutMs,
    });
  const provider = new TracerProvider({
    resource: defaultResource().merge(
      resourceFromAttributes({
        'service.name': NAME,
        'service.version': version,
        'host.name': host,
        ...settings.attributes,
      }),
    ),
    spanProcessors: [
      new BatchSpanProcessor({ exporter: reporting(exporter, onFailure), maxQueueSize: MAX_WAITING }),
    ],
  });
  const tracer = provider.getTracer(NAME, version);
  return {
    emit(root) {
      // Read once per trace: a jump of the wall clock must not shift spans against each other.
      const [now, wallTime] = [clock.now(), clock.wallTime()];
      startSpan(tracer, root, ROOT_CONTEXT, (at) =>
        toHrTime(wallTime - BigInt(Math.round((now - at) * 1000))),
      );
    },
    async stop() {
      // onFailure has reported failed exports.
      await within(clock, FLUSH_MS, provider.shutdown().catch(ignore));
      diag.disable();
    },
  };
}

function startSpan(tracer: Tracer, span: TraceSpan, parent: Context, timeOf: (at: Instant) => HrTime): void {
  const started = tracer.startSpan(
    span.name,
    {
      startTime: timeOf(span.startedAt),
      kind: span.isCall ? SpanKind.CLIENT : SpanKind.INTERNAL,
      attributes: toAttributes(span.attributes),
    },
    parent,
  );
  for (const { name, at, attributes } of span.events) {
    started.addEvent(name, toAttributes(attributes), timeOf(at));
  }
  if (span.error !== undefined) started.setStatus({ code: SpanStatusCode.ERROR, message: span.error });
  const context = trace.setSpan(parent, started);
  for (const child of span.children) startSpan(tracer, child, context, timeOf);
  started.end(timeOf(span.endedAt));
}

function toAttributes(attributes: TraceAttributes): Attributes {
  return Object.fromEntries(
    Object.entries(attributes).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, typeof value === 'object' ? [...value] : value]],
    ),
  );
}

/** Seconds since the epoch, and nanoseconds. */
function toHrTime(micros: bigint): HrTime {
  return [Number(micros / 1_000_000n), Number(micros % 1_000_000n) * 1000];
}

function reporting(exporter: SpanExporter, onFailure: (error: unknown) => void): SpanExporter {
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        if (result.error) onFailure(result.error);
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
  };
}
