import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';

/** One HTTP request, whole. */
export interface OutgoingRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** Aborts it, or the body of its answer. */
  readonly signal: AbortSignal;
}

/** The head of an answer. Its body has to be read to its end, or destroyed. */
export interface IncomingAnswer {
  readonly statusCode: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readable;
}

/** One HTTP answer, whole; of that to a request that failed, as much as is read of one. */
export interface WholeAnswer extends Pick<IncomingAnswer, 'statusCode' | 'headers'> {
  readonly text: string;
}

/** Connections of one kind to one server. */
export interface Channel {
  /** As {@link Channel.send}, but settles when the answer is there to its end. */
  exchange(url: string, request: OutgoingRequest): Promise<WholeAnswer>;
  /** Rejects as whatever it sends with does. Redirects are not followed. */
  send(url: string, request: OutgoingRequest): Promise<IncomingAnswer>;
  /** Ends each connection once what runs on it has ended; nothing more may be sent. */
  retire(): void;
  /** Ends all connections at once, whatever runs on them; nothing more may be sent. */
  cut(): void;
}

/** How long an idle connection is kept, in milliseconds: less than any usual load balancer or API server keeps it. */
export const KEEP_ALIVE_MS = 55_000;

/** How soon TCP asks whether an idle connection is still there, in milliseconds, as client-node has it: load balancers forget those. */
export const KEEP_ALIVE_DELAY_MS = 30_000;
