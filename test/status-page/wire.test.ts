import { expect, test } from 'vitest';
import { pageJson } from '../../src/status-page/wire.ts';

test('what is harmless reaches the page as it is', () => {
  const entry = { key: 'a/b', holder: 'pod-ä', transitions: 1, candidates: [{ name: 'c' }] };
  expect(JSON.parse(pageJson(entry))).toEqual(entry);
});

test('a name that turns text around reaches the page by its numbers', () => {
  expect(JSON.parse(pageJson({ holder: 'a\u202eb\u200b' }))).toEqual({ holder: 'a\\u202eb\\u200b' });
});

test('a name of a hundred thousand characters reaches the page cut', () => {
  const json = pageJson({ holder: 'h'.repeat(100_000), candidates: [{ name: '<b>'.repeat(50_000) }] });
  expect(json.length).toBeLessThan(3000);
});
