import { make } from './dom.js';
import { clockText } from './time-text.js';

/**
 * @typedef {import('../wire.ts').HelloMessage} HelloMessage
 * @typedef {import('../wire.ts').StateMessage} StateMessage
 * @typedef {import('./connection.js').Connection} Connection
 * @typedef {{ tone: 'warn' | 'bad' | 'quiet', title: string, text: string }} Notice
 */

/**
 * Returns what a user must know before trusting the page.
 *
 * @param {Connection} connection
 * @param {StateMessage | undefined} state
 * @param {HelloMessage | undefined} words
 * @param {number} now
 * @returns {readonly Notice[]}
 */
export function noticesFor(connection, state, words, now) {
  /** @type {Notice[]} */
  const notices = [];
  if (connection.kind === 'lost') {
    const why = connection.why === '' ? '' : ` The coordinator says: ${connection.why}.`;
    notices.push({
      tone: 'bad',
      title: 'Connection lost',
      text: words
        ? `What is shown is from ${clockText(connection.since, now)}, and may be wrong by now.${why} Trying again.`
        : `Nothing is known yet.${why} Trying again.`,
    });
  }
  if (!state || !words) return notices;
  if (state.api === 'notServed') {
    notices.push({ tone: 'bad', title: 'LeaseCandidates are not served', text: words.notServedAdvice });
  }
  if (state.blindSince !== undefined) {
    notices.push({
      tone: 'bad',
      title: 'The API server is out of reach',
      text: `This replica has seen no changes since ${clockText(state.blindSince, now)}: what is shown may be wrong by now, and so may who decides. It tries again.`,
    });
    return notices;
  }
  const notice = lockNotice(state);
  return notice ? [...notices, notice] : notices;
}

/**
 * @param {StateMessage} state
 * @returns {Notice | undefined}
 */
function lockNotice({ replica, lockHolder, api }) {
  const by = lockHolder ?? '';
  switch (replica) {
    case 'standby':
      return {
        tone: 'warn',
        title: 'This replica stands by',
        text: by
          ? `${by} holds the lock and decides. What is shown here is what this replica sees; which elections there were, and why, the page of that one tells.`
          : `Nobody is known to hold the lock, so that nobody decides. This replica ${api === 'notServed' ? 'leaves it to those that see LeaseCandidates' : 'tries to take it'}.`,
      };
    case 'waiting':
      return {
        tone: 'warn',
        title: 'Another coordinator decides',
        text: `${by} holds the lock, which is none of our replicas: most likely the coordinator built into kube-apiserver. This replica waits for it.`,
      };
    case 'settling':
      return {
        tone: 'warn',
        title: 'Taking over',
        text: 'This replica has the lock, and waits until the former holder cannot act any more.',
      };
    case 'dryRun':
      return {
        tone: 'quiet',
        title: 'Dry run',
        text: 'This replica decides and logs, and writes nothing. What changes is the work of others.',
      };
    case 'active':
      return undefined;
  }
}

/** @param {Notice} notice */
export function noticeElement({ tone, title, text }) {
  return make('p', { class: `notice ${tone}` }, make('strong', {}, title), ` ${text}`);
}

/**
 * Returns the texts for a page without Leases.
 *
 * @param {StateMessage | undefined} state
 * @param {boolean} isComplete
 * @param {boolean} isFiltered true if the search or a filter hides all Leases
 * @param {readonly string[]} namespaces
 * @returns {readonly string[]}
 */
export function emptyTexts(state, isComplete, isFiltered, namespaces) {
  if (isFiltered) return ['No Lease matches.', 'Esc in the search field clears it.'];
  if (!isComplete || !state) return ['Reading the Leases.'];
  if (state.api === 'notServed')
    return ['Nothing can be coordinated yet.', 'The API server has no LeaseCandidates.'];
  if (!state.hasSynced) return ['Reading the Leases from the API server.'];
  const where = namespaces.length === 0 ? '' : ` in ${namespaces.join(', ')}`;
  return [
    `No component is a candidate for a Lease${where} yet.`,
    'One is when it creates a LeaseCandidate: kube-controller-manager and kube-scheduler do with --feature-gates=CoordinatedLeaderElection=true, others with client-go’s NewCandidate. It shows here at once.',
  ];
}
