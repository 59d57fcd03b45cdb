import { detailOf } from './detail.js';
import { make, setText } from './dom.js';
import { electionItem } from './election-list.js';
import { clockText, dayOf, durationText } from './time-text.js';

/**
 * @typedef {import('../wire.ts').LeaseEntry} LeaseEntry
 * @typedef {import('../wire.ts').ElectionEntry} ElectionEntry
 * @typedef {import('../wire.ts').HelloMessage} HelloMessage
 * @typedef {{ key: string, entry: LeaseEntry | undefined, isAllKnown: boolean, elections: readonly ElectionEntry[], words: HelloMessage, day: string }} Shown
 */

/** The details of one Lease. They are rendered again only when the Lease has changed. */
export class Detail {
  #root;
  /** @type {Shown | undefined} */
  #shown;

  /** @param {HTMLElement} root */
  constructor(root) {
    this.#root = root;
  }

  /**
   * @param {Shown | undefined} next undefined if no Lease is open
   * @param {number} now
   */
  show(next, now) {
    this.#root.hidden = next === undefined;
    if (!next) this.#root.replaceChildren();
    else if (!isSame(this.#shown, next)) {
      keepingPlace(this.#root, () => {
        this.#root.replaceChildren(...detailOf(next.key, next.entry, { ...next, now }));
      });
    }
    this.#shown = next;
    for (const ago of this.#root.querySelectorAll('[data-at]')) {
      if (ago instanceof HTMLElement) setText(ago, durationText(now - Number(ago.dataset['at'])));
    }
  }
}

/** The elections of all Leases. */
export class Timeline {
  #root;
  /** @type {HelloMessage | undefined} */
  #words;
  #newest = -1;
  /** The current day. Times of other days are shown with the day. */
  #day = '';

  /** @param {HTMLElement} root */
  constructor(root) {
    this.#root = root;
  }

  /**
   * @param {readonly ElectionEntry[]} elections newest first
   * @param {HelloMessage} words
   * @param {number} now
   */
  show(elections, words, now) {
    const newest = elections[0]?.id ?? 0;
    const day = dayOf(now);
    if (newest === this.#newest && words === this.#words && day === this.#day) return;
    this.#newest = newest;
    this.#day = day;
    this.#words = words;
    const none = `None since this replica started, at ${clockText(words.startedAt, now)}.`;
    keepingPlace(this.#root, () => {
      this.#root.replaceChildren(
        make('header', {}, make('h2', { id: 'elections-title' }, 'Recent elections')),
        elections.length > 0
          ? make(
              'ol',
              { class: 'timeline' },
              ...elections.map((each) => electionItem(each, words, now, false)),
            )
          : make('p', { class: 'muted' }, none),
      );
    });
  }
}

/**
 * @param {Shown | undefined} one
 * @param {Shown} other
 */
function isSame(one, other) {
  return (
    one !== undefined &&
    one.key === other.key &&
    one.entry === other.entry &&
    one.words === other.words &&
    one.isAllKnown === other.isAllKnown &&
    one.day === other.day &&
    one.elections.length === other.elections.length &&
    one.elections[0]?.id === other.elections[0]?.id
  );
}

/**
 * Applies a change, and keeps opened parts open and the focus in its place, if those still exist.
 *
 * @param {HTMLElement} root
 * @param {() => void} change
 */
function keepingPlace(root, change) {
  const opened = [...root.querySelectorAll('[data-id]:has(> details[open])')].map(idOf);
  const focused = root.contains(document.activeElement) ? placeOf(document.activeElement) : undefined;
  change();
  for (const item of root.querySelectorAll('[data-id]')) {
    if (opened.includes(idOf(item))) item.querySelector('details')?.setAttribute('open', '');
  }
  if (focused === undefined) return;
  const target = root.querySelector(focused);
  if (target instanceof HTMLElement) target.focus({ preventScroll: true });
}

/** @param {Element} element */
function idOf(element) {
  return element instanceof HTMLElement ? element.dataset['id'] : undefined;
}

/** Returns a selector for the element that replaces a focused element. @param {Element | null} element */
function placeOf(element) {
  if (!element) return undefined;
  const tag = element.tagName.toLowerCase();
  const item = element.closest('[data-id]');
  return item ? `[data-id="${idOf(item)}"] ${tag}` : tag;
}
