import { copy, elapsedSince, fill, partOf } from './dom.js';
import { candidateTone, splitKey, toneTexts } from './words.js';

/** @import { LeaseEntry } from '../wire.ts' */

/** Rows that are rendered before and after the visible part. */
const OVERSCAN = 8;
/** Maximum dots in a row. If there are more candidates, the row shows only their number. */
const MOST_DOTS = 6;

/**
 * The Leases as a grid. Only the visible rows exist in the document. The focus stays on the grid. The keys select a row
 * and open it.
 */
export class LeaseGrid {
  #root;
  #head;
  #body;
  #onOpen;
  /** @type {readonly LeaseEntry[]} */
  #entries = [];
  /** The Lease of the active row. @type {string | undefined} */
  #activeKey;
  #activeIndex = 0;
  /** @type {string | undefined} */
  #openKey;
  /** The entry that each row shows. @type {WeakMap<HTMLElement, LeaseEntry>} */
  #shownEntries = new WeakMap();

  /**
   * @param {HTMLElement} root
   * @param {(key: string, isByKeyboard: boolean) => void} onOpen
   */
  constructor(root, onOpen) {
    this.#root = root;
    this.#head = partOf(root, '.head');
    this.#body = partOf(root, '.body');
    this.#onOpen = onOpen;
    root.addEventListener('scroll', () => this.#render(), { passive: true });
    root.addEventListener('keydown', (event) => this.#onKey(event));
    this.#body.addEventListener('click', (event) => this.#onClick(event));
    new ResizeObserver(() => this.#render()).observe(root);
  }

  /**
   * @param {readonly LeaseEntry[]} entries
   * @param {string | undefined} openKey
   */
  show(entries, openKey) {
    this.#entries = entries;
    this.#openKey = openKey;
    // Keep the active Lease when its position changes.
    const index = entries.findIndex(({ key }) => key === this.#activeKey);
    this.#activate(index < 0 ? this.#activeIndex : index);
    this.#root.setAttribute('aria-rowcount', String(entries.length + 1));
    this.#render();
  }

  /** Activates a Lease and scrolls it into view. @param {string} key */
  reveal(key) {
    const index = this.#entries.findIndex((entry) => entry.key === key);
    if (index >= 0) this.#moveTo(index);
  }

  /** Scrolls to the first Lease at the next rendering. */
  toTop() {
    this.#root.scrollTop = 0;
    this.#activeIndex = 0;
    this.#activeKey = undefined;
  }

  get #rowHeight() {
    return Number.parseFloat(getComputedStyle(this.#root).getPropertyValue('--row-height'));
  }

  get #viewHeight() {
    return this.#root.clientHeight - this.#head.offsetHeight;
  }

  get #pageRows() {
    return Math.max(1, Math.floor(this.#viewHeight / this.#rowHeight));
  }

  #render() {
    const rowHeight = this.#rowHeight;
    const first = Math.max(0, Math.floor(this.#root.scrollTop / rowHeight) - OVERSCAN);
    const shown = this.#entries.slice(first, first + this.#pageRows + 2 * OVERSCAN + 1);
    const { children, style } = this.#body;
    style.height = `${this.#entries.length * rowHeight}px`;
    style.paddingTop = `${first * rowHeight}px`;
    while (children.length < shown.length) this.#body.append(copy('row', {}));
    while (children.length > shown.length) this.#body.lastElementChild?.remove();
    let activeId = '';
    for (const [offset, entry] of shown.entries()) {
      const row = children[offset];
      if (!(row instanceof HTMLElement)) continue;
      row.id = `lease-${first + offset}`;
      row.dataset['key'] = entry.key;
      row.setAttribute('aria-rowindex', String(first + offset + 2));
      row.setAttribute('aria-selected', String(entry.key === this.#openKey));
      row.classList.toggle('active', entry.key === this.#activeKey);
      if (entry.key === this.#activeKey) activeId = row.id;
      // Skip an unchanged row: the page renders every second, and most rows stay the same.
      if (this.#shownEntries.get(row) !== entry) fillRow(row, entry);
      this.#shownEntries.set(row, entry);
    }
    this.#root.setAttribute('aria-activedescendant', activeId);
  }

  /** @param {number} index */
  #activate(index) {
    this.#activeIndex = Math.max(0, Math.min(this.#entries.length - 1, index));
    this.#activeKey = this.#entries[this.#activeIndex]?.key;
  }

  /** @param {number} index */
  #moveTo(index) {
    this.#activate(index);
    const top = this.#activeIndex * this.#rowHeight;
    const lowest = top + this.#rowHeight - this.#viewHeight;
    this.#root.scrollTop = Math.min(top, Math.max(lowest, this.#root.scrollTop));
    this.#render();
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = this.#activeIndex;
    /** @type {Readonly<Record<string, number>>} */
    const targets = {
      ArrowDown: at + 1,
      j: at + 1,
      ArrowUp: at - 1,
      k: at - 1,
      PageDown: at + this.#pageRows,
      PageUp: at - this.#pageRows,
      Home: 0,
      End: this.#entries.length - 1,
    };
    const target = targets[event.key];
    if (target !== undefined) this.#moveTo(target);
    else if (event.key !== 'Enter' && event.key !== ' ') return;
    else if (this.#activeKey !== undefined) this.#onOpen(this.#activeKey, true);
    event.preventDefault();
  }

  /** @param {MouseEvent} event */
  #onClick({ target }) {
    const row = target instanceof Element ? target.closest('[data-key]') : null;
    const key = row?.getAttribute('data-key');
    if (key) this.#onOpen(key, false);
  }
}

/**
 * Shows a Lease in a row. A row may have shown another Lease before.
 * @param {HTMLElement} row
 * @param {LeaseEntry} entry
 */
function fillRow(row, entry) {
  const { namespace, name } = splitKey(entry.key);
  const { silent, tone, total } = entry;
  const dots = entry.candidates.length > MOST_DOTS ? [] : entry.candidates;
  row.dataset['tone'] = tone;
  row.title = entry.verdict;
  row.classList.toggle('expired', entry.holder !== '' && !entry.isHeld);
  partOf(row, '.lease').setAttribute('aria-label', `${entry.key}, ${toneTexts[tone]}`);
  fill(row, {
    '.namespace': namespace.slice(0, -1),
    '.name': name,
    '.holder': entry.holder || 'none',
    '.preferred': entry.preferredHolder && ` → ${entry.preferredHolder}`,
    '.since': sinceText(entry),
    '.reason': entry.reason,
    '.dots': dots.map(dotOf),
    '.number': silent > 0 ? `${total}, ${silent} silent` : String(total),
    '.strategy': entry.strategy || 'none',
  });
}

/** @param {LeaseEntry} entry */
function sinceText({ holder, unledSince }) {
  if (unledSince === undefined) return undefined;
  return holder === '' ? [' for ', elapsedSince(unledSince)] : [' until ', elapsedSince(unledSince), ' ago'];
}

/** @param {LeaseEntry['candidates'][number]} candidate */
function dotOf(candidate) {
  const dot = document.createElement('i');
  dot.className = 'dot';
  dot.dataset['tone'] = candidateTone(candidate);
  return dot;
}
