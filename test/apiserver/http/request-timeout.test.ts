import { expect, test } from 'vitest';
import { checkTimeout } from '../../../src/apiserver/http/request-timeout.ts';

test.each([
  '',
  'timeout=',
  'timeout=0',
  'timeout=34s',
  'timeout=1m0.5s',
  'timeout=-1s',
  'timeout=.5h',
  'timeout=3µs',
])('takes "%s"', (query) => {
  expect(() => checkTimeout(new URLSearchParams(query))).not.toThrow();
});

test.each([
  { timeout: 'foo', want: 'time: invalid duration "foo"' },
  { timeout: '10', want: 'time: missing unit in duration "10"' },
  { timeout: '1s 1', want: 'time: invalid duration "1s 1"' },
])('refuses the timeout $timeout', ({ timeout, want }) => {
  expect(() => checkTimeout(new URLSearchParams({ timeout }))).toThrow(
    `invalid timeout specified in the request URL - ${want}`,
  );
});
