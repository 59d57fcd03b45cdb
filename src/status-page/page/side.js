import { copy, elapsedSince, fill, find, partOf } from './dom.js';
import { candidateTone, electionTone, splitKey, toneTexts, versionText } from './words.js';

/** @import { CandidateEntry, ElectionEntry, HelloMessage, LeaseEntry } from '../wire.ts' */

/** The kinds of timeline entries in which a candidate was chosen. @type {ReadonlySet<ElectionEntry['what']>} */
const CHOICES = new Set(['LeaderElected', 'LeaderPreempted', 'PreferredHolderSet']);

const detail = find('detail');
const showElectionsOfLease = electionList(detail);
/** @type {LeaseEntry | undefined} */
let shownEntry;

/**
 * Shows the details of one Lease.
 * @param {string} key
 * @param {LeaseEntry | undefined} entry undefined if the page has no such Lease
 * @param {boolean} isAllKnown true if the replica has read every Lease, and the page has received them
 * @param {readonly ElectionEntry[]} elections
 * @param {HelloMessage} words
 */
export function showDetail(key, entry, isAllKnown, elections, words) {
  const { namespace, name } = splitKey(key);
  const missing = isAllKnown ? 'There is no such Lease now.' : 'Reading the Leases.';
  fill(detail, {
    '.namespace': namespace,
    '.name': name,
    '.missing': entry ? undefined : missing,
    '.standing': entry !== undefined,
  });
  showElectionsOfLease(elections, words);
  // Skip an unchanged entry, because a rendering would remove the user's text selection.
  if (entry && entry !== shownEntry) fillStanding(entry, words);
  shownEntry = entry;
}

/** @type {(entry: LeaseEntry, words: HelloMessage) => void} */
function fillStanding(entry, words) {
  const { tone } = entry;
  const beyond = entry.total - entry.candidates.length;
  fill(detail, {
    '.sentence': entry.verdict,
    '.advice': tone === 'good' ? undefined : words.advice[entry.reason],
    '.facts': facts(entry),
    '.ranking': [...entry.candidates.map((each) => candidateItem(each, words)), ...andMore(beyond)],
    '.no-candidates': entry.candidates.length === 0,
  });
  for (const part of ['.standing > .verdict', '.advice']) partOf(detail, part).dataset['tone'] = tone;
}

/** @param {LeaseEntry} entry */
function facts({ holder, holderNote, isUnled, unledSince, ...entry }) {
  const leader = holder === '' ? 'none' : holderNote ? `${holder}, ${holderNote}` : holder;
  const unled =
    unledSince === undefined ? 'since before this replica looked' : ['for ', elapsedSince(unledSince)];
  /** @type {[string, string | undefined | readonly (Node | string)[]][]} */
  const told = [
    ['Leader', leader],
    ['Preferred instead', entry.preferredHolder],
    ['State', `${entry.reason}, ${toneTexts[entry.tone]}`],
    ['Without leader', isUnled ? unled : undefined],
    ['Waits for', entry.waitingFor],
    ['Strategy', entry.strategy || 'none'],
    ['Transitions', String(entry.transitions)],
  ];
  return told.flatMap(([term, text]) => (text ? [copy('fact', { dt: term, dd: text })] : []));
}

/** @type {(candidate: CandidateEntry, words: HelloMessage) => HTMLElement} */
function candidateItem(candidate, { losses, states }) {
  const { state, lostBy, priority, priorityUntil, renewedAt } = candidate;
  const parts = {
    '.candidate': candidate.name,
    '.badge.good': candidate.isHolder,
    '.badge.busy': candidate.isPreferred,
    '.binary': candidate.binary ?? 'none',
    '.emulation': candidate.emulation ?? 'none',
    '.priority': priority !== 0 || priorityUntil !== undefined,
    '.value': String(priority),
    '.end': priorityUntil !== undefined,
    time: priorityUntil,
    '.why': lostBy === undefined ? 'the best candidate' : (losses[lostBy] ?? lostBy),
    // If the candidate lost because of its state, '.why' explains the state already.
    '.state': state === lostBy ? `${state}.` : `${state}: ${states[state]}.`,
    '.ago': [elapsedSince(renewedAt)],
  };
  return copy('candidate', parts, candidateTone(candidate));
}

/**
 * Returns a function that shows elections in the timeline of a section, newest first. The function reuses the item of
 * an election that it already shows, even if a new connection sends the election again. So an open item stays open.
 * @param {Element} section
 */
export function electionList(section) {
  const list = partOf(section, '.timeline');
  /** @type {Map<string, HTMLElement>} */
  let items = new Map();
  /** @param {ElectionEntry} entry */
  const idOf = ({ id, at }) => `${id} ${at}`;

  /** @type {(elections: readonly ElectionEntry[], words: HelloMessage) => void} */
  return (elections, words) => {
    const next = new Map(
      elections.map((each) => [idOf(each), items.get(idOf(each)) ?? electionItem(each, words)]),
    );
    for (const [id, item] of items) if (!next.has(id)) item.remove();
    list.prepend(...next.values().filter((item) => !item.isConnected));
    items = next;
    fill(section, { '.none': elections.length === 0 });
  };
}

/** @type {(entry: ElectionEntry, words: HelloMessage) => HTMLElement} */
function electionItem(entry, { losses }) {
  const { key, what, isWarning, text, passedOver, more } = entry;
  const { namespace, name } = splitKey(key);
  const count = passedOver.length + more;
  const others = count === 1 ? 'Why not the other' : `Why not the ${count} others`;
  const losers = passedOver.map(({ name: loser, lostBy, ...versions }) =>
    copy('loser', {
      '.candidate': loser,
      '.version': versionText(versions),
      '.why': losses[lostBy] ?? lostBy,
    }),
  );
  const parts = {
    time: entry.at,
    '.what': what,
    '.namespace': namespace,
    '.name': name,
    '.text': text,
    details: count > 0,
    summary: CHOICES.has(what) ? others : isWarning ? 'Why none of them' : 'The candidates then',
    ul: [...losers, ...andMore(more)],
  };
  const item = copy('election', parts, electionTone(entry));
  partOf(item, '.lease-link').dataset['key'] = key;
  return item;
}

/** @param {number} count */
function andMore(count) {
  if (count === 0) return [];
  const item = document.createElement('li');
  item.textContent = `and ${count} more`;
  return [item];
}
