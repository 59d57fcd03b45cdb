import { connect } from './connection.js';
import { copy, fill, find, partOf, setText, updateTimes } from './dom.js';
import { leaseGrid } from './lease-grid.js';
import { filters, LeaseList } from './lease-list.js';
import { emptyTexts, noticesFor } from './notices.js';
import { electionList, showDetail } from './side.js';
import { keyInHash } from './words.js';

/**
 * @import { ElectionEntry, HelloMessage, StateMessage } from '../wire.ts'
 * @import { Connection } from './connection.js'
 * @import { Filter } from './lease-list.js'
 */

/** Maximum number of elections that the page keeps. The server keeps the same number. */
const REMEMBERED = 200;
/** Time from the last change of the search or filter until screen readers announce the number of results, in ms. */
const ANNOUNCE_MS = 800;

/** Data from one connection. @typedef {{ leases: LeaseList, elections: ElectionEntry[], isComplete: boolean }} Copy */

/** The data that the page shows. `elections` begins with the newest one. @type {Copy} */
let known = { leases: new LeaseList(), elections: [], isComplete: false };
/** The data that the latest connection has sent so far. Replaces `known` when complete, or if `known` is empty. */
let arriving = known;
/** @type {HelloMessage | undefined} */
let words;
/** @type {StateMessage | undefined} */
let state;
/** @type {Connection} */
let connection = { kind: 'connecting' };
/** How far the clock of the replica is ahead of the clock of this machine, in milliseconds. */
let clockOffsetMs = 0;
/** The key of the Lease whose details are shown; undefined if no details are shown. */
let openKey = keyInHash(location.hash);
let isRenderPlanned = false;
let shownNotices = '';
/** @type {ReturnType<typeof setTimeout> | undefined} */
let announcement;

const { body } = document;
const search = /** @type {HTMLInputElement} */ (find('search'));
const filterBox = find('filters');
const gridRoot = find('leases');
const side = find('side');
const timeline = find('elections');
const showElections = electionList(timeline);
const grid = leaseGrid(gridRoot, (key, isByKeyboard) => open(key, gridRoot, isByKeyboard));
/** The element from which `open` last opened details; initially the grid. `close` focuses it if it is visible. */
let opener = gridRoot;

connect(
  {
    hello: (message) => {
      // Reload, because this version of the page may not understand the messages of another version.
      if (words && words.version !== message.version) location.reload();
      words = message;
      arriving = { leases: new LeaseList(), elections: [], isComplete: false };
      if (known.leases.size === 0 && known.elections.length === 0) known = arriving;
      fill(timeline, { '.none time': message.startedAt });
    },
    state: (message) => {
      state = message;
    },
    leases: (message) => arriving.leases.take(message),
    elections: (entries) => {
      arriving.elections = [...entries.toReversed(), ...arriving.elections].slice(0, REMEMBERED);
    },
    complete: () => {
      arriving.isComplete = true;
      known = arriving;
    },
    beat: ({ now }) => {
      clockOffsetMs = now - Date.now();
    },
  },
  (next) => {
    connection = next;
    plan();
  },
);

search.addEventListener('input', searchAnew);
filterBox.addEventListener('change', searchAnew);
search.addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && search.value !== '') {
    search.value = '';
    event.stopPropagation();
    searchAnew();
  } else if (event.key === 'Enter' || event.key === 'ArrowDown') {
    event.preventDefault();
    gridRoot.focus();
  }
});
document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === '/' && event.target !== search) {
    event.preventDefault();
    if (isBoardCovered()) close();
    find('leases-tab').click();
    search.focus();
    search.select();
  } else if (event.key === 'Escape' && openKey !== undefined) close();
});
side.addEventListener('click', ({ target }) => {
  if (!(target instanceof Element)) return;
  const link = target.closest('.lease-link');
  if (target.closest('.close')) close();
  else if (link instanceof HTMLElement && link.dataset['key']) open(link.dataset['key'], link, true);
});
window.addEventListener('hashchange', () => {
  openKey = keyInHash(location.hash);
  plan();
});
setInterval(plan, 1000);

