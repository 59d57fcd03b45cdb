import type { Principal } from '../access/access.ts';
import type { StreamReply } from '../operations/resource-request.ts';
import type { Answer, Reader } from './answer.ts';
import type { RequestTarget } from './request-target.ts';

/** A request as it came in. */
export interface Incoming {
  readonly method: string;
  /** Path and query, as they were on the request line. */
  readonly url: string;
  /** The value of a header, '' when it is not there. */
  header(name: string): string;
  /** The names of all headers, in lower case. */
  headerNames(): readonly string[];
  /** Reads the complete body. Undefined: the client closed the connection first. @throws {ApiError} 413 */
  readBody(): Promise<Buffer | undefined>;
}

/** A request that was let in. */
export interface Exchange {
  readonly incoming: Incoming;
  readonly target: RequestTarget;
  readonly reader: Reader;
  readonly principal: Principal;
  /** Has a Warning go along with the answer, whatever that will be. */
  warn(text: string): void;
}

/** What a request is answered with. */
export type ExchangeResult =
  | { readonly kind: 'answer'; readonly answer: Answer }
  /** `headers`: names and values in turn. */
  | { readonly kind: 'stream'; readonly reply: StreamReply; readonly headers?: readonly string[] }
  /** A long answer, written as fast as its client reads. `headers`: names and values in turn. */
  | {
      readonly kind: 'chunks';
      readonly contentType: string;
      readonly chunks: AsyncIterable<string>;
      readonly headers?: readonly string[];
    }
  /** There is nobody left to answer. */
  | { readonly kind: 'gone' };

export function answered(answer: Answer): ExchangeResult {
  return { kind: 'answer', answer };
}
