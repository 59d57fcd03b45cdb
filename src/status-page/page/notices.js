import { clockText } from './words.js';

/**
 * @import { HelloMessage, StateMessage } from '../wire.ts'
 * @import { Connection } from './connection.js'
 */

/**
 * Returns notices about a lost connection, about a problem of the API server, and about a replica that is not active.
 * @param {Connection} connection
 * @param {StateMessage | undefined} state
 * @param {HelloMessage | undefined} words
 * @param {number} now
 */
export function noticesFor(connection, state, words, now) {
  /** @type {{ tone: 'warn' | 'bad' | 'quiet', title: string, text: string }[]} */
  const notices = [];
  if (connection.kind === 'lost') {
    const why = connection.why && ` The coordinator says: ${connection.why}.`;
    const known = words
      ? `The page shows the state of ${clockText(connection.since, now)}. It may be outdated.`
      : 'Nothing is known yet.';
    notices.push({ tone: 'bad', title: 'Connection lost', text: `${known}${why} The page tries again.` });
  }
  if (!state || !words) return notices;
  if (state.api === 'notServed')
    notices.push({ tone: 'bad', title: 'LeaseCandidates are not served', text: words.notServedAdvice });
  if (state.blindSince !== undefined) {
    const since = clockText(state.blindSince, now);
    const text = `This replica has seen no changes since ${since}: the page and the shown coordinator may be outdated. This replica goes on trying to reach the API server.`;
    notices.push({ tone: 'bad', title: 'The API server is out of reach', text });
  } else if (state.replica !== 'active') {
    const [title, text] = lockTexts(state)[state.replica];
    notices.push({ tone: state.replica === 'dryRun' ? 'quiet' : 'warn', title, text });
  }
  return notices;
}

/** @type {(state: StateMessage) => Readonly<Record<Exclude<StateMessage['replica'], 'active'>, [string, string]>>} */
function lockTexts({ lockHolder, api }) {
  const plan =
    api === 'notServed' ? 'leaves the lock to replicas that see LeaseCandidates' : 'tries to take the lock';
  return {
    standby: [
      'This replica stands by',
      lockHolder
        ? `${lockHolder} holds the lock and decides. This page shows what this replica sees. The page of the other replica shows the elections and their reasons.`
        : `No known replica holds the lock, so no replica decides. This replica ${plan}.`,
    ],
    waiting: [
      'Another coordinator decides',
      `${lockHolder ?? 'Another'} holds the lock and is not one of our replicas. Most likely it is the coordinator built into kube-apiserver. This replica waits for the lock.`,
    ],
    settling: [
      'Taking over',
      'This replica has the lock. It waits until the former holder can no longer act.',
    ],
    dryRun: [
      'Dry run',
      'This replica decides and logs, and writes nothing. Other programs make all changes that you see.',
    ],
  };
}

/**
 * Returns the title and the text that the page shows if it shows no Leases.
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
    'A component becomes a candidate when it creates a LeaseCandidate: kube-controller-manager and kube-scheduler with --feature-gates=CoordinatedLeaderElection=true, other programs with client-go’s NewCandidate. This page then shows its Lease.',
  ];
}
