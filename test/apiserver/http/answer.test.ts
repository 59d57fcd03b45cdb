import { describe, expect, test } from 'vitest';
import { ApiError } from '../../../src/apiserver/errors/api-error.ts';
import { errorAnswer, objectAnswer } from '../../../src/apiserver/http/answer.ts';

describe('objectAnswer', () => {
  const body = { kind: 'Lease', spec: { holderIdentity: 'yes', list: ['1', 2, true, null] } };

  test('writes YAML that old parsers read correctly', () => {
    const answer = objectAnswer(200, body, { mediaType: 'application/yaml', isPretty: false });
    expect(answer).toMatchObject({
      contentType: 'application/yaml',
      body: 'kind: Lease\nspec:\n  holderIdentity: "yes"\n  list:\n  - "1"\n  - 2\n  - true\n  - null\n',
    });
  });

  test('writes repeated values in YAML without anchors', () => {
    const shared = { a: 1 };
    const layout = { mediaType: 'application/yaml', isPretty: false } as const;
    expect(objectAnswer(200, { one: shared, other: shared }, layout).body).toBe(
      'one:\n  a: 1\nother:\n  a: 1\n',
    );
  });
});

describe('errorAnswer', () => {
  test('contains the retry delay', () => {
    const reader = { accept: '', userAgent: '', query: new URLSearchParams() };
    const later = new ApiError(504, 'Timeout', 'later', { retryAfterSeconds: 1 });
    expect(errorAnswer(later, reader).headers).toEqual(['Retry-After', '1']);
  });
});
