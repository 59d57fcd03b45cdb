import { stringify as yaml } from 'yaml';
import type { Principal } from '../access/access.ts';
import type { ApiError } from '../errors/api-error.ts';
import type { StreamReply } from '../operations/request.ts';
import { isPrettyWanted, type MediaType, type Negotiated, negotiate, noForms } from './negotiation.ts';
import type { RequestTarget } from './routes.ts';

/** A received request. */
export interface Incoming {
  readonly method: string;
  /** Path and query of the request line. */
  readonly url: string;
  /** The value of a header, '' where it is absent. */
  header(name: string): string;
  /** The names of all headers, in lower case. */
  headerNames(): readonly string[];
  /** Reads the complete body. Undefined: the client closed the connection first. @throws {ApiError} 413 */
  readBody(): Promise<Buffer | undefined>;
}

/** An authorized request. */
export interface Exchange {
  readonly incoming: Incoming;
  readonly target: RequestTarget;
  readonly reader: Reader;
  readonly principal: Principal;
  /** Adds a Warning header to the answer, also to an error. */
  warn(text: string): void;
}

/** Serves a path outside the resource paths. @throws {ApiError} */
export type PathHandler = (exchange: Exchange) => Answer;

/** The headers of a request that select the format of its answer. */
export interface Reader {
  readonly accept: string;
  readonly userAgent: string;
  readonly query: URLSearchParams;
}

/** The result of a request. `headers`: alternating names and values. */
export type ExchangeResult =
  | { readonly kind: 'answer'; readonly answer: Answer }
  | { readonly kind: 'stream'; readonly reply: StreamReply; readonly headers?: readonly string[] }
  /** A long answer, which is written at the speed of the client. */
  | {
      readonly kind: 'chunks';
      readonly contentType: string;
      readonly chunks: AsyncIterable<string>;
      readonly headers?: readonly string[];
    }
  /** The client closed the connection. */
  | { readonly kind: 'gone' };

/** A complete answer. */
export interface Answer {
  readonly code: number;
  /** '' for an answer without a body. */
  readonly contentType: string;
  readonly body: string;
  /** The Cache-Control header; default `no-cache, private`. */
  readonly cacheControl?: string;
  /** Additional headers: alternating names and values. */
  readonly headers?: readonly string[];
}

/** How an object is serialized. */
export interface Layout {
  readonly mediaType: MediaType;
  readonly isPretty: boolean;
}

/** Most YAML parsers follow YAML 1.1, in which the strings `yes` and `on` need quotes. */
const yamlForm = {
  version: '1.1',
  sortMapEntries: true,
  aliasDuplicateObjects: false,
  indentSeq: false,
} as const;
/**
 * Limit in characters of JSON. A longer answer stays JSON, which is valid YAML: block style takes a hundred times as
 * long.
 */
const MAX_BLOCK_YAML = 8 * 1024;
const NO_SNIFFING = ['X-Content-Type-Options', 'nosniff'];

export function answered(answer: Answer): ExchangeResult {
  return { kind: 'answer', answer };
}

export function layoutFor(reader: Reader, { mediaType, isPretty }: Negotiated): Layout {
  return { mediaType, isPretty: isPretty || isPrettyWanted(reader.query, reader.userAgent) };
}

export function objectAnswer(
  code: number,
  body: object,
  layout: Layout,
  headers: readonly string[] = [],
): Answer {
  return { code, contentType: layout.mediaType, body: serialize(body, layout), headers };
}

export function textAnswer(code: number, text: string): Answer {
  return { code, contentType: 'text/plain; charset=utf-8', body: text, headers: NO_SNIFFING };
}

/** 404 for a path outside the served groups. */
export const pageNotFound: Answer = textAnswer(404, '404 page not found\n');

/** Returns a Status in a format that the client accepts, or else in JSON. */
export function errorAnswer({ status }: ApiError, reader: Reader): Answer {
  const negotiated = negotiate(reader.accept, noForms);
  const layout: Layout = negotiated
    ? layoutFor(reader, negotiated)
    : { mediaType: 'application/json', isPretty: true };
  const { retryAfterSeconds = 0 } = status.details ?? {};
  const headers = [
    ...(status.code === 403 ? NO_SNIFFING : []),
    ...(retryAfterSeconds > 0 ? ['Retry-After', String(retryAfterSeconds)] : []),
  ];
  return objectAnswer(status.code, status, layout, headers);
}

function serialize(body: object, { mediaType, isPretty }: Layout): string {
  const json = JSON.stringify(body);
  if (mediaType === 'application/yaml' && json.length <= MAX_BLOCK_YAML) return yaml(body, yamlForm);
  return isPretty && mediaType === 'application/json' ? JSON.stringify(body, undefined, 2) : `${json}\n`;
}
