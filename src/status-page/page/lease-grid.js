import { make, setAttribute } from './dom.js';
import { COLUMNS, LeaseRow } from './lease-row.js';

/**
 * @typedef {import('../wire.ts').LeaseEntry} LeaseEntry
 * @typedef {import('../wire.ts').HelloMessage} HelloMessage
 */

/** Rows rendered beyond each end of the visible part. */
const OVERSCAN = 8;

/** The Leases as a grid. Only the visible rows exist. The focus stays on the grid; the keys move and open its active row. */
export class LeaseGrid {
  #root;
  #onOpen;
  #body = make('div', { role: 'rowgroup', class: 'body' });
  #head = make(
    'div',
    { role: 'rowgroup', class: 'head' },
    make(
      'div',
      { role: 'row', class: 'row', 'aria-rowindex': '1' },
      ...COLUMNS.map((column, index) =>
        make(
          'div',
          {
            role: 'columnheader',
            class: `cell ${column === 'Leader' ? 'leader' : column.toLowerCase()}`,
            'aria-colindex': String(index + 1),
          },
          column,
        ),
      ),
    ),
  );
  /** @type {LeaseRow[]} */
  #rows = [];
  /** @type {readonly LeaseEntry[]} */
  #entries = [];
  /** @type {HelloMessage | undefined} */
  #words;
  /** The Lease of the active row. @type {string | undefined} */
  #activeKey;
  #activeIndex = 0;
  /** @type {string | undefined} */
  #openKey;
  #now = 0;
  #rowHeight = 40;

  /**
   * @param {HTMLElement} root
   * @param {(key: string, isByKey: boolean) => void} onOpen
   */
  constructor(root, onOpen) {
    this.#root = root;
    this.#onOpen = onOpen;
    root.append(this.#head, this.#body);
    root.addEventListener('scroll', () => this.#render(), { passive: true });
    root.addEventListener('keydown', (event) => this.#onKey(event));
    root.addEventListener('click', (event) => this.#onClick(event));
    new ResizeObserver(() => this.#measure()).observe(root);
  }

  /** The Lease of the active row. */
  get activeKey() {
    return this.#activeKey;
  }

  /**
   * @param {readonly LeaseEntry[]} entries
   * @param {{ openKey: string | undefined, now: number, words: HelloMessage }} context
   */
  show(entries, { openKey, now, words }) {
    this.#entries = entries;
    this.#openKey = openKey;
    this.#now = now;
    if (words !== this.#words) for (const row of this.#rows) row.forget();
    this.#words = words;
    // The active Lease stays active when its position changes.
    if (entries[this.#activeIndex]?.key !== this.#activeKey) {
      const index = entries.findIndex(({ key }) => key === this.#activeKey);
      this.#activeIndex = index >= 0 ? index : Math.min(this.#activeIndex, Math.max(0, entries.length - 1));
      this.#activeKey = entries[this.#activeIndex]?.key;
    }
    setAttribute(this.#root, 'aria-rowcount', String(entries.length + 1));
    this.#body.style.height = `${entries.length * this.#rowHeight}px`;
    this.#render();
  }

  /**
   * Activates a Lease and scrolls it into view.
   *
   * @param {string} key
   */
  reveal(key) {
    const index = this.#entries.findIndex((entry) => entry.key === key);
    if (index >= 0) this.#moveTo(index);
  }

  toTop() {
    this.#root.scrollTop = 0;
    this.#activeIndex = 0;
    // The first Lease that is shown next becomes active.
    this.#activeKey = undefined;
  }

  #measure() {
    const height = Number.parseFloat(getComputedStyle(this.#root).getPropertyValue('--row-height'));
    if (height > 0) this.#rowHeight = height;
    this.#body.style.height = `${this.#entries.length * this.#rowHeight}px`;
    this.#render();
  }

  get #pageRows() {
    return Math.max(1, Math.floor(this.#viewHeight / this.#rowHeight));
  }

  get #viewHeight() {
    return this.#root.clientHeight - this.#head.offsetHeight;
  }

  #render() {
    const words = this.#words;
    if (!words) return;
    const first = Math.max(0, Math.floor(this.#root.scrollTop / this.#rowHeight) - OVERSCAN);
    const count = Math.min(this.#entries.length - first, this.#pageRows + 2 * OVERSCAN + 1);
    this.#make(Math.max(0, count));
    for (const [offset, row] of this.#rows.entries()) {
      const index = first + offset;
      const entry = this.#entries[index];
      if (!entry) continue;
      row.element.style.transform = `translateY(${index * this.#rowHeight}px)`;
      row.show(entry, {
        index,
        isActive: index === this.#activeIndex,
        isOpen: entry.key === this.#openKey,
        now: this.#now,
        words,
      });
    }
    const isActiveMade = this.#activeIndex >= first && this.#activeIndex < first + count;
    setAttribute(
      this.#root,
      'aria-activedescendant',
      isActiveMade ? `lease-${this.#activeIndex}` : undefined,
    );
  }

  /** @param {number} count */
  #make(count) {
    while (this.#rows.length < count) {
      const row = new LeaseRow();
      this.#rows.push(row);
      this.#body.append(row.element);
    }
    for (const row of this.#rows.splice(count)) row.element.remove();
  }

  /** @param {number} index */
  #moveTo(index) {
    const bounded = Math.max(0, Math.min(this.#entries.length - 1, index));
    this.#activeIndex = bounded;
    this.#activeKey = this.#entries[bounded]?.key;
    const top = bounded * this.#rowHeight;
    const { scrollTop } = this.#root;
    if (top < scrollTop) this.#root.scrollTop = top;
    else if (top + this.#rowHeight > scrollTop + this.#viewHeight) {
      this.#root.scrollTop = top + this.#rowHeight - this.#viewHeight;
    }
    this.#render();
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = this.#activeIndex;
    /** @type {Readonly<Record<string, () => void>>} */
    const moves = {
      ArrowDown: () => this.#moveTo(at + 1),
      j: () => this.#moveTo(at + 1),
      ArrowUp: () => this.#moveTo(at - 1),
      k: () => this.#moveTo(at - 1),
      PageDown: () => this.#moveTo(at + this.#pageRows),
      PageUp: () => this.#moveTo(at - this.#pageRows),
      Home: () => this.#moveTo(0),
      End: () => this.#moveTo(this.#entries.length - 1),
      Enter: () => this.#open(true),
      ' ': () => this.#open(true),
    };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    move();
  }

  /** @param {MouseEvent} event */
  #onClick({ target }) {
    const row = target instanceof Element ? target.closest('[data-index]') : null;
    if (!(row instanceof HTMLElement)) return;
    this.#moveTo(Number(row.dataset['index']));
    this.#open(false);
  }

  /** @param {boolean} isByKey */
  #open(isByKey) {
    if (this.#activeKey !== undefined) this.#onOpen(this.#activeKey, isByKey);
  }
}
