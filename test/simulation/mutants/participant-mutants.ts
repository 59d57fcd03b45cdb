import { type Mutant, mutant } from './mutant.ts';

/** What a participant promises (rule 15), left out or gotten wrong. */
export const PARTICIPANT_MUTANTS: readonly Mutant[] = [
  // Never two leaders.
  mutant(
    'leads-on',
    'leads on, though it cannot renew',
    [
      'participant/elector-decision.ts',
      'const deadline = term.renewedAt + timing.renewDeadlineMs;',
      'const deadline = term.renewedAt + 10 * timing.leaseDurationMs;',
    ],
    [
      'participant/elector-decision.ts',
      'if (now >= deadline || isExpired || isTaken(view, term))',
      'if (now >= deadline || (isExpired && now < 0) || isTaken(view, term))',
    ],
  ),
  mutant('believes-too-long', 'takes its last renewal to last for twice its duration', [
    'participant/elector-decision.ts',
    'return renewedAt + leaseDurationMs;',
    'return renewedAt + 2 * leaseDurationMs;',
  ]),
  mutant('believes-from-answer', 'counts a renewal from its answer, not from when it was sent', [
    'participant/lease-follower.ts',
    'return sentAt;',
    'return clock.now();',
  ]),
  mutant('releases-first', 'releases the Lease before its program has stopped', [
    'participant/elector-decision.ts',
    "if (term.isOver) return { kind: 'await', until: laterThan(now, lapsesAt(term, view.timing)) };",
    `if (term.isOver && view.sight?.lease?.holderIdentity === view.identity && !view.isRequestInFlight && now >= view.retryAt)
      return { kind: 'release', lease: view.sight.lease };
    if (term.isOver) return { kind: 'await', until: laterThan(now, lapsesAt(term, view.timing)) };`,
  ]),
  mutant('takes-others', 'takes a Lease that was given to another', [
    'participant/elector-decision.ts',
    'const isOurs = sight?.lease?.holderIdentity === identity && !hasRival',
    "const isOurs = sight !== undefined && identity !== '' && !hasRival",
  ]),
  // The number of a term.
  mutant('number-of-the-grant', 'begins each term under the number that the Lease has', [
    'participant/elector-decision.ts',
    'if (lease && isTokenUnused) return lease.leaseTransitions;',
    'if (lease && (isTokenUnused || maxTransitions >= 0)) return lease.leaseTransitions;',
  ]),
  // Letting go.
  mutant('never-yields', 'leads on, though another is preferred', [
    'participant/elector-decision.ts',
    "if (lease && prefersAnother(lease, identity)) return { kind: 'end', why: 'yielded' };",
    '',
  ]),
  mutant('never-releases', 'ends without having released the Lease', [
    'participant/elector-decision.ts',
    'if (refusal && (!lease || now >= givesUpAt(view)))',
    'if (refusal && (!lease || now >= givesUpAt(view) - Number.MAX_VALUE))',
  ]),
  // Requests.
  mutant('waits-for-ever', 'has no deadline of its own for a renewal', [
    'participant/elector.ts',
    'deadlineMs: renewDeadlineMs / 2,',
    'deadlineMs: 1000 * renewDeadlineMs,',
  ]),
  // Its LeaseCandidate.
  mutant('deaf-to-pings', 'answers no ping', [
    'participant/published-candidate.ts',
    'return this.#own !== undefined && pingTimeOf(this.#own) !== this.#answeredPing;',
    'return this.#own === undefined && pingTimeOf === undefined;',
  ]),
  mutant('stays-deleted', 'does not publish a LeaseCandidate again that was deleted', [
    'participant/published-candidate.ts',
    'if (isDeleted || isOlder) {',
    'if (isOlder) {',
  ]),
  mutant('stays-custom', 'does not look for the native API when its watch begins anew', [
    'participant/candidate.ts',
    'if (apiVersion !== this.#allowed[0]) this.#sleep.interrupt();',
    '',
  ]),
  mutant('stays-withdrawn', 'stands no more once it was withdrawn', [
    'participant/participant.ts',
    'if (!this.#isOverrun) this.#candidate.stand();',
    '',
  ]),
];
