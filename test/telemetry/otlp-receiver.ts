import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';

type Value = string | number | boolean | readonly Value[];

/** A span as it arrived; times in nanoseconds since the Unix epoch. */
export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  readonly startTime: bigint;
  readonly endTime: bigint;
  readonly attributes: Readonly<Record<string, Value>>;
  readonly events: readonly {
    readonly name: string;
    readonly time: bigint;
    readonly attributes: Readonly<Record<string, Value>>;
  }[];
  readonly hasFailed: boolean;
  /** Of the program that it comes from. */
  readonly resource: Readonly<Record<string, Value>>;
}

/** A receiver of OTLP over HTTP, as protobuf. */
export interface OtlpReceiver {
  readonly url: string;
  readonly requests: readonly Pick<IncomingMessage, 'url' | 'headers'>[];
  readonly spans: readonly ReceivedSpan[];
  stop(): Promise<void>;
}

/** How a receiver is started. */
export interface OtlpReceiverOptions {
  /** Called for each request, which it has to end; by default all are taken. */
  readonly answer?: (response: ServerResponse) => void;
  readonly tls?: { readonly cert: string; readonly key: string };
}

/** Starts a receiver on a free port. */
export async function startOtlpReceiver({
  answer = (response) => response.end(),
  tls,
}: OtlpReceiverOptions = {}): Promise<OtlpReceiver> {
  const requests: IncomingMessage[] = [];
  const spans: ReceivedSpan[] = [];
  const listener: RequestListener = (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      requests.push(request);
      const body = Buffer.concat(chunks);
      spans.push(...readRequest(request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body));
      answer(response);
    });
  };
  const server = tls ? createTlsServer(tls, listener) : createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    spans,
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

/** A message of protocol buffers: what each of its fields, by number, holds. */
class Message {
  readonly #fields = new Map<number, (bigint | Buffer)[]>();

  constructor(bytes: Buffer) {
    let at = 0;
    const varint = (): bigint => {
      let value = 0n;
      for (let shift = 0n; ; shift += 7n) {
        const byte = bytes.readUInt8(at++);
        value |= BigInt(byte & 0x7f) << shift;
        if (byte < 0x80) return value;
      }
    };
    const take = (length: number): Buffer => {
      at += length;
      return bytes.subarray(at - length, at);
    };
    while (at < bytes.length) {
      const tag = Number(varint());
      const read = {
        0: varint,
        1: () => take(8).readBigUInt64LE(),
        2: () => take(Number(varint())),
        5: () => BigInt(take(4).readUInt32LE()),
      }[tag & 7];
      if (!read) throw new Error(`no protocol buffer: wire type ${tag & 7}`);
      this.#fields.set(tag >> 3, [...(this.#fields.get(tag >> 3) ?? []), read()]);
    }
  }

  number(field: number): bigint | undefined {
    const [value] = this.#fields.get(field) ?? [];
    return typeof value === 'bigint' ? value : undefined;
  }

  bytes(field: number): readonly Buffer[] {
    return (this.#fields.get(field) ?? []).filter((value) => typeof value !== 'bigint');
  }

  text(field: number, encoding: BufferEncoding = 'utf8'): string {
    return this.bytes(field)[0]?.toString(encoding) ?? '';
  }

  messages(field: number): readonly Message[] {
    return this.bytes(field).map((bytes) => new Message(bytes));
  }
}

// The numbers are those of opentelemetry/proto/trace/v1/trace.proto and common.proto.

function readRequest(body: Buffer): readonly ReceivedSpan[] {
  return new Message(body).messages(1).flatMap((resourceSpans) => {
    const [resource] = resourceSpans.messages(1);
    const attributes = resource ? readAttributes(resource.messages(1)) : {};
    return resourceSpans
      .messages(2)
      .flatMap((scopeSpans) => scopeSpans.messages(2).map((span) => readSpan(span, attributes)));
  });
}

function readSpan(span: Message, resource: ReceivedSpan['resource']): ReceivedSpan {
  const STATUS_ERROR = 2n;
  return {
    traceId: span.text(1, 'hex'),
    spanId: span.text(2, 'hex'),
    parentSpanId: span.text(4, 'hex'),
    name: span.text(5),
    startTime: span.number(7) ?? 0n,
    endTime: span.number(8) ?? 0n,
    attributes: readAttributes(span.messages(9)),
    events: span.messages(11).map((event) => ({
      name: event.text(2),
      time: event.number(1) ?? 0n,
      attributes: readAttributes(event.messages(3)),
    })),
    hasFailed: span.messages(15).some((status) => status.number(3) === STATUS_ERROR),
    resource,
  };
}

function readAttributes(pairs: readonly Message[]): Readonly<Record<string, Value>> {
  return Object.fromEntries(pairs.map((pair) => [pair.text(1), pair.messages(2).map(readValue)[0] ?? '']));
}

function readValue(value: Message): Value {
  const [list] = value.messages(5);
  if (list) return list.messages(1).map(readValue);
  const flag = value.number(2);
  if (flag !== undefined) return flag === 1n;
  const number = value.number(3);
  return number === undefined ? value.text(1) : Number(number);
}
