import { hash } from 'node:crypto';
import type { Clock } from '../../support/clock.ts';
import type { JsonObject } from '../../support/json.ts';
import { namesOneOf } from '../http/accept.ts';
import type { Answer } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import type { PathHandler } from '../http/path-handler.ts';

/** A document as it is sent. */
interface WrittenDocument {
  /** Where it is served. */
  readonly path: string;
  readonly text: string;
  readonly hash: string;
}

const ROOT = '/openapi/v3';
const JSON_TYPE = 'application/json';
const YEAR_MS = 365 * 24 * 3_600_000;

/** /openapi/v3, which lists the documents, and each of them, by path. */
export function openApiHandlers(
  documents: ReadonlyMap<string, JsonObject>,
  clock: Clock,
): ReadonlyMap<string, PathHandler> {
  const written = [...documents].map(([name, document]) => ({ name, ...write(name, document) }));
  const urls = written.map(({ name, path, hash }) => [name, { serverRelativeURL: `${path}?hash=${hash}` }]);
  const index: Answer = {
    code: 200,
    contentType: JSON_TYPE,
    body: JSON.stringify({ paths: Object.fromEntries(urls) }),
  };
  return new Map([
    [ROOT, () => index],
    ...written.map((each): [string, PathHandler] => [
      each.path,
      (exchange) => documentAnswer(each, exchange, clock),
    ]),
  ]);
}

function write(name: string, document: JsonObject): WrittenDocument {
  const text = JSON.stringify(document);
  return { path: `${ROOT}/${name}`, text, hash: hash('sha512', text, 'hex').toUpperCase() };
}

function documentAnswer(
  { path, text, hash }: WrittenDocument,
  { target, incoming, reader }: Exchange,
  clock: Clock,
): Answer {
  const tag = `"${hash}"`;
  const headers = ['Etag', tag, 'Vary', 'Accept'];
  const empty = { contentType: '', body: '' };
  if (reader.accept !== '' && !namesOneOf(reader.accept, [JSON_TYPE]))
    return { code: 406, ...empty, headers: ['Vary', 'Accept'] };
  const asked = target.query.get('hash');
  if (asked !== null && asked !== hash) {
    return { code: 301, ...empty, headers: [...headers, 'Location', `${path}?hash=${hash}`] };
  }
  if (incoming.header('if-none-match') === tag) return { code: 304, ...empty, headers };
  const answer = { code: 200, contentType: JSON_TYPE, body: text };
  if (asked === null) return { ...answer, headers };
  // Whoever asks by the hash can keep what it gets: there will never be anything else under that address.
  const expires = new Date(Number(clock.wallTime() / 1000n) + YEAR_MS).toUTCString();
  return { ...answer, headers: [...headers, 'Expires', expires], cacheControl: 'public, immutable' };
}
