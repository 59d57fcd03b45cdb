import { connect } from './connection.js';
import { find, make, setAttribute, setText } from './dom.js';
import { Elections } from './election-list.js';
import { LeaseGrid } from './lease-grid.js';
import { LeaseList } from './lease-list.js';
import { emptyTexts, noticeElement, noticesFor } from './notices.js';
import { Detail, Timeline } from './side.js';
import { dayOf } from './time-text.js';
import { keyInHash, toneOf } from './words.js';

/**
 * @typedef {import('../wire.ts').HelloMessage} HelloMessage
 * @typedef {import('../wire.ts').StateMessage} StateMessage
 * @typedef {import('./connection.js').Connection} Connection
 * @typedef {import('./lease-list.js').Filter} Filter
 */

const leases = new LeaseList();
const elections = new Elections();

/** @type {HelloMessage | undefined} */
let words;
/** @type {StateMessage | undefined} */
let state;
/** @type {Connection} */
let connection = { kind: 'connecting' };
/** True once the first complete copy has arrived. */
let isComplete = false;
/** Difference between the replica's clock and this machine's clock, in milliseconds. */
let clockOffsetMs = 0;
/** @type {Filter} */
let filter = 'all';
/** The Lease whose details are shown. @type {string | undefined} */
let openKey = keyInHash(location.hash);
let isRenderPlanned = false;

const body = document.body;
const search = find('search', HTMLInputElement);
const gridRoot = find('leases', HTMLElement);
const detail = new Detail(find('detail', HTMLElement));
const timelineRoot = find('elections', HTMLElement);
const timeline = new Timeline(timelineRoot);
const side = find('side', HTMLElement);
const board = find('board', HTMLElement);
/** On a narrow screen the details take the whole screen. */
const isNarrow = window.matchMedia('(max-width: 64rem)');

const grid = new LeaseGrid(gridRoot, (key, isByKey) => open(key, isByKey));

/** @type {readonly (readonly [Filter, string, string])[]} */
const FILTERS = [
  ['all', 'All', 'Every Lease'],
  ['unled', 'No leader', 'Leases that have candidates but no valid holder'],
  ['conflict', 'Conflict', 'Leases whose candidates disagree about the strategy'],
  ['changing', 'Changing', 'Leases whose holder was asked to yield to a better candidate'],
  ['silent', 'Silent', 'Leases with candidates that answer nobody'],
];
const filterButtons = FILTERS.map(([name, label, title]) => {
  const number = make('b', {}, '0');
  const button = make('button', {
    type: 'button',
    'data-filter': name,
    title,
    'aria-pressed': String(name === filter),
  });
  button.append(make('span', {}, label), ' ', number);
  button.addEventListener('click', () => {
    filter = name;
    grid.toTop();
    plan();
  });
  return { name, button, number };
});
find('filters', HTMLElement).append(...filterButtons.map(({ button }) => button));

connect(
  {
    hello: (message) => {
      // Reload, because this version of the page may not understand the messages of another version.
      if (words && words.version !== message.version) location.reload();
      words = message;
      isComplete = false;
      leases.beginAnew();
      elections.clear();
      plan();
    },
    state: (message) => {
      state = message;
      plan();
    },
    leases: (message) => {
      leases.take(message, isUrgent);
      plan();
    },
    elections: (entries) => {
      elections.add(entries);
      plan();
    },
    complete: () => {
      leases.endAnew();
      isComplete = true;
      plan();
    },
    beat: ({ now }) => {
      clockOffsetMs = now - Date.now();
    },
  },
  (next) => {
    // All times on the page are by the replica's clock.
    connection = next.kind === 'lost' ? { ...next, since: next.since + clockOffsetMs } : next;
    plan();
  },
);

search.addEventListener('input', () => {
  grid.toTop();
  plan();
});
search.addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && search.value !== '') {
    search.value = '';
    event.stopPropagation();
    grid.toTop();
    plan();
  } else if (event.key === 'Enter' || event.key === 'ArrowDown') {
    event.preventDefault();
    gridRoot.focus();
  }
});
document.addEventListener('keydown', (event) => {
  const isTyping = event.target instanceof HTMLInputElement;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === '/' && !isTyping) {
    event.preventDefault();
    showTab('leases');
    search.focus();
    search.select();
  } else if (event.key === 'Escape' && openKey !== undefined) close();
});
for (const button of document.querySelectorAll('.tabs button')) {
  button.addEventListener('click', () => {
    if (button instanceof HTMLElement) showTab(button.dataset['tab'] ?? 'leases');
  });
}
side.addEventListener('click', ({ target }) => {
  if (!(target instanceof Element)) return;
  const link = target.closest('[data-key]');
  if (target.closest('.close')) close();
  else if (link instanceof HTMLElement && link.dataset['key']) open(link.dataset['key'], true);
});
window.addEventListener('hashchange', () => {
  openKey = keyInHash(location.hash);
  plan();
});
isNarrow.addEventListener('change', () => plan());
setInterval(() => plan(), 1000);

