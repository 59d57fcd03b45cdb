import { isJsonObject } from './json.ts';

const MILLISECONDS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const;
const DURATION = /^(?:\d+(?:\.\d+)?(?:ms|s|m|h))+$/;
const PART = /(\d+(?:\.\d+)?)(ms|s|m|h)/g;

/**
 * Parses a duration (`500ms`, `1.5m`, `1h30m`) to milliseconds. The format is a subset of Go's: no sign, only the
 * units h, m, s and ms. Returns undefined if the text is invalid, or if the duration is not a whole number of milliseconds.
 */
export function parseDurationMs(text: string): number | undefined {
  if (!DURATION.test(text)) return undefined;
  let totalMs = 0;
  for (const [, amount, unit] of text.matchAll(PART)) {
    totalMs += Number(amount) * MILLISECONDS[unit as keyof typeof MILLISECONDS];
  }
  // Round, because 1.001 * 1000 is not exactly 1001 in floating point.
  const wholeMs = Math.round(totalMs);
  return Number.isSafeInteger(wholeMs) && Math.abs(totalMs - wholeMs) < 1e-6 ? wholeMs : undefined;
}

export function formatDurationMs(durationMs: number): string {
  let restMs = durationMs;
  let text = '';
  for (const unit of ['h', 'm', 's', 'ms'] as const) {
    const amount = Math.floor(restMs / MILLISECONDS[unit]);
    restMs -= amount * MILLISECONDS[unit];
    if (amount > 0) text += `${amount}${unit}`;
  }
  return text || '0s';
}

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

/** Formats an age in seconds as kubectl's tables do. */
export function humanDuration(ageSeconds: number): string {
  const seconds = Math.trunc(ageSeconds);
  // The clocks of two machines differ a little, so an age of -1 s counts as 0.
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  if (seconds < 2 * MINUTE) return `${seconds}s`;
  if (seconds < 10 * MINUTE) return twoUnits(seconds, [MINUTE, 'm'], [1, 's']);
  if (seconds < 3 * HOUR) return `${Math.floor(seconds / MINUTE)}m`;
  if (seconds < 8 * HOUR) return twoUnits(seconds, [HOUR, 'h'], [MINUTE, 'm']);
  if (seconds < 2 * DAY) return `${Math.floor(seconds / HOUR)}h`;
  if (seconds < 8 * DAY) return twoUnits(seconds, [DAY, 'd'], [HOUR, 'h']);
  if (seconds < 2 * YEAR) return `${Math.floor(seconds / DAY)}d`;
  if (seconds < 8 * YEAR) return twoUnits(seconds, [YEAR, 'y'], [DAY, 'd']);
  return `${Math.floor(seconds / YEAR)}y`;
}

/**
 * Characters that are unsafe in a terminal, a log or a page, such as control characters, direction marks and zero-width
 * characters. They can move the cursor, or hide or reverse text.
 */
const HARMFUL = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;
const HARMFUL_IN_JSON = new RegExp(HARMFUL.source.replace('\\p{Cc}', '\\x7f-\\x9f'), 'gu');

/**
 * Makes text from the cluster safe to show on one line. Such text, for example a holderIdentity, may contain any
 * character. Writes ASCII control characters with a caret: the escape character becomes `^[`, as in kubectl. Escapes
 * other unsafe characters by their number: `\u202e`.
 */
export function printable(text: string): string {
  return text.replace(HARMFUL, (character) => {
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x80) return `^${String.fromCharCode(code ^ 0x40)}`;
    return code < 0x100 ? `\\x${code.toString(16)}` : numbered(character);
  });
}

/**
 * Makes text from the cluster safe to show on several lines: escapes it like {@link printable}, but keeps each `\n`.
 * Shortens the result to at most `maxLength` characters.
 */
export function printableLines(text: string, maxLength: number): string {
  return shortened(text.split('\n').map(printable).join('\n'), maxLength);
}

/** Escapes characters that are unsafe to show but valid in JSON, in the form `\u202e`. The parsed value stays the same. */
export function printableJson(json: string): string {
  return json.replace(HARMFUL_IN_JSON, numbered);
}

/** Shortens the text to at most `maxLength` characters. A shortened text ends with an ellipsis. */
export function shortened(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  // If the text now ends with half of a surrogate pair, drop that half.
  return `${text.slice(0, maxLength - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** Maximum length of a string in a value that {@link bounded} returns. Most strings are much shorter. */
const MAX_CHARACTERS = 1000;

/** Shortens the long strings in a value. Changes only strings, arrays and plain objects. */
export function bounded(value: unknown): unknown {
  if (typeof value === 'string') return shortened(value, MAX_CHARACTERS);
  if (Array.isArray(value)) return value.map(bounded);
  const isPlain = isJsonObject(value) && Object.getPrototypeOf(value) === Object.prototype;
  return isPlain ? boundedFields(value) : value;
}

export function boundedFields(object: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).map(([field, value]) => [field, bounded(value)]));
}

/** Returns the message of an error. Converts any other thrown value to text. */
export function messageOf(error: unknown): string {
  // If a host has several addresses, Node tries to connect to each. If all attempts fail, Node reports the failures in
  // an AggregateError without a message.
  if (error instanceof AggregateError && !error.message) return error.errors.map(messageOf).join(', ');
  return error instanceof Error ? error.message : String(error);
}

type HumanUnit = readonly [seconds: number, name: string];

function twoUnits(seconds: number, [large, largeName]: HumanUnit, [small, smallName]: HumanUnit): string {
  const rest = Math.floor((seconds % large) / small);
  const whole = `${Math.floor(seconds / large)}${largeName}`;
  return rest === 0 ? whole : `${whole}${rest}${smallName}`;
}

function numbered(character: string): string {
  // Without the flag u, the pattern matches each UTF-16 code unit. A character may have two code units.
  return character.replace(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
