import { make } from './dom.js';
import { electionItem } from './election-list.js';
import { countCandidates } from './lease-list.js';
import { clockText, durationText } from './time-text.js';
import { candidateTone, splitKey, toneOf, toneTexts } from './words.js';

/**
 * @typedef {import('../wire.ts').LeaseEntry} LeaseEntry
 * @typedef {import('../wire.ts').CandidateEntry} CandidateEntry
 * @typedef {import('../wire.ts').ElectionEntry} ElectionEntry
 * @typedef {import('../wire.ts').HelloMessage} HelloMessage
 * @typedef {{ words: HelloMessage, now: number, isAllKnown: boolean, elections: readonly ElectionEntry[] }} DetailContext
 */

/**
 * Renders everything that is known about one Lease.
 *
 * @param {string} key
 * @param {LeaseEntry | undefined} entry undefined if the Lease no longer exists
 * @param {DetailContext} context
 */
export function detailOf(key, entry, context) {
  const { words, now, isAllKnown, elections } = context;
  const told = elections.map((election) => electionItem(election, words, now, true));
  return [
    headOf(key),
    ...(entry
      ? standingOf(entry, context)
      : [
          make('p', { class: 'verdict' }, isAllKnown ? 'There is no such Lease now.' : 'Reading the Leases.'),
        ]),
    make('h3', {}, 'Recent elections of this Lease'),
    told.length > 0
      ? make('ol', { class: 'timeline' }, ...told)
      : make('p', { class: 'muted' }, 'None since this replica began to decide.'),
  ];
}

/** @param {string} key */
function headOf(key) {
  const { namespace, name } = splitKey(key);
  return make(
    'header',
    {},
    make('h2', { id: 'detail-title', tabindex: '-1' }, make('span', { class: 'namespace' }, namespace), name),
    make('button', { type: 'button', class: 'close', 'aria-keyshortcuts': 'Escape' }, 'Close'),
  );
}

/**
 * @param {LeaseEntry} entry
 * @param {DetailContext} context
 */
function standingOf(entry, { words, now }) {
  const tone = toneOf(entry, words);
  const { advice } = words.reasons[entry.reason];
  const beyond = countCandidates(entry) - entry.candidates.length;
  const rest = beyond > 0 ? [make('li', {}, `and ${beyond} more`)] : [];
  const showsAdvice = advice !== undefined && tone !== 'good';
  return [
    make('p', { class: 'verdict', 'data-tone': tone }, make('span', { class: 'mark' }), entry.verdict),
    ...(showsAdvice ? [make('p', { class: 'advice', 'data-tone': tone }, advice)] : []),
    make('dl', { class: 'facts' }, ...facts(entry, toneTexts[tone], now)),
    make('h3', {}, `Candidates, in the order in which they would lead`),
    entry.candidates.length > 0
      ? make(
          'ol',
          { class: 'ranking' },
          ...entry.candidates.map((one) => candidateItem(one, words, now)),
          ...rest,
        )
      : make('p', { class: 'muted' }, 'Nobody is a candidate any more.'),
  ];
}

/**
 * @param {LeaseEntry} entry
 * @param {string} toneText
 * @param {number} now
 */
function facts(entry, toneText, now) {
  const { holder, isHeld, isUnled, unledSince, preferredHolder, strategy, reason, waitingFor } = entry;
  const leader = holder === '' ? 'nobody' : isHeld ? holder : `${holder}, whose time is over`;
  /** @type {readonly (readonly [string, string | undefined])[]} */
  const told = [
    ['Leader', leader],
    ['Preferred instead', preferredHolder],
    ['State', `${reason}, ${toneText}`],
    [
      'Without leader',
      !isUnled
        ? undefined
        : unledSince === undefined
          ? 'since before this replica looked'
          : `for ${durationText(now - unledSince)}`,
    ],
    ['Waits for', waitingFor],
    ['Strategy', strategy || 'none'],
    ['Leaders so far', String(entry.transitions + (holder === '' ? 0 : 1))],
  ];
  return told.flatMap(([term, text]) =>
    text === undefined ? [] : [make('div', {}, make('dt', {}, term), make('dd', {}, text))],
  );
}

/**
 * @param {CandidateEntry} candidate
 * @param {HelloMessage} words
 * @param {number} now
 */
function candidateItem(candidate, { losses, states }, now) {
  const {
    name,
    binary = 'none',
    emulation = 'none',
    priority,
    priorityUntil,
    state,
    lostBy,
    isHolder,
    isPreferred,
    renewedAt,
  } = candidate;
  // `lostBy` is the state if that excludes the candidate, otherwise the criterion by which it lost.
  const why = lostBy === undefined ? 'the best candidate' : (losses[lostBy] ?? lostBy);
  return make(
    'li',
    { 'data-tone': candidateTone(candidate) },
    make(
      'div',
      { class: 'who' },
      make('span', { class: 'candidate' }, name),
      ...(isHolder ? [make('span', { class: 'badge good' }, 'leads')] : []),
      ...(isPreferred ? [make('span', { class: 'badge busy' }, 'preferred')] : []),
    ),
    make(
      'div',
      { class: 'versions' },
      make('span', {}, 'binary ', make('b', {}, binary)),
      make('span', {}, 'emulates ', make('b', {}, emulation)),
      ...(priority === undefined ? [] : [prioritySpan(priority, priorityUntil, now)]),
    ),
    make('p', { class: 'why' }, why),
    make(
      'p',
      { class: 'sign' },
      ...(state === lostBy ? [`${state}. `] : [`${state}: ${states[state]}. `]),
      'Its LeaseCandidate was renewed ',
      make('span', { class: 'ago', 'data-at': String(renewedAt) }, durationText(now - renewedAt)),
      ' ago.',
    ),
  );
}

/**
 * @param {number} priority
 * @param {number | undefined} until
 * @param {number} now
 */
function prioritySpan(priority, until, now) {
  const end = until === undefined ? [] : [` until ${clockText(until, now)}`];
  return make('span', {}, 'priority ', make('b', {}, String(priority)), ...end);
}