/** @param {import('../wire.ts').LeaseEntry} entry */
function isUrgent(entry) {
  const tone = words && toneOf(entry, words);
  return tone === 'bad' || tone === 'warn';
}

/**
 * @param {string} key
 * @param {boolean} isByKey moves the focus to the details
 */
function open(key, isByKey) {
  openKey = key;
  history.replaceState(null, '', `#${encodeURIComponent(key).replace('%2F', '/')}`);
  grid.reveal(key);
  render();
  side.scrollTop = 0;
  if (isByKey || isNarrow.matches) document.getElementById('detail-title')?.focus();
}

function close() {
  openKey = undefined;
  history.replaceState(null, '', location.pathname + location.search);
  render();
  gridRoot.focus();
}

/** @param {string} tab */
function showTab(tab) {
  body.dataset['tab'] = tab;
  for (const button of document.querySelectorAll('.tabs button')) {
    if (button instanceof HTMLElement)
      setAttribute(button, 'aria-pressed', String(button.dataset['tab'] === tab));
  }
}

/** Schedules one rendering for all messages that arrive together. */
function plan() {
  if (isRenderPlanned) return;
  isRenderPlanned = true;
  requestAnimationFrame(() => {
    isRenderPlanned = false;
    render();
  });
}

function render() {
  const now = Date.now() + clockOffsetMs;
  renderConnection(now);
  if (!words) return;
  const { shown, counts } = leases.select(search.value, filter);
  for (const { name, button, number } of filterButtons) {
    setText(number, counts[name].toLocaleString());
    setAttribute(button, 'aria-pressed', String(name === filter));
    button.classList.toggle('some', name !== 'all' && counts[name] > 0);
  }
  setText(
    find('count', HTMLElement),
    shown.length === leases.size
      ? `${leases.size.toLocaleString()} ${leases.size === 1 ? 'Lease' : 'Leases'}`
      : `${shown.length.toLocaleString()} of ${leases.size.toLocaleString()} Leases`,
  );
  grid.show(shown, { openKey, now, words });
  renderEmpty(shown.length === 0, leases.size > 0, words);
  renderSide(words, now);
}

/** @param {number} now */
function renderConnection(now) {
  const isBlind = state?.blindSince !== undefined;
  const kind = connection.kind === 'live' && isBlind ? 'blind' : connection.kind;
  body.dataset['connection'] = kind;
  const texts = {
    connecting: 'Connecting',
    live: isComplete ? 'Live' : 'Loading',
    blind: 'API server lost',
    lost: 'Connection lost',
  };
  setText(find('connection-text', HTMLElement), texts[kind]);
  const replicas = {
    active: 'Active: decides elections',
    standby: 'Standby',
    waiting: 'Waiting',
    settling: 'Taking over',
    dryRun: 'Dry run',
  };
  const replica = find('replica', HTMLElement);
  setText(replica, state && words ? `${replicas[state.replica]} · ${words.version}` : '');
  replica.dataset['kind'] = state?.replica ?? '';
  const notices = noticesFor(connection, state, words, now);
  const box = find('notices', HTMLElement);
  const told = notices.map(({ title, text }) => `${title} ${text}`).join('\n');
  if (box.dataset['told'] === told) return;
  box.dataset['told'] = told;
  box.replaceChildren(...notices.map(noticeElement));
}

/**
 * @param {boolean} isEmpty
 * @param {boolean} isFiltered
 * @param {HelloMessage} hello
 */
function renderEmpty(isEmpty, isFiltered, { namespaces }) {
  const box = find('empty', HTMLElement);
  box.hidden = !isEmpty;
  if (!isEmpty) return;
  const texts = emptyTexts(state, isComplete, isFiltered, namespaces);
  if (box.textContent === texts.join('')) return;
  box.replaceChildren(...texts.map((text, index) => make(index === 0 ? 'strong' : 'p', {}, text)));
}

/**
 * @param {HelloMessage} hello
 * @param {number} now
 */
function renderSide(hello, now) {
  body.toggleAttribute('data-open', openKey !== undefined);
  // On a small screen the details cover everything else.
  board.inert = isNarrow.matches && openKey !== undefined;
  detail.show(
    openKey === undefined
      ? undefined
      : {
          key: openKey,
          entry: leases.get(openKey),
          isAllKnown: isComplete && state?.hasSynced === true,
          elections: elections.of(openKey),
          words: hello,
          day: dayOf(now),
        },
    now,
  );
  timelineRoot.hidden = openKey !== undefined;
  timeline.show(elections.all, hello, now);
}
