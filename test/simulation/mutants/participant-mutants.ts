import { type Mutant, mutant } from './mutant.ts';

/** Violations of the promises of a participant (rule 15). */
export const PARTICIPANT_MUTANTS: readonly Mutant[] = [
  // Never two leaders.
  mutant(
    'leads-on',
    'continues to lead when it cannot renew',
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
  mutant('believes-too-long', 'believes that its last renewal is valid for twice the duration', [
    'participant/elector-decision.ts',
    'return renewedAt + leaseDurationMs;',
    'return renewedAt + 2 * leaseDurationMs;',
  ]),
  mutant('believes-from-answer', 'counts a renewal from its answer, not from its request', [
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
  mutant('takes-others', 'takes a Lease that was granted to another candidate', [
    'participant/elector-decision.ts',
    'const isOurs = sight?.lease?.holderIdentity === identity && !hasRival',
    "const isOurs = sight !== undefined && identity !== '' && !hasRival",
  ]),
  // The number of a term.
  mutant('number-of-the-grant', 'starts each term with the current number of the Lease', [
    'participant/elector-decision.ts',
    'if (lease && isTokenUnused) return lease.leaseTransitions;',
    'if (lease && (isTokenUnused || maxTransitions >= 0)) return lease.leaseTransitions;',
  ]),
  // Letting go.
  mutant('never-yields', 'continues to lead when another candidate is preferred', [
    'participant/elector-decision.ts',
    "if (lease && prefersAnother(lease, identity)) return { kind: 'end', why: 'yielded' };",
    '',
  ]),
  mutant('never-releases', 'ends without releasing the Lease', [
    'participant/elector-decision.ts',
    'if (refusal && (!lease || now >= givesUpAt))',
    'if (refusal && (!lease || now >= givesUpAt - Number.MAX_VALUE))',
  ]),
  // Requests.
  mutant('waits-for-ever', 'has no deadline for a renewal', [
    'participant/elector.ts',
    'deadlineMs: renewDeadlineMs / 2,',
    'deadlineMs: 1000 * renewDeadlineMs,',
  ]),
  // Its LeaseCandidate.
  mutant('deaf-to-pings', 'answers no pings', [
    'participant/published-candidate.ts',
    'return this.#own !== undefined && pingTimeOf(this.#own) !== this.#answeredPing;',
    'return this.#own === undefined && pingTimeOf === undefined;',
  ]),
  mutant('stays-deleted', 'does not publish a deleted LeaseCandidate again', [
    'participant/published-candidate.ts',
    'if (isDeleted || isOlder) {',
    'if (isOlder) {',
  ]),
  mutant('stays-custom', 'does not look for the native API when its watch starts again', [
    'participant/candidate.ts',
    'if (apiVersion !== this.#allowed[0]) this.#sleep.interrupt();',
    '',
  ]),
  mutant('stays-withdrawn', 'is never a candidate again after a withdrawal', [
    'participant/participant.ts',
    'if (!this.#isOverrun) this.#candidate.stand();',
    '',
  ]),
];
