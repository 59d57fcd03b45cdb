import { goTimeQuote } from './go-text.ts';

/** A moment as Go's time package reads it from text. */
export interface Moment {
  /** Unix time, in whole seconds. */
  readonly seconds: number;
  readonly nanoseconds: number;
}

/** What is wrong with a text that is no time, in Go's words. */
export interface TimeProblem {
  readonly problem: string;
}

/** The two layouts of the API: metav1.Time, and metav1.MicroTime with exactly six decimals. */
export type TimeLayout = 'time' | 'microTime';

type Part = '2006' | '01' | '02' | '15' | '04' | '05' | '.000000' | 'Z07:00';

const LAYOUTS: Readonly<Record<TimeLayout, string>> = {
  time: '2006-01-02T15:04:05Z07:00',
  microTime: '2006-01-02T15:04:05.000000Z07:00',
};
const DATE_AND_TIME: readonly (readonly [separator: string, part: Part])[] = [
  ['', '2006'],
  ['-', '01'],
  ['-', '02'],
  ['T', '15'],
  [':', '04'],
  [':', '05'],
];
const PARTS: Readonly<Record<TimeLayout, readonly (readonly [separator: string, part: Part])[]>> = {
  time: [...DATE_AND_TIME, ['', 'Z07:00']],
  microTime: [...DATE_AND_TIME, ['', '.000000'], ['', 'Z07:00']],
};

/** Unix time of the first second of the year 1, Go's zero time. */
const ZERO_SECONDS = -62_135_596_800;

/** The values of a time while it is read. */
interface Fields {
  year: number;
  month: number;
  day: number;
  hour: number;
  minute: number;
  second: number;
  nanoseconds: number;
  offsetSeconds: number;
}

/** What reading one part came to: the text after it, or what is wrong ('' : it does not look like it at all). */
type Step = { readonly rest: string; readonly outOfRange?: string } | undefined;

/** Reads RFC 3339 as Go's time.Parse does, which forgives one-digit hours and a comma before the fraction. */
export function parseTime(text: string, layout: TimeLayout): Moment | TimeProblem {
  const fields: Fields = {
    year: 1,
    month: 1,
    day: 1,
    hour: 0,
    minute: 0,
    second: 0,
    nanoseconds: 0,
    offsetSeconds: 0,
  };
  let rest = text;
  for (const [separator, part] of PARTS[layout]) {
    if (!rest.startsWith(separator)) return unlike(text, layout, rest, separator);
    rest = rest.slice(separator.length);
    const step = readPart(part, rest, fields, layout);
    if (step === undefined) return unlike(text, layout, rest, part);
    if (step.outOfRange !== undefined) return outOfRange(text, step.outOfRange);
    rest = step.rest;
  }
  if (rest !== '') return { problem: `parsing time ${goTimeQuote(text)}: extra text: ${goTimeQuote(rest)}` };
  if (fields.day < 1 || fields.day > daysIn(fields.year, fields.month)) return outOfRange(text, 'day');
  return { seconds: unixSeconds(fields) - fields.offsetSeconds, nanoseconds: fields.nanoseconds };
}

/** Writes a moment as the API server does, in UTC; undefined for Go's zero time, which it writes as null. */
export function formatTime({ seconds, nanoseconds }: Moment, layout: TimeLayout): string | undefined {
  if (seconds === ZERO_SECONDS && nanoseconds === 0) return undefined;
  const date = new Date(seconds * 1000);
  const pad = (value: number, digits = 2) => String(value).padStart(digits, '0');
  const day = `${pad(date.getUTCFullYear(), 4)}-${pad(date.getUTCMonth() + 1)}-${pad(date.getUTCDate())}`;
  const time = `${pad(date.getUTCHours())}:${pad(date.getUTCMinutes())}:${pad(date.getUTCSeconds())}`;
  const fraction = layout === 'time' ? '' : `.${pad(Math.floor(nanoseconds / 1000), 6)}`;
  return `${day}T${time}${fraction}Z`;
}

