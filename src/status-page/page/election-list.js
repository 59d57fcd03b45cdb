import { make } from './dom.js';
import { clockText } from './time-text.js';
import { electionTone, splitKey, versionText } from './words.js';

/**
 * @typedef {import('../wire.ts').ElectionEntry} ElectionEntry
 * @typedef {import('../wire.ts').HelloMessage} HelloMessage
 */

/** Elections that choose a candidate. @type {ReadonlySet<ElectionEntry['what']>} */
const CHOICES = new Set(['LeaderElected', 'LeaderPreempted', 'PreferredHolderSet']);
/** Maximum entries, as on the server. */
const REMEMBERED = 200;

/** The last elections, newest first. */
export class Elections {
  /** @type {ElectionEntry[]} */
  #entries = [];

  /** Removes all entries: another process may send entries now, and count from 1 again. */
  clear() {
    this.#entries = [];
  }

  /** @param {readonly ElectionEntry[]} entries */
  add(entries) {
    this.#entries = [...entries.toReversed(), ...this.#entries].slice(0, REMEMBERED);
  }

  get all() {
    return this.#entries;
  }

  /** @param {string} key */
  of(key) {
    return this.#entries.filter((entry) => entry.key === key);
  }
}

/**
 * @param {ElectionEntry} entry
 * @param {HelloMessage} words
 * @param {number} now
 * @param {boolean} isOfOneLease omits the name of the Lease
 */
export function electionItem(entry, words, now, isOfOneLease) {
  const { namespace, name } = splitKey(entry.key);
  const time = make(
    'time',
    { datetime: new Date(entry.at).toISOString(), title: new Date(entry.at).toISOString() },
    clockText(entry.at, now),
  );
  const what = make('span', { class: 'what' }, entry.what);
  const key = make(
    'button',
    { type: 'button', class: 'lease-link', 'data-key': entry.key },
    make('span', { class: 'namespace' }, namespace),
    name,
  );
  return make(
    'li',
    { class: 'election', 'data-tone': electionTone(entry), 'data-id': String(entry.id) },
    make('div', { class: 'when' }, time, what),
    ...(isOfOneLease ? [] : [key]),
    make('p', { class: 'text' }, entry.text),
    ...passedOver(entry, words),
  );
}

/**
 * @param {ElectionEntry} entry
 * @param {HelloMessage} words
 */
function passedOver({ what, isWarning, passedOver, more }, { losses }) {
  if (passedOver.length === 0) return [];
  const items = passedOver.map(({ name, lostBy, ...versions }) =>
    make(
      'li',
      {},
      make('span', { class: 'candidate' }, name),
      ' ',
      make('span', { class: 'version' }, versionText(versions)),
      ` ${losses[lostBy] ?? lostBy}`,
    ),
  );
  const rest = more > 0 ? [make('li', {}, `and ${more} more`)] : [];
  const count = passedOver.length + more;
  const others = count === 1 ? 'Why not the other' : `Why not the ${count} others`;
  const summary = CHOICES.has(what) ? others : isWarning ? 'Why none of them' : 'The candidates then';
  return [
    make(
      'details',
      { class: 'passed-over' },
      make('summary', {}, summary),
      make('ul', {}, ...items, ...rest),
    ),
  ];
}