function searchAnew() {
  grid.toTop();
  plan();
  // Screen readers announce each change of `found`, not of `count`. So only a new search or filter changes `found`.
  const found = find('found');
  setText(found, '');
  clearTimeout(announcement);
  announcement = setTimeout(() => setText(found, find('count').textContent), ANNOUNCE_MS);
}

/** Opens the details of a Lease. @type {(key: string, from: HTMLElement, takesFocus: boolean) => void} */
function open(key, from, takesFocus) {
  openKey = key;
  opener = from;
  history.replaceState(null, '', `#${encodeURIComponent(key).replace('%2F', '/')}`);
  grid.reveal(key);
  render();
  side.scrollTop = 0;
  if (takesFocus || isBoardCovered()) find('detail-title').focus();
}

function isBoardCovered() {
  return getComputedStyle(gridRoot).visibility === 'hidden';
}

function close() {
  openKey = undefined;
  history.replaceState(null, '', location.pathname + location.search);
  render();
  // Focus the first visible element: the opener may be gone, and a small screen hides a part of the page.
  for (const element of [opener, gridRoot, find('elections-tab')]) {
    element.focus();
    if (document.activeElement === element) break;
  }
}

/** Schedules a rendering for the next frame, unless one is scheduled already. */
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
  if (words) {
    renderBoard(words);
    renderSide(words);
  }
  updateTimes(now);
}

/** @param {number} now */
function renderConnection(now) {
  const isBlind = state?.blindSince !== undefined;
  const kind = connection.kind === 'live' && isBlind ? 'blind' : connection.kind;
  body.dataset['connection'] = kind;
  const texts = {
    connecting: 'Connecting',
    live: arriving.isComplete ? 'Live' : 'Loading',
    blind: 'API server lost',
    lost: 'Connection lost',
  };
  setText(find('connection-text'), texts[kind]);
  const replicas = {
    active: 'Active: decides elections',
    standby: 'Standby',
    waiting: 'Waiting',
    settling: 'Taking over',
    dryRun: 'Dry run',
  };
  const replica = state && words ? `${replicas[state.replica]} · ${words.version}` : '';
  setText(find('replica'), replica);
  // Convert `since` to the replica's clock, which all times on the page use.
  const told =
    connection.kind === 'lost' ? { ...connection, since: connection.since + clockOffsetMs } : connection;
  const notices = noticesFor(told, state, words, now);
  // Do not replace unchanged notices: a screen reader would announce them again.
  if (JSON.stringify(notices) === shownNotices) return;
  shownNotices = JSON.stringify(notices);
  const elements = notices.map(({ tone, title, text }) =>
    copy('notice', { strong: title, span: text }, tone),
  );
  find('notices').replaceChildren(...elements);
}

/** @param {HelloMessage} hello */
function renderBoard(hello) {
  const { leases } = known;
  const filter = partOf(filterBox, ':checked').getAttribute('value');
  const { shown, count } = leases.select(search.value, /** @type {Filter} */ (filter));
  for (const name of /** @type {Filter[]} */ (Object.keys(filters))) {
    const number = partOf(filterBox, `[value="${name}"] + b`);
    const leasesOfFilter = count(name);
    setText(number, leasesOfFilter.toLocaleString());
    number.classList.toggle('some', leasesOfFilter > 0);
  }
  const all = `${leases.size.toLocaleString()} ${leases.size === 1 ? 'Lease' : 'Leases'}`;
  setText(find('count'), shown.length === leases.size ? all : `${shown.length.toLocaleString()} of ${all}`);
  grid.show(shown, openKey);
  const [title, text] = emptyTexts(state, arriving.isComplete, leases.size > 0, hello.namespaces);
  const empty = find('empty');
  empty.hidden = shown.length > 0;
  fill(empty, { strong: title, p: text });
}

/** @param {HelloMessage} hello */
function renderSide(hello) {
  const { leases, elections } = known;
  body.toggleAttribute('data-open', openKey !== undefined);
  find('detail').hidden = openKey === undefined;
  timeline.hidden = openKey !== undefined;
  showElections(elections, hello);
  if (openKey === undefined) return;
  const isAllKnown = arriving.isComplete && state?.hasSynced === true;
  const ofLease = elections.filter(({ key }) => key === openKey);
  showDetail(openKey, leases.get(openKey), isAllKnown, ofLease, hello);
}