function readPart(part: Part, text: string, fields: Fields, layout: TimeLayout): Step {
  switch (part) {
    case '2006':
      return readYear(text, fields);
    case '15':
      return readHour(text, fields);
    case '.000000':
      return text.length < 7 ? undefined : readFraction(text, 7, fields);
    case 'Z07:00':
      return readZone(text, fields);
    case '05':
      return readSecond(text, fields, layout);
    default:
      return readTwoDigits(part, text, fields);
  }
}

function readYear(text: string, fields: Fields): Step {
  const year = /^\d{4}/.exec(text)?.[0];
  if (year === undefined) return undefined;
  fields.year = Number(year);
  return { rest: text.slice(4) };
}

function readHour(text: string, fields: Fields): Step {
  const digits = /^\d\d?/.exec(text)?.[0];
  if (digits === undefined) return undefined;
  fields.hour = Number(digits);
  const rest = text.slice(digits.length);
  return fields.hour < 24 ? { rest } : { rest, outOfRange: 'hour' };
}

function readTwoDigits(part: '01' | '02' | '04', text: string, fields: Fields): Step {
  const value = twoDigits(text);
  if (value === undefined) return undefined;
  const rest = text.slice(2);
  if (part === '02') {
    // Whether there is such a day is known only with the whole date.
    fields.day = value;
    return { rest };
  }
  if (part === '01') {
    fields.month = value;
    return value >= 1 && value <= 12 ? { rest } : { rest, outOfRange: 'month' };
  }
  fields.minute = value;
  return value < 60 ? { rest } : { rest, outOfRange: 'minute' };
}

function readSecond(text: string, fields: Fields, layout: TimeLayout): Step {
  const second = twoDigits(text);
  if (second === undefined) return undefined;
  fields.second = second;
  const rest = text.slice(2);
  if (second >= 60) return { rest, outOfRange: 'second' };
  const fraction = /^[.,]\d+/.exec(rest)?.[0];
  if (layout === 'microTime' || fraction === undefined) return { rest };
  return readFraction(rest, fraction.length, fields);
}

function readFraction(text: string, length: number, fields: Fields): Step {
  const [, digits = ''] = /^[.,]([+-]?\d+)$/.exec(text.slice(0, Math.min(length, 10))) ?? [];
  if (digits === '') return undefined;
  const rest = text.slice(length);
  if (Number(digits) < 0) return { rest, outOfRange: 'fractional second' };
  fields.nanoseconds = Number(digits) * 10 ** (9 - digits.length);
  return { rest };
}

function readZone(text: string, fields: Fields): Step {
  if (text.startsWith('Z')) return { rest: text.slice(1) };
  const [, sign, hours = '', minutes = ''] = /^([+-])(\d\d):(\d\d)/.exec(text) ?? [];
  if (sign === undefined) return undefined;
  const rest = text.slice(6);
  // Go takes offsets of 24 hours and of 60 minutes, as some people write them.
  if (Number(hours) > 24) return { rest, outOfRange: 'time zone offset hour' };
  if (Number(minutes) > 60) return { rest, outOfRange: 'time zone offset minute' };
  fields.offsetSeconds = (sign === '-' ? -60 : 60) * (Number(hours) * 60 + Number(minutes));
  return { rest };
}

function twoDigits(text: string): number | undefined {
  const digits = /^\d\d/.exec(text)?.[0];
  return digits === undefined ? undefined : Number(digits);
}

function unixSeconds({ year, month, day, hour, minute, second }: Fields): number {
  // Date.UTC takes the years 0 to 99 for those after 1900.
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date.setUTCHours(hour, minute, second, 0) / 1000;
}

function daysIn(year: number, month: number): number {
  const date = new Date(0);
  date.setUTCFullYear(year, month, 0);
  return date.getUTCDate();
}

function unlike(text: string, layout: TimeLayout, rest: string, wanted: string): TimeProblem {
  const [whole, as, found, part] = [text, LAYOUTS[layout], rest, wanted].map(goTimeQuote);
  return { problem: `parsing time ${whole} as ${as}: cannot parse ${found} as ${part}` };
}

function outOfRange(text: string, what: string): TimeProblem {
  return { problem: `parsing time ${goTimeQuote(text)}: ${what} out of range` };
}
