const MILLISECONDS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const;
type Unit = keyof typeof MILLISECONDS;

const DURATION = /^(?:\d+(?:\.\d+)?(?:ms|s|m|h))+$/;
const PART = /(\d+(?:\.\d+)?)(ms|s|m|h)/g;

/**
 * Reads a duration as Go and kubectl write them: `500ms`, `5s`, `1.5m`, `1h30m`.
 *
 * @returns whole milliseconds; undefined when `text` is no duration, or one finer or longer than those can tell.
 */
export function parseDurationMs(text: string): number | undefined {
  if (!DURATION.test(text)) return undefined;
  let totalMs = 0;
  for (const [, amount, unit] of text.matchAll(PART)) {
    totalMs += Number(amount) * MILLISECONDS[unit as Unit];
  }
  // Binary fractions miss by a hair: 1.001 * 1000 is not 1001.
  const wholeMs = Math.round(totalMs);
  return Number.isSafeInteger(wholeMs) && Math.abs(totalMs - wholeMs) < 1e-6 ? wholeMs : undefined;
}

/** Writes whole milliseconds the way {@link parseDurationMs} reads them, in the largest units that fit. */
export function formatDurationMs(durationMs: number): string {
  let restMs = durationMs;
  let text = '';
  for (const unit of ['h', 'm', 's', 'ms'] as const) {
    const amount = Math.floor(restMs / MILLISECONDS[unit]);
    restMs -= amount * MILLISECONDS[unit];
    if (amount > 0) text += `${amount}${unit}`;
  }
  return text === '' ? '0s' : text;
}
