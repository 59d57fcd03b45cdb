import { expect, test } from 'vitest';
import { REASONS } from '../../src/election/decision.ts';

test.each(Object.entries(REASONS))(
  '%s is a word in CamelCase, explained by one sentence, or two short ones',
  (word, sentence) => {
    expect(word).toMatch(/^(?:[A-Z][a-z]+)+$/);
    expect(sentence).toMatch(/^[A-Z][^.]+\.(?: [A-Z][^.]+\.)?$/);
  },
);

test('no two reasons have the same explanation', () => {
  const sentences = Object.values(REASONS);
  expect(new Set(sentences).size).toBe(sentences.length);
});
