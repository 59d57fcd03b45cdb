/** @import { CandidateEntry, ElectionEntry, Tone } from '../wire.ts' */

/** @type {ReadonlySet<CandidateEntry['state']>} */
const OUT_OF_IT = new Set(['Unresponsive', 'Expired', 'Deleting']);

/** The meaning of a Lease's tone, for users who do not see colour and shape. @type {Readonly<Record<Tone, string>>} */
export const toneTexts = {
  good: 'in good order',
  busy: 'changing',
  warn: 'needs attention',
  bad: 'no leader',
  quiet: 'left alone',
};

/** @type {(candidate: CandidateEntry) => Tone} */
export function candidateTone({ state, isHolder, isPreferred, lostBy }) {
  if (OUT_OF_IT.has(state)) return 'bad';
  if (isHolder) return 'good';
  if (isPreferred || state === 'Awaiting') return 'busy';
  return lostBy === 'NotElectable' || state === 'Lapsed' ? 'warn' : 'quiet';
}

/** @type {(entry: ElectionEntry) => Tone} */
export function electionTone({ what, isWarning }) {
  if (isWarning) return 'warn';
  if (what === 'LeaderElected' || what === 'LeaderPreempted') return 'good';
  return what === 'PreferredHolderSet' ? 'busy' : 'quiet';
}

/**
 * Formats the binary and the emulation version: `1.36.0` if they are equal, otherwise `1.36.0 as 1.35.0`. Replaces a
 * missing version by `no version`.
 * @param {Pick<CandidateEntry, 'binary' | 'emulation'>} candidate
 */
export function versionText({ binary = 'no version', emulation = 'no version' }) {
  return binary === emulation ? binary : `${binary} as ${emulation}`;
}

/** Splits a key such as `default/app` into the namespace `default/` and the name `app`. @param {string} key */
export function splitKey(key) {
  const slash = key.indexOf('/') + 1;
  return { namespace: key.slice(0, slash), name: key.slice(slash) };
}

/**
 * Returns the key of the Lease in the fragment of a URL, `#namespace/name`; undefined if there is none.
 * @param {string} hash
 */
export function keyInHash(hash) {
  try {
    const key = decodeURIComponent(hash.slice(1));
    return key.includes('/') ? key : undefined;
  } catch {
    // The fragment cannot be decoded, for example because the URL was truncated.
    return undefined;
  }
}

/** Formats a duration in the largest unit that fits: `4 s`, `12 min`, `3 h`, `2 d`. @param {number} durationMs */
export function durationText(durationMs) {
  const seconds = Math.max(0, Math.floor(durationMs / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

/** @type {Intl.DateTimeFormatOptions} */
const TIME = { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' };
const timeOfDay = new Intl.DateTimeFormat(undefined, TIME);
const timeOfYear = new Intl.DateTimeFormat(undefined, { ...TIME, month: 'short', day: 'numeric' });

/**
 * Formats `at` in the user's locale, with the date unless `at` is today.
 * @type {(at: number, now: number) => string}
 */
export function clockText(at, now) {
  const isToday = new Date(at).toDateString() === new Date(now).toDateString();
  return (isToday ? timeOfDay : timeOfYear).format(at);
}
