import type { MicroTime } from '../election/time.ts';

// RFC 3339 as the API server reads it; of the fraction, six digits are kept.
const RFC_3339 = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:\.(\d+))?(Z|[+-]\d{2}:\d{2})$/;

/**
 * Reads an RFC 3339 timestamp (metav1.Time or metav1.MicroTime) to the microsecond, which a Date cannot hold.
 * Digits beyond the microsecond are cut off. Returns undefined when the text is no timestamp.
 */
export function parseMicroTime(text: string): MicroTime | undefined {
  const [, seconds, fraction = '', zone] = RFC_3339.exec(text) ?? [];
  if (seconds === undefined) return undefined;
  const inUtc = Date.parse(`${seconds}Z`);
  if (!isOnDay(inUtc, seconds)) return undefined;
  const milliseconds = zone === 'Z' ? inUtc : Date.parse(`${seconds}${zone}`);
  if (Number.isNaN(milliseconds)) return undefined;
  return BigInt(milliseconds) * 1000n + BigInt(fraction.slice(0, 6).padEnd(6, '0'));
}

/** The first and the last moment that RFC 3339 has, in whose years there are four digits. */
const EARLIEST = BigInt(Date.parse('0000-01-01T00:00:00.000Z')) * 1000n;
const LATEST = BigInt(Date.parse('9999-12-31T23:59:59.999Z')) * 1000n + 999n;

/**
 * Writes a metav1.MicroTime: RFC 3339 in UTC with six decimals; the API server takes no other number of them. A moment that
 * it cannot be written of, such as the one after the last, is written as the nearest that it can.
 */
export function formatMicroTime(time: MicroTime): string {
  const written = time < EARLIEST ? EARLIEST : time > LATEST ? LATEST : time;
  const micros = ((written % 1000n) + 1000n) % 1000n;
  const milliseconds = new Date(Number((written - micros) / 1000n)).toISOString();
  return `${milliseconds.slice(0, -1)}${micros.toString().padStart(3, '0')}Z`;
}

/** Date.parse rolls February 30 over into March, and 24:00 into the next day; the API server refuses them. NaN is on no day. */
function isOnDay(milliseconds: number, seconds: string): boolean {
  return new Date(milliseconds).getUTCDate() === Number(seconds.slice(8, 10));
}
