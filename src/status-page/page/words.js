/**
 * @typedef {import('../wire.ts').HelloMessage} HelloMessage
 * @typedef {import('../wire.ts').LeaseEntry} LeaseEntry
 * @typedef {import('../wire.ts').CandidateEntry} CandidateEntry
 * @typedef {import('../wire.ts').ElectionEntry} ElectionEntry
 * @typedef {'good' | 'busy' | 'warn' | 'bad' | 'quiet'} Tone
 */

/** @type {ReadonlySet<CandidateEntry['state']>} */
const OUT_OF_IT = new Set(['Unresponsive', 'Expired', 'Deleting']);

/**
 * Returns the tone of a Lease: its condition at a glance.
 *
 * @param {LeaseEntry} entry
 * @param {HelloMessage} words
 * @returns {Tone}
 */
export function toneOf({ isUnled, isHeld, reason, preferredHolder }, { reasons }) {
  const { trouble, isStep } = reasons[reason];
  if (isUnled) return 'bad';
  if (trouble === 'warn') return 'warn';
  if (isStep || preferredHolder !== undefined) return 'busy';
  return isHeld && trouble === undefined ? 'good' : 'quiet';
}

/** The meaning of each tone, for users who do not see its colour and shape. @type {Readonly<Record<Tone, string>>} */
export const toneTexts = {
  good: 'in good order',
  busy: 'changing',
  warn: 'needs attention',
  bad: 'no leader',
  quiet: 'left alone',
};

/**
 * @param {CandidateEntry} candidate
 * @returns {Tone}
 */
export function candidateTone({ state, isHolder, isPreferred, lostBy }) {
  if (OUT_OF_IT.has(state)) return 'bad';
  if (isHolder) return 'good';
  if (isPreferred || state === 'Awaiting') return 'busy';
  return lostBy === 'NotElectable' || state === 'Lapsed' ? 'warn' : 'quiet';
}

/**
 * @param {ElectionEntry} entry
 * @returns {Tone}
 */
export function electionTone({ what, isWarning }) {
  if (isWarning) return 'warn';
  if (what === 'LeaderElected' || what === 'LeaderPreempted') return 'good';
  return what === 'PreferredHolderSet' ? 'busy' : 'quiet';
}

/**
 * `1.36.0`, or `1.36.0 as 1.35.0` if it emulates another version.
 *
 * @param {Pick<CandidateEntry, 'binary' | 'emulation'>} candidate
 */
export function versionText({ binary = 'no version', emulation = 'none' }) {
  return binary === emulation ? binary : `${binary} as ${emulation}`;
}

/**
 * Splits a key into `kube-system/` and `kube-scheduler`.
 *
 * @param {string} key
 */
export function splitKey(key) {
  const slash = key.indexOf('/') + 1;
  return { namespace: key.slice(0, slash), name: key.slice(slash) };
}

/**
 * Returns the Lease in the fragment of a URL, `#namespace/name`.
 *
 * @param {string} hash
 */
export function keyInHash(hash) {
  try {
    const key = decodeURIComponent(hash.slice(1));
    return key.includes('/') ? key : undefined;
  } catch {
    // The URL was cut off, or has another encoding.
    return undefined;
  }
}
