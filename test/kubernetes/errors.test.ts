import { describe, expect, test } from 'vitest';
import { ApiError, ConnectionError, isConflict } from '../../src/kubernetes/errors.ts';

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

function apiError(status: number, reason: string): ApiError {
  return new ApiError({ method: 'PATCH', path: '/', status, reason, message: '' });
}
