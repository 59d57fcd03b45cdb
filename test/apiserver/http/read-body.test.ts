import { describe, expect, test } from 'vitest';
import { ApiError } from '../../../src/apiserver/errors/api-error.ts';
import { contentTypeOf } from '../../../src/apiserver/http/request-body.ts';
import type { Verb } from '../../../src/apiserver/operations/request.ts';

function refusal(header: string, verb: Verb): ApiError['status'] {
  try {
    contentTypeOf(header, verb);
  } catch (error) {
    if (error instanceof ApiError) return error.status;
    throw error;
  }
  throw new Error(`${header} is taken`);
}

describe('contentTypeOf', () => {
  test.each([
    { header: '', want: '' },
    { header: 'application/json', want: 'application/json' },
    { header: 'Application/JSON; charset=utf-8', want: 'application/json' },
    { header: 'application/json;', want: 'application/json' },
    { header: 'application/yaml', want: 'application/yaml' },
    { header: 'application/vnd.kubernetes.protobuf', want: 'application/vnd.kubernetes.protobuf' },
  ])('takes "$header" for an object', ({ header, want }) => {
    expect(contentTypeOf(header, 'create')).toBe(want);
  });

  test.each([
    'text/plain',
    'application/cbor',
    '*/*',
    'garbage',
    'application/json;x',
    'application/merge-patch+json',
  ])('takes no object in %s', (header) => {
    expect(refusal(header, 'update')).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message:
        'the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf',
      reason: 'UnsupportedMediaType',
      code: 415,
    });
  });

  test.each([
    { header: 'application/json-patch+json', want: 'application/json-patch+json' },
    { header: 'application/merge-patch+json; charset=utf-8', want: 'application/merge-patch+json' },
    { header: 'application/strategic-merge-patch+json', want: 'application/strategic-merge-patch+json' },
    { header: 'application/apply-patch+yaml', want: 'application/apply-patch+yaml' },
  ])('takes a patch in $header', ({ header, want }) => {
    expect(contentTypeOf(header, 'patch')).toBe(want);
  });

  test.each(['', 'application/json', 'Application/Merge-Patch+JSON', 'application/apply-patch+cbor'])(
    'takes no patch in "%s"',
    (header) => {
      expect(refusal(header, 'patch')).toMatchObject({
        code: 415,
        reason: 'UnsupportedMediaType',
        message: '415: Unsupported Media Type',
        details: {},
      });
    },
  );
});

describe('contentTypeOf for a custom resource', () => {
  const refusedWith = (header: string, verb: Verb) => {
    try {
      return contentTypeOf(header, verb, true);
    } catch (error) {
      if (error instanceof ApiError) return `${error.status.code}: ${error.message}`;
      throw error;
    }
  };
  const unknown = '415: the body of the request was in an unknown format - accepted media types include: ';

  test.each<[string, Verb, string]>([
    ['application/json', 'create', 'application/json'],
    ['application/merge-patch+json', 'patch', 'application/merge-patch+json'],
    ['application/apply-patch+yaml', 'patch', 'application/apply-patch+yaml'],
    [
      'application/strategic-merge-patch+json',
      'patch',
      `${unknown}application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml`,
    ],
    [
      'application/vnd.kubernetes.protobuf',
      'create',
      `${unknown}application/json, application/yaml, application/vnd.kubernetes.protobuf`,
    ],
  ])('judges %s for %s', (header, verb, want) => {
    expect(refusedWith(header, verb)).toBe(want);
  });
});
