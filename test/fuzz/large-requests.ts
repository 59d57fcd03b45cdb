import fc from 'fast-check';
import { collection, mediaType, type Request } from './wild-requests.ts';

/** In characters, of up to three bytes each. The request line and headers may have 64 KiB, a body 32 KiB. */
const LONGEST_PARAMETER = 18_000;
const LONGEST_HEADER = 18_000;
const LONGEST_BODY = 30_000;

/** A piece, repeated up to this many characters, perhaps with another one at the end. */
function many(pieces: readonly string[], most: number): fc.Arbitrary<string> {
  const piece = fc.constantFrom(...pieces);
  return fc
    .tuple(piece, piece, fc.constantFrom(1, 0.1, 0.01))
    .map(([each, last, share]) => `${each.repeat((most * share) / each.length)}${last}`);
}

/** Each is large in one way. */
export const largeRequest: fc.Arbitrary<Request> = fc.oneof(
  fc.record({
    method: fc.constantFrom('GET', 'DELETE', 'POST'),
    path: collection,
    query: fc
      .tuple(
        fc.constantFrom('labelSelector', 'fieldSelector', 'continue', 'limit', 'dryRun', 'fieldManager', 'x'),
        many(
          ['a,', '!a,', 'a in (b,', 'a=b,', ',', '\\,', 'metadata.name!=a,', '=', '1', 'a', '%'],
          LONGEST_PARAMETER,
        ),
      )
      .map((pair) => [pair]),
    headers: fc.constant({}),
    body: fc.constant(''),
  }),
  fc.record({
    method: fc.constantFrom('GET', 'POST'),
    path: collection,
    query: fc.constant([]),
    headers: fc.record({
      accept: many(['*/*,', 'a/b;q=0.1,', 'application/json;as=Table,', ',', ';', 'a;'], LONGEST_HEADER),
      'accept-encoding': many(['gzip;,', ','], LONGEST_HEADER),
      'user-agent': many(['a', ' ', '/', '\x85'], LONGEST_HEADER),
    }),
    body: fc.constant('{}'),
  }),
  fc.record({
    method: fc.constantFrom('POST', 'PATCH', 'PUT', 'DELETE'),
    path: collection.map((path) => `${path}/a`),
    query: fc.constant([]),
    headers: fc.record({ 'content-type': mediaType }),
    body: fc.oneof(
      many(['1,', '{},', '"a":1,', '"\\ud800",', '[', '- a\n', 'a: 1\n', '&a ', '*a '], LONGEST_BODY).map(
        (text) => `{"metadata":{"name":"a","finalizers":[${text}]}}`,
      ),
      fc.constantFrom(200, 2000).map((count) => {
        const labels = Object.fromEntries(Array.from({ length: count }, (_, index) => [`l${index}`, 'v']));
        return JSON.stringify({ metadata: { name: 'a', labels } });
      }),
      fc.constantFrom(100, 500).map((count) =>
        JSON.stringify(
          Array.from({ length: count }, (_, index) => ({
            op: 'add',
            path: `/metadata/labels/l${index}`,
            value: 'v',
          })),
        ),
      ),
    ),
  }),
);
