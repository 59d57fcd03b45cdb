import { copy, elapsedSince, fill, partOf } from './dom.js';
import { candidateTone, splitKey, toneTexts } from './words.js';

/** @import { LeaseEntry } from '../wire.ts' */

/** Number of rows that are rendered above the visible part, and also below it. */
const OVERSCAN = 8;
/** Maximum number of dots in a row, one per candidate. If there are more candidates, the row shows no dots. */
const MOST_DOTS = 6;

/**
 * Shows Leases as a grid. Only the rows in and near the visible part exist in the document. The grid can have the
 * focus, a row cannot. Arrow keys make the next or previous row active, and Enter opens the Lease of the active row.
 * @param {HTMLElement} root
 * @param {(key: string, isByKeyboard: boolean) => void} onOpen
 */
export function leaseGrid(root, onOpen) {
  const head = partOf(root, '.head');
  const body = partOf(root, '.body');
  /** @type {readonly LeaseEntry[]} */
  let entries = [];
  /** The Lease of the active row. @type {string | undefined} */
  let activeKey;
  let activeIndex = 0;
  /** @type {string | undefined} */
  let openKey;
  /** The entry that each row shows. @type {WeakMap<HTMLElement, LeaseEntry>} */
  const shownEntries = new WeakMap();

  const rowHeight = () => Number.parseFloat(getComputedStyle(root).getPropertyValue('--row-height'));
  const viewHeight = () => root.clientHeight - head.offsetHeight;
  const pageRows = () => Math.max(1, Math.floor(viewHeight() / rowHeight()));

  function render() {
    const height = rowHeight();
    const first = Math.max(0, Math.floor(root.scrollTop / height) - OVERSCAN);
    const shown = entries.slice(first, first + pageRows() + 2 * OVERSCAN + 1);
    const { children, style } = body;
    style.height = `${entries.length * height}px`;
    style.paddingTop = `${first * height}px`;
    while (children.length < shown.length) body.append(copy('row', {}));
    while (children.length > shown.length) body.lastElementChild?.remove();
    let activeId = '';
    for (const [offset, entry] of shown.entries()) {
      const row = children[offset];
      if (!(row instanceof HTMLElement)) continue;
      row.id = `lease-${first + offset}`;
      row.dataset['key'] = entry.key;
      row.setAttribute('aria-rowindex', String(first + offset + 2));
      row.setAttribute('aria-selected', String(entry.key === openKey));
      row.classList.toggle('active', entry.key === activeKey);
      if (entry.key === activeKey) activeId = row.id;
      // Skip an unchanged row: the page renders every second, and most rows stay the same.
      if (shownEntries.get(row) !== entry) fillRow(row, entry);
      shownEntries.set(row, entry);
    }
    root.setAttribute('aria-activedescendant', activeId);
  }

  /** @param {number} index */
  function activate(index) {
    activeIndex = Math.max(0, Math.min(entries.length - 1, index));
    activeKey = entries[activeIndex]?.key;
  }

  /** @param {number} index */
  function moveTo(index) {
    activate(index);
    const top = activeIndex * rowHeight();
    const lowest = top + rowHeight() - viewHeight();
    root.scrollTop = Math.min(top, Math.max(lowest, root.scrollTop));
    render();
  }

  root.addEventListener('scroll', render, { passive: true });
  root.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    /** @type {Readonly<Record<string, number>>} */
    const targets = {
      ArrowDown: activeIndex + 1,
      j: activeIndex + 1,
      ArrowUp: activeIndex - 1,
      k: activeIndex - 1,
      PageDown: activeIndex + pageRows(),
      PageUp: activeIndex - pageRows(),
      Home: 0,
      End: entries.length - 1,
    };
    const target = targets[event.key];
    if (target !== undefined) moveTo(target);
    else if (event.key !== 'Enter' && event.key !== ' ') return;
    else if (activeKey !== undefined) onOpen(activeKey, true);
    event.preventDefault();
  });
  body.addEventListener('click', ({ target }) => {
    const row = target instanceof Element ? target.closest('[data-key]') : null;
    const key = row?.getAttribute('data-key');
    if (key) onOpen(key, false);
  });
  new ResizeObserver(render).observe(root);

  return {
    /** @type {(entries: readonly LeaseEntry[], openKey: string | undefined) => void} */
    show(nextEntries, nextOpenKey) {
      entries = nextEntries;
      openKey = nextOpenKey;
      // Keep the same Lease active when its position changes.
      const index = entries.findIndex(({ key }) => key === activeKey);
      activate(index < 0 ? activeIndex : index);
      root.setAttribute('aria-rowcount', String(entries.length + 1));
      render();
    },
    /** If the grid has this Lease, makes its row active and scrolls the row into view. @param {string} key */
    reveal(key) {
      const index = entries.findIndex((entry) => entry.key === key);
      if (index >= 0) moveTo(index);
    },
    /** Scrolls to the first Lease. The next call of `show` makes the first Lease active. */
    toTop() {
      root.scrollTop = 0;
      activeIndex = 0;
      activeKey = undefined;
    },
  };
}

/**
 * Shows a Lease in a row. The row may have shown another Lease before.
 * @type {(row: HTMLElement, entry: LeaseEntry) => void}
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
    '.dots': dots.map((candidate) => copy('dot', {}, candidateTone(candidate))),
    '.number': silent > 0 ? `${total}, ${silent} silent` : String(total),
    '.strategy': entry.strategy || 'none',
  });
}

/** @param {LeaseEntry} entry */
function sinceText({ holder, unledSince }) {
  if (unledSince === undefined) return undefined;
  return holder === '' ? [' for ', elapsedSince(unledSince)] : [' until ', elapsedSince(unledSince), ' ago'];
}
