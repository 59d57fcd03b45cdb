import { make, setAttribute, setText } from './dom.js';
import { countCandidates, countSilent } from './lease-list.js';
import { durationText } from './time-text.js';
import { candidateTone, splitKey, toneOf, toneTexts } from './words.js';

/**
 * @typedef {import('../wire.ts').LeaseEntry} LeaseEntry
 * @typedef {import('../wire.ts').HelloMessage} HelloMessage
 * @typedef {{ index: number, isActive: boolean, isOpen: boolean, now: number, words: HelloMessage }} RowState
 */

/** Maximum dots in a row. More candidates are shown as a number only. */
const MOST_DOTS = 6;

/** The columns, in order. */
export const COLUMNS = ['Lease', 'Leader', 'State', 'Candidates', 'Strategy'];

/** One row of the grid. Rows are reused for other Leases. */
export class LeaseRow {
  #mark = make('span', { class: 'mark' });
  #namespace = make('span', { class: 'namespace' });
  #name = make('span', { class: 'name' });
  #holder = make('span', { class: 'holder' });
  #preferred = make('span', { class: 'preferred' });
  #reason = make('span', { class: 'reason' });
  #since = make('span', { class: 'since' });
  #dots = make('span', { class: 'dots', 'aria-hidden': 'true' });
  #candidates = make('span', { class: 'number' });
  #strategy = make('span', { class: 'strategy' });
  #lease = cell(
    'lease',
    1,
    this.#mark,
    make('span', { class: 'key' }, this.#namespace, make('span', { class: 'slash' }, '/'), this.#name),
  );
  /** @type {LeaseEntry | undefined} */
  #entry;

  element = make(
    'div',
    { role: 'row', class: 'row' },
    this.#lease,
    cell('leader', 2, this.#holder, this.#preferred, this.#since),
    cell('state', 3, this.#reason),
    cell('candidates', 4, this.#dots, this.#candidates),
    cell('strategy', 5, this.#strategy),
  );

  /**
   * @param {LeaseEntry} entry
   * @param {RowState} state
   */
  show(entry, { index, isActive, isOpen, now, words }) {
    const { element } = this;
    element.id = `lease-${index}`;
    element.dataset['index'] = String(index);
    setAttribute(element, 'aria-rowindex', String(index + 2));
    setAttribute(element, 'aria-selected', String(isOpen));
    element.classList.toggle('active', isActive);
    setText(this.#since, sinceText(entry, now));
    if (entry === this.#entry) return;
    this.#entry = entry;
    this.#showEntry(entry, words);
  }

  /** Forgets what the row shows, because the meaning of words may have changed. */
  forget() {
    this.#entry = undefined;
  }

  /**
   * @param {LeaseEntry} entry
   * @param {HelloMessage} words
   */
  #showEntry(entry, words) {
    const { namespace, name } = splitKey(entry.key);
    const tone = toneOf(entry, words);
    const silent = countSilent(entry);
    const count = countCandidates(entry);
    this.element.dataset['tone'] = tone;
    this.element.title = entry.verdict;
    setAttribute(this.#lease, 'aria-label', `${entry.key}, ${toneTexts[tone]}`);
    setText(this.#namespace, namespace.slice(0, -1));
    setText(this.#name, name);
    setText(this.#holder, entry.holder || 'nobody');
    this.#holder.classList.toggle('none', entry.holder === '' || !entry.isHeld);
    setText(this.#preferred, entry.preferredHolder === undefined ? '' : ` → ${entry.preferredHolder}`);
    setText(this.#reason, entry.reason);
    setText(this.#candidates, `${count}${silent > 0 ? `, ${silent} silent` : ''}`);
    setText(this.#strategy, entry.strategy || 'none');
    const dots = entry.candidates.length > MOST_DOTS ? [] : entry.candidates;
    this.#dots.replaceChildren(
      ...dots.map((candidate) => make('i', { class: 'dot', 'data-tone': candidateTone(candidate) })),
    );
  }
}

/**
 * @param {LeaseEntry} entry
 * @param {number} now
 */
function sinceText({ holder, isUnled, unledSince }, now) {
  if (!isUnled || unledSince === undefined) return '';
  const duration = durationText(now - unledSince);
  return holder === '' ? ` for ${duration}` : ` until ${duration} ago`;
}

/**
 * @param {string} name
 * @param {number} column
 * @param {readonly Node[]} children
 */
function cell(name, column, ...children) {
  return make(
    'div',
    { role: 'gridcell', class: `cell ${name}`, 'aria-colindex': String(column) },
    ...children,
  );
}
