import { describe, expect, test } from 'vitest';
import { timeSince } from '../../../src/apiserver/kinds/definition.ts';

describe('the time since', () => {
  const now = Date.UTC(2024, 0, 1, 0, 2, 30) / 1000;
  test.each([
    ['a Time', '2024-01-01T00:00:00Z', '2m30s'],
    ['a MicroTime', '2024-01-01T00:00:00.500000Z', '2m29s'],
    ['a moment that is yet to come', '2024-01-01T00:03:00Z', '<invalid>'],
    ['no time', undefined, '<unknown>'],
    ['null', null, '<unknown>'],
  ])('%s', (_, timestamp, want) => {
    expect(timeSince(timestamp, now)).toBe(want);
  });
});
