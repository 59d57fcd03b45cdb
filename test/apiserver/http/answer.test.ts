import { describe, expect, test } from 'vitest';
import { ApiError, badRequest } from '../../../src/apiserver/errors/api-error.ts';
import { errorAnswer, objectAnswer } from '../../../src/apiserver/http/answer.ts';

describe('objectAnswer', () => {
  const body = { kind: 'Lease', spec: { holderIdentity: 'yes', list: ['1', 2, true, null] } };

  test('writes JSON on one line', () => {
    const answer = objectAnswer(201, body, { mediaType: 'application/json', isPretty: false });
    expect(answer).toMatchObject({
      code: 201,
      contentType: 'application/json',
      body: `${JSON.stringify(body)}\n`,
    });
  });

  test('writes JSON for people', () => {
    const { body: text } = objectAnswer(
      200,
      { a: { b: 1 } },
      { mediaType: 'application/json', isPretty: true },
    );
    expect(text).toBe('{\n  "a": {\n    "b": 1\n  }\n}');
  });

  test('writes YAML that old readers do not take for something else', () => {
    const answer = objectAnswer(200, body, { mediaType: 'application/yaml', isPretty: false });
    expect(answer).toMatchObject({
      contentType: 'application/yaml',
      body: 'kind: Lease\nspec:\n  holderIdentity: "yes"\n  list:\n  - "1"\n  - 2\n  - true\n  - null\n',
    });
  });

  test('writes what occurs twice twice in YAML', () => {
    const shared = { a: 1 };
    const layout = { mediaType: 'application/yaml', isPretty: false } as const;
    expect(objectAnswer(200, { one: shared, other: shared }, layout).body).toBe(
      'one:\n  a: 1\nother:\n  a: 1\n',
    );
  });
});

describe('errorAnswer', () => {
  const refusal = badRequest('refused');
  const line = `${JSON.stringify(refusal.status)}\n`;
  const pretty = JSON.stringify(refusal.status, undefined, 2);

  test.each([
    { accept: '', query: '', contentType: 'application/json', want: line },
    { accept: 'application/json', query: '', contentType: 'application/json', want: line },
    { accept: 'application/json', query: 'pretty=1', contentType: 'application/json', want: pretty },
    {
      accept: 'application/json;as=Table;g=meta.k8s.io;v=v1,application/json',
      query: '',
      contentType: 'application/json',
      want: line,
    },
    {
      accept: 'application/json;as=Table;g=meta.k8s.io;v=v1',
      query: '',
      contentType: 'application/json',
      want: pretty,
    },
    { accept: 'text/html', query: '', contentType: 'application/json', want: pretty },
    {
      accept: 'application/yaml',
      query: '',
      contentType: 'application/yaml',
      want: 'apiVersion: v1\ncode: 400\nkind: Status\nmessage: refused\nmetadata: {}\nreason: BadRequest\nstatus: Failure\n',
    },
  ])('tells a reader of "$accept" in $contentType "$query"', ({ accept, query, contentType, want }) => {
    const reader = { accept, userAgent: '', query: new URLSearchParams(query) };
    expect(errorAnswer(refusal, reader)).toMatchObject({ code: 400, contentType, body: want });
  });

  test('says when to try again', () => {
    const reader = { accept: '', userAgent: '', query: new URLSearchParams() };
    const later = new ApiError(504, 'Timeout', 'later', { retryAfterSeconds: 1 });
    expect(errorAnswer(later, reader).headers).toEqual(['Retry-After', '1']);
  });
});
