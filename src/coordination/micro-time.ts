import type { MicroTime } from '../election/time.ts';

// RFC 3339 as the API server reads it; of the fraction, six digits are kept.
const RFC_3339 = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:\.(\d+))?(Z|[+-]\d{2}:\d{2})$/;

/**
 * Reads an RFC 3339 timestamp (metav1.Time or metav1.MicroTime) to the microsecond, which a Date cannot hold.
 * Digits beyond the microsecond are cut off. Returns undefined when the text is no timestamp.
 */
export function parseMicroTime(text: string): MicroTime | undefined {
  const [, seconds, fraction = '', zone] = RFC_3339.exec(text) ?? [];
  if (seconds === undefined || !isRealDate(seconds)) return undefined;
  const milliseconds = Date.parse(`${seconds}${zone}`);
  if (Number.isNaN(milliseconds)) return undefined;
  return BigInt(milliseconds) * 1000n + BigInt(fraction.slice(0, 6).padEnd(6, '0'));
}

/** Writes a metav1.MicroTime: RFC 3339 in UTC with six decimals; the API server takes no other number of them. */
export function formatMicroTime(time: MicroTime): string {
  const micros = ((time % 1000n) + 1000n) % 1000n;
  const milliseconds = new Date(Number((time - micros) / 1000n)).toISOString();
  return `${milliseconds.slice(0, -1)}${micros.toString().padStart(3, '0')}Z`;
}

/** Date.parse rolls February 30 over into March; the API server refuses it. */
function isRealDate(seconds: string): boolean {
  const parsed = Date.parse(`${seconds}Z`);
  return !Number.isNaN(parsed) && new Date(parsed).toISOString().startsWith(seconds);
}
