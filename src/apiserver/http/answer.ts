import { stringify as yaml } from 'yaml';
import type { ApiError } from '../errors/api-error.ts';
import { isPrettyWanted, type MediaType, type Negotiated, negotiate, plainOnly } from './negotiation.ts';

/** An answer, ready to be written. */
export interface Answer {
  readonly code: number;
  /** '' where there is no body. */
  readonly contentType: string;
  readonly body: string;
  /** Absent: to be asked for anew each time, and kept by nobody but the client. */
  readonly cacheControl?: string;
  /** Names and values in turn, beside those that every answer has. */
  readonly headers?: readonly string[];
}

/** What a request says about whoever is going to read the answer. */
export interface Reader {
  readonly accept: string;
  readonly userAgent: string;
  readonly query: URLSearchParams;
}

/** How an object is written down. */
export interface Layout {
  readonly mediaType: MediaType;
  readonly isPretty: boolean;
}

/** YAML 1.1 is what most of its readers go by: there, `yes` and `on` have to be quoted to stay text. */
const yamlForm = {
  version: '1.1',
  sortMapEntries: true,
  aliasDuplicateObjects: false,
  indentSeq: false,
} as const;
/** In characters of JSON. Longer answers are JSON, which is YAML too: writing block style takes a hundred times as long. */
const MAX_BLOCK_YAML = 8 * 1024;
const NO_SNIFFING = ['X-Content-Type-Options', 'nosniff'];

/** The layout of an answer that was agreed on. */
export function layoutFor(reader: Reader, { mediaType, isPretty }: Negotiated): Layout {
  return { mediaType, isPretty: isPretty || isPrettyWanted(reader.query, reader.userAgent) };
}

export function objectAnswer(
  code: number,
  body: object,
  layout: Layout,
  headers: readonly string[] = [],
): Answer {
  return { code, contentType: layout.mediaType, body: write(body, layout), headers };
}

export function textAnswer(code: number, text: string): Answer {
  return { code, contentType: 'text/plain; charset=utf-8', body: text, headers: NO_SNIFFING };
}

/** 404 for a path that nothing is served under. */
export const pageNotFound: Answer = textAnswer(404, '404 page not found\n');

/** A refusal, in a form that the reader accepts, or else in JSON: an error is never hidden behind another. */
export function errorAnswer({ status }: ApiError, reader: Reader): Answer {
  const negotiated = negotiate(reader.accept, plainOnly);
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

function write(body: object, { mediaType, isPretty }: Layout): string {
  if (mediaType === 'application/yaml') {
    const json = JSON.stringify(body);
    return json.length > MAX_BLOCK_YAML ? `${json}\n` : yaml(body, yamlForm);
  }
  return isPretty ? JSON.stringify(body, undefined, 2) : `${JSON.stringify(body)}\n`;
}
