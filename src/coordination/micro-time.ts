import type { MicroTime } from '../election/model.ts';

// RFC 3339 with a capital T and Z, and without leap seconds. The API server refuses all other forms of RFC 3339.
const RFC_3339 =
  /^\d{4}-(?:0[1-9]|1[0-2])-\d{2}T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;
/** The Gregorian calendar repeats after this many years. */
const CYCLE_YEARS = 400;
const CYCLE_MS = Date.UTC(2000 + CYCLE_YEARS, 0) - Date.UTC(2000, 0);

/**
 * Parses an RFC 3339 timestamp (metav1.Time or metav1.MicroTime). Keeps microseconds, which a Date cannot hold, and
 * drops further digits. Returns undefined for an invalid timestamp.
 */
export function parseMicroTime(text: string): MicroTime | undefined {
  if (!RFC_3339.test(text)) return undefined;
  // Do not split the text for Date.parse(): splitting takes four times as long, and each watch event has timestamps.
  const year = twoDigits(text, 0) * 100 + twoDigits(text, 2);
  const day = twoDigits(text, 8);
  // Add 400 years, and subtract them afterwards: Date.UTC() treats the years 0 to 99 as 1900 to 1999.
  const dayMs = Date.UTC(year + CYCLE_YEARS, twoDigits(text, 5) - 1, day) - CYCLE_MS;
  // The API server refuses a day that does not exist, such as February 30.
  if (new Date(dayMs).getUTCDate() !== day) return undefined;
  const isUtc = text.endsWith('Z');
  const zoneAt = text.length - (isUtc ? 1 : 6);
  const offset = isUtc ? 0 : minutesAt(text, zoneAt + 1);
  const minutes = minutesAt(text, 11) + (text[zoneAt] === '-' ? offset : -offset);
  const ms = dayMs + minutes * 60_000 + twoDigits(text, 17) * 1000;
  const fractionEnd = Math.min(zoneAt, 26);
  let micros = 0;
  for (let index = 20, unit = 100_000; index < fractionEnd; index++, unit /= 10)
    micros += digit(text, index) * unit;
  return BigInt(ms) * 1000n + BigInt(micros);
}

function minutesAt(text: string, index: number): number {
  return twoDigits(text, index) * 60 + twoDigits(text, index + 3);
}

function twoDigits(text: string, index: number): number {
  return digit(text, index) * 10 + digit(text, index + 1);
}

function digit(text: string, index: number): number {
  return text.charCodeAt(index) - 48;
}

/** The earliest and the latest time of RFC 3339, which writes a year with four digits. */
const EARLIEST = BigInt(Date.parse('0000-01-01T00:00:00.000Z')) * 1000n;
const LATEST = BigInt(Date.parse('9999-12-31T23:59:59.999Z')) * 1000n + 999n;

/** Formats a metav1.MicroTime: UTC, six decimals. A time out of range becomes the nearest one in range. */
export function formatMicroTime(time: MicroTime): string {
  const written = time < EARLIEST ? EARLIEST : time > LATEST ? LATEST : time;
  const micros = ((written % 1000n) + 1000n) % 1000n;
  const milliseconds = new Date(Number((written - micros) / 1000n)).toISOString();
  return `${milliseconds.slice(0, -1)}${micros.toString().padStart(3, '0')}Z`;
}

/** Formats a time as metav1.Time, which has whole seconds. Drops the fraction. */
export function formatSeconds(time: MicroTime): string {
  return formatMicroTime(time).replace(/\.\d+/, '');
}
