export interface Moment {
  /** Unix time, in whole seconds. */
  readonly seconds: number;
  readonly nanoseconds: number;
}

/** The two layouts of the API: metav1.Time, and metav1.MicroTime with exactly six decimals. */
export type TimeLayout = 'time' | 'microTime';

const DATE_AND_TIME = String.raw`(\d{4}-\d\d-\d\d)T(\d\d?)(:\d\d:\d\d)`;
const ZONE = String.raw`(?:Z|([+-])([01]\d|2[0-4]):([0-5]\d|60))`;
/** Like kube-apiserver, also accepts a one-digit hour, a comma, and offsets of up to 24 hours or 60 minutes. */
const LAYOUTS: Readonly<Record<TimeLayout, RegExp>> = {
  time: new RegExp(String.raw`^${DATE_AND_TIME}(?:[.,](\d+))?${ZONE}$`),
  microTime: new RegExp(String.raw`^${DATE_AND_TIME}[.,](\d{6})${ZONE}$`),
};
const TO_SECONDS = '2006-01-02T15:04:05'.length;

/** Unix time of the first and the last second in the years 0000 to 9999. */
const FIRST_SECOND = -62_167_219_200;
const LAST_SECOND = 253_402_300_799;
/** Unix time of the first second of the year 1, which is Go's zero time. */
const ZERO_SECONDS = -62_135_596_800;

/** Reads RFC 3339. Returns undefined for any other text. */
export function parseTime(text: string, layout: TimeLayout): Moment | undefined {
  const match = LAYOUTS[layout].exec(text);
  if (match === null) return undefined;
  const [, date = '', hour = '', rest = '', fraction = '', sign, hours = '0', minutes = '0'] = match;
  const local = `${date}T${hour.padStart(2, '0')}${rest}`;
  const localMs = Date.parse(`${local}Z`);
  // Without this check, Date.parse reads February 30 as March 2, and 24:00 as the next day.
  if (Number.isNaN(localMs) || new Date(localMs).toISOString().slice(0, TO_SECONDS) !== local)
    return undefined;
  const offsetSeconds = (sign === '-' ? -60 : 60) * (Number(hours) * 60 + Number(minutes));
  const seconds = localMs / 1000 - offsetSeconds;
  if (seconds < FIRST_SECOND || seconds > LAST_SECOND) return undefined;
  return { seconds, nanoseconds: Number(fraction.slice(0, 9).padEnd(9, '0')) };
}

/** Formats a moment in UTC. Returns undefined for Go's zero time, which the API writes as null. */
export function formatTime({ seconds, nanoseconds }: Moment, layout: TimeLayout): string | undefined {
  if (seconds === ZERO_SECONDS && nanoseconds === 0) return undefined;
  const dateAndTime = new Date(seconds * 1000).toISOString().slice(0, TO_SECONDS);
  const micros = String(Math.floor(nanoseconds / 1000)).padStart(6, '0');
  return layout === 'time' ? `${dateAndTime}Z` : `${dateAndTime}.${micros}Z`;
}
