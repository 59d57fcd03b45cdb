/**
 * Formats a duration in the largest unit that fits: `4 s`, `12 min`, `3 h`, `2 d`.
 *
 * @param {number} durationMs
 */
export function durationText(durationMs) {
  const seconds = Math.max(0, Math.floor(durationMs / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

/**
 * Returns a text that identifies the day in the user's time zone.
 *
 * @param {number} at in milliseconds since the Unix epoch
 */
export function dayOf(at) {
  return new Date(at).toDateString();
}

/**
 * Formats the time of day in the user's locale, with the date if the day is not today.
 *
 * @param {number} at in milliseconds since the Unix epoch
 * @param {number} now
 */
export function clockText(at, now) {
  const date = new Date(at);
  const time = date.toLocaleTimeString(undefined, { hour12: false });
  return dayOf(at) === dayOf(now)
    ? time
    : `${date.toLocaleDateString(undefined, { month: 'short', day: 'numeric' })} ${time}`;
}
