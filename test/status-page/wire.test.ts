import { expect, test } from 'vitest';
import { pageJson } from '../../src/status-page/wire.ts';

test('harmless text reaches the page unchanged', () => {
  const entry = { key: 'a/b', holder: 'pod-ä', transitions: 1, candidates: [{ name: 'c' }] };
  expect(JSON.parse(pageJson(entry))).toEqual(entry);
});

test('a name with direction marks reaches the page escaped', () => {
  expect(JSON.parse(pageJson({ holder: 'a\u202eb\u200b' }))).toEqual({ holder: 'a\\u202eb\\u200b' });
});

test('a name of a hundred thousand characters reaches the page truncated', () => {
  const json = pageJson({ holder: 'h'.repeat(100_000), candidates: [{ name: '<b>'.repeat(50_000) }] });
  expect(json.length).toBeLessThan(3000);
});
