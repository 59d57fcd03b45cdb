import { createGunzip } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { acceptsGzip, streamEncodingFor } from '../../src/status-page/viewer.ts';

describe('a compressed stream', () => {
  test('can be read as it comes, piece by piece, whatever other stream a piece was made for', async () => {
    const { head, encode } = streamEncodingFor('gzip');
    const pieces = ['first, '.repeat(1000), 'second', '', 'first, '.repeat(2000)].map(encode);
    const gunzip = createGunzip();
    let read = '';
    gunzip.setEncoding('utf8').on('data', (text: string) => {
      read += text;
    });
    const write = (chunk: Buffer | undefined) =>
      new Promise<void>((resolve) => gunzip.write(chunk ?? Buffer.alloc(0), () => resolve()));
    await write(head);
    // Whoever came later has not seen the first.
    for (const piece of pieces.slice(1)) await write(piece);
    await write(pieces[0]);
    expect(read).toBe(`second${'first, '.repeat(3000)}`);
    gunzip.destroy();
  });

  test('is much smaller', () => {
    const text = JSON.stringify(
      Array.from({ length: 200 }, (_, at) => ({ name: `component-${at}`, version: '1.36.0' })),
    );
    expect(streamEncodingFor('gzip').encode(text).length).toBeLessThan(text.length / 5);
  });
});

test.each([
  ['gzip', true],
  ['gzip, deflate, br', true],
  ['br;q=1.0, GZIP;q=0.5', true],
  ['gzip;q=0', false],
  ['gzip; q=0.0', false],
  ['identity', false],
  ['x-gzipped', false],
  [undefined, false],
])('a request with Accept-Encoding %j gets a compressed answer: %j', (header, want) => {
  expect(acceptsGzip(header)).toBe(want);
  expect(streamEncodingFor(header).name).toBe(want ? 'gzip' : undefined);
});
