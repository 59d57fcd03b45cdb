import { describe, expect, test } from 'vitest';
import { warningHeaders } from '../../../src/apiserver/http/write-answer.ts';

describe('warningHeaders', () => {
  test('quotes each text', () => {
    expect(warningHeaders(['unknown field "spec.a\\b"'])).toEqual([
      'Warning',
      '299 - "unknown field \\"spec.a\\\\b\\""',
    ]);
  });

  test('lists each text once, and none that a header cannot contain', () => {
    expect(warningHeaders(['a', 'b', 'a', '', 'c\nd'])).toEqual([
      'Warning',
      '299 - "a"',
      'Warning',
      '299 - "b"',
    ]);
  });

  test('writes UTF-8 bytes', () => {
    expect(warningHeaders(['ä'])[1]).toBe('299 - "\u00c3\u00a4"');
  });

  test('contains a single long text completely', () => {
    expect(warningHeaders(['x'.repeat(4096)])[1]).toHaveLength(4096 + '299 - ""'.length);
  });

  test('truncates long texts, and omits the rest', () => {
    const headers = warningHeaders(Array.from({ length: 100 }, (_, index) => `${index} ${'x'.repeat(300)}`));
    expect(headers).toHaveLength(2 * 16);
    expect(headers[1]).toBe(`299 - "0 ${'x'.repeat(254)}"`);
  });
});
