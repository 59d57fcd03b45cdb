import { describe, expect, test } from 'vitest';
import { ApiError, ConnectionError, isConflict, isReplaced, isUnsent } from '../../src/kubernetes/errors.ts';

describe.each([
  { name: '409', error: apiError(409, 'Conflict'), want: true },
  { name: '409 AlreadyExists', error: apiError(409, 'AlreadyExists'), want: true },
  { name: '404 of the object', error: apiError(404, 'NotFound'), want: true },
  { name: '404 of the resource', error: apiError(404, ''), want: false },
  { name: '500', error: apiError(500, ''), want: false },
  { name: 'no answer', error: new ConnectionError('x', { code: 'DEADLINE_EXCEEDED' }), want: false },
  { name: 'anything else', error: 'text', want: false },
])('an error: $name', ({ error, want }) => {
  test(want ? 'means that the object has changed' : 'does not mean that the object has changed', () => {
    expect(isConflict(error)).toBe(want);
  });
});

test.each([
  {
    name: 'a patch with the uid of a former object',
    error: apiError(
      422,
      'Invalid',
      'Pod "a" is invalid: metadata.uid: Invalid value: "u1": field is immutable',
    ),
    want: true,
  },
  {
    name: 'a precondition',
    error: apiError(409, 'Conflict', 'Precondition failed: UID in precondition: u1, UID in object meta: u2'),
    want: true,
  },
  {
    name: 'a concurrent write',
    error: apiError(409, 'Conflict', 'the object has been modified'),
    want: false,
  },
  {
    name: 'another invalid field',
    error: apiError(422, 'Invalid', 'spec.x: Invalid value: ""'),
    want: false,
  },
])('an error shows that the object was replaced: $name: $want', ({ error, want }) => {
  expect(isReplaced(error, 'u1')).toBe(want);
});

function apiError(status: number, reason: string, message = ''): ApiError {
  return new ApiError({ method: 'PATCH', path: '/', status, reason, message });
}

describe('a request was certainly not sent', () => {
  const failed = (code: string, syscall?: string) =>
    new ConnectionError('x', { code, cause: Object.assign(new Error('x'), { code, syscall }) });

  test.each([
    { name: 'without credentials', error: failed('CREDENTIALS'), want: true },
    { name: 'if the server refuses the connection', error: failed('ECONNREFUSED', 'connect'), want: true },
    { name: 'if all addresses refuse the connection', error: failed('ECONNREFUSED'), want: true },
    { name: 'if there is no route for a connection', error: failed('EHOSTUNREACH', 'connect'), want: true },
    { name: 'if the name server does not answer', error: failed('EAI_AGAIN', 'getaddrinfo'), want: true },
    {
      name: 'but perhaps if a connection loses its route',
      error: failed('EHOSTUNREACH', 'read'),
      want: false,
    },
    { name: 'but perhaps if the connection breaks', error: failed('ECONNRESET', 'read'), want: false },
    { name: 'but perhaps if there is an answer', error: new Error('x'), want: false },
  ])('$name', ({ error, want }) => expect(isUnsent(error)).toBe(want));
});
