import { clockText } from './words.js';

/**
 * @import { HelloMessage, StateMessage } from '../wire.ts'
 * @import { Connection } from './connection.js'
 * @typedef {{ tone: 'warn' | 'bad' | 'quiet', title: string, text: string }} Notice
 */

/**
 * Returns notices about the limits of the data on the page.
 * @param {Connection} connection
 * @param {StateMessage | undefined} state
 * @param {HelloMessage | undefined} words
 * @param {number} now
 */
export function noticesFor(connection, state, words, now) {
  /** @type {Notice[]} */
  const notices = [];
  if (connection.kind === 'lost') {
    const why = connection.why && ` The coordinator says: ${connection.why}.`;
    const known = words
      ? `What is shown is from ${clockText(connection.since, now)}, and may be wrong by now.`
      : 'Nothing is known yet.';
    notices.push({ tone: 'bad', title: 'Connection lost', text: `${known}${why} Trying again.` });
  }
  if (!state || !words) return notices;
  if (state.api === 'notServed') {
    notices.push({ tone: 'bad', title: 'LeaseCandidates are not served', text: words.notServedAdvice });
  }
  if (state.blindSince !== undefined) {
    const since = clockText(state.blindSince, now);
    const text = `This replica has seen no changes since ${since}: what is shown may be wrong by now, and so may who decides. It tries again.`;
    notices.push({ tone: 'bad', title: 'The API server is out of reach', text });
  } else if (state.replica !== 'active') notices.push(lockNotices(state)[state.replica]);
  return notices;
}

/**
 * @param {StateMessage} state
 * @returns {Readonly<Record<Exclude<StateMessage['replica'], 'active'>, Notice>>}
 */
function lockNotices({ lockHolder, api }) {
  const plan = api === 'notServed' ? 'leaves it to those that see LeaseCandidates' : 'tries to take it';
  return {
    standby: {
      tone: 'warn',
      title: 'This replica stands by',
      text: lockHolder
        ? `${lockHolder} holds the lock and decides. What is shown here is what this replica sees; which elections there were, and why, the page of that one tells.`
        : `Nobody is known to hold the lock, so that nobody decides. This replica ${plan}.`,
    },
    waiting: {
      tone: 'warn',
      title: 'Another coordinator decides',
      text: `${lockHolder ?? 'Another'} holds the lock, which is none of our replicas: most likely the coordinator built into kube-apiserver. This replica waits for it.`,
    },
    settling: {
      tone: 'warn',
      title: 'Taking over',
      text: 'This replica has the lock, and waits until the former holder cannot act any more.',
    },
    dryRun: {
      tone: 'quiet',
      title: 'Dry run',
      text: 'This replica decides and logs, and writes nothing. What changes is the work of others.',
    },
  };
}

/**
 * Returns the title and the text that the page shows if it has no Leases.
 * @param {StateMessage | undefined} state
 * @param {boolean} isComplete
 * @param {boolean} isFiltered true if the search or a filter hides all Leases
 * @param {readonly string[]} namespaces
 * @returns {readonly [title: string, text: string]}
 */
export function emptyTexts(state, isComplete, isFiltered, namespaces) {
  if (isFiltered) return ['No Lease matches.', 'Esc in the search field clears it.'];
  if (!isComplete || !state) return ['Reading the Leases.', ''];
  if (state.api === 'notServed')
    return ['Nothing can be coordinated yet.', 'The API server has no LeaseCandidates.'];
  if (!state.hasSynced) return ['Reading the Leases from the API server.', ''];
  const where = namespaces.length === 0 ? '' : ` in ${namespaces.join(', ')}`;
  return [
    `No component is a candidate for a Lease${where} yet.`,
    'One is when it creates a LeaseCandidate: kube-controller-manager and kube-scheduler do with --feature-gates=CoordinatedLeaderElection=true, others with client-go’s NewCandidate. It shows here at once.',
  ];
}
