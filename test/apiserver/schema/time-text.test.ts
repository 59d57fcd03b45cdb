import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatTime, parseTime, type TimeLayout } from '../../../src/apiserver/schema/time-text.ts';

/** The text that the server would write for it; null for the zero time, undefined for an invalid text. */
function reread(text: string, layout: TimeLayout): string | null | undefined {
  const moment = parseTime(text, layout);
  return moment && (formatTime(moment, layout) ?? null);
}

describe('a MicroTime', () => {
  test.each([
    ['in UTC', '2024-01-01T00:00:00.123456Z', '2024-01-01T00:00:00.123456Z'],
    ['east of it', '2024-01-01T00:00:00.123456+02:00', '2023-12-31T22:00:00.123456Z'],
    ['west of it', '2024-01-01T00:00:00.000001-05:30', '2024-01-01T05:30:00.000001Z'],
    ['with a zone of nothing', '2024-01-01T00:00:00.000000-00:00', '2024-01-01T00:00:00.000000Z'],
    ['with a zone of a day', '2024-01-01T00:00:00.000000+24:00', '2023-12-31T00:00:00.000000Z'],
    ['with a zone of 60 minutes', '2024-01-01T00:00:00.000000+23:60', '2023-12-31T00:00:00.000000Z'],
    ['with an hour of one digit', '2024-01-01T0:00:00.000000Z', '2024-01-01T00:00:00.000000Z'],
    ['with a comma', '2024-01-01T00:00:00,000001Z', '2024-01-01T00:00:00.000001Z'],
    ['of the epoch', '1970-01-01T00:00:00.000000Z', '1970-01-01T00:00:00.000000Z'],
    ['before the epoch', '1969-12-31T23:59:59.999999Z', '1969-12-31T23:59:59.999999Z'],
    ['of the year 0', '0000-01-01T00:00:00.000000Z', '0000-01-01T00:00:00.000000Z'],
    ['of a leap day', '2000-02-29T00:00:00.000000Z', '2000-02-29T00:00:00.000000Z'],
    ['of an early leap day', '0004-02-29T00:00:00.000000Z', '0004-02-29T00:00:00.000000Z'],
    ["that is Go's zero time", '0001-01-01T00:00:00.000000Z', null],
    ["just after Go's zero time", '0001-01-01T00:00:00.000001Z', '0001-01-01T00:00:00.000001Z'],
  ])('%s is read', (_, text, want) => {
    expect(reread(text, 'microTime')).toBe(want);
  });

  test.each([
    '',
    'x',
    '2024',
    '99999-01-01',
    '2024-1-01T00:00:00.000000Z',
    '2024-01-01',
    '2024-01-01t00:00:00.000000z',
    '2024-01-01T00:00:0',
    '2024-01-01T00:00:00Z',
    '2024-01-01T00:00:00.000Z',
    '2024-01-01T00:00:00.12a456Z',
    '2024-01-01T00:00:00.0000000Z',
    '2024-01-01T00:00:00.000000',
    '2024-01-01T00:00:00.000000z',
    '2024-01-01T00:00:00.123456+0200',
    '2024-13-01T00:00:00.000000Z',
    '2024-00-01T00:00:00.000000Z',
    '2024-02-30T00:00:00.000000Z',
    '2023-02-29T00:00:00.000000Z',
    '1900-02-29T00:00:00.000000Z',
    '2024-01-00T00:00:00.000000Z',
    '2024-01-01T24:00:00.000000Z',
    '2024-01-01T23:60:00.000000Z',
    '2024-01-01T23:00:60.000000Z',
    '2024-01-01T00:00:00.-12345Z',
    '2024-01-01T00:00:00.123456+25:00',
    '2024-01-01T00:00:00.123456+01:61',
    '2024-01-01T00:00:00.000000Zjunk',
    '2024-01-01T00:00:00.+12345Z',
    '9999-12-31T23:59:59.999999-01:00',
  ])('%j is invalid', (text) => {
    expect(reread(text, 'microTime')).toBeUndefined();
  });
});

describe('a Time', () => {
  test.each([
    ['in UTC', '2024-01-01T00:00:00Z', '2024-01-01T00:00:00Z'],
    ['with a fraction, which is dropped', '2024-01-01T00:00:00.999Z', '2024-01-01T00:00:00Z'],
    ['with a long fraction', '2024-01-01T00:00:00.1234567890123Z', '2024-01-01T00:00:00Z'],
    ['before the epoch', '1969-12-31T23:59:59.5Z', '1969-12-31T23:59:59Z'],
    ['elsewhere', '2024-01-01T00:00:00.123456+02:00', '2023-12-31T22:00:00Z'],
    ["that is Go's zero time", '0001-01-01T00:00:00Z', null],
  ])('%s is read', (_, text, want) => {
    expect(reread(text, 'time')).toBe(want);
  });
});

test('the output of Date is read back unchanged', () => {
  const date = fc.date({ min: new Date('0002-01-01'), max: new Date('9999-12-30'), noInvalidDate: true });
  fc.assert(
    fc.property(date, (when) => {
      const text = `${when.toISOString().slice(0, -1)}000Z`;
      expect(reread(text, 'microTime')).toBe(text);
    }),
  );
});

test('no text makes it throw', () => {
  fc.assert(fc.property(fc.string(), (text) => parseTime(text, 'time') === undefined));
});
