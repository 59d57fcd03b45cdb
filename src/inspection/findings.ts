import { isSeparateLock, lockRefusal } from '../controller/other-locks.ts';
import { sourceOf } from '../coordination/candidate-sources.ts';
import { leaseKey } from '../coordination/lease-key.ts';
import type { Reason } from '../election/decision.ts';
import { coordinatorLease, type Now } from '../election/model.ts';
import type { ElectionInput } from '../election/view.ts';
import type { ObservedElections } from './elections.ts';
import type { Evidence, Right } from './evidence.ts';
import { counted, describePriority, endOf, listed } from './wording.ts';

/** error: elections fail. warning: elections will fail, or fail for one Lease. */
export type Severity = 'error' | 'warning' | 'ok';

type CheckName =
  | 'APIServed'
  | 'FeatureGate'
  | 'CoordinatorLock'
  | 'Permissions'
  | 'Clocks'
  | 'Candidates'
  | 'Leases'
  | 'Priorities';

/** A finding about a cluster. */
export interface Finding {
  readonly check: CheckName;
  readonly severity: Severity;
  readonly what: string;
  /** The meaning; undefined if all is well. */
  readonly meaning?: string;
  /** Advice; undefined if there is nothing to do. */
  readonly advice?: string;
  /** The path of the runbook in this repository; undefined if there is none. */
  readonly runbook?: string;
}

/** The alerts with a runbook of the same name. */
export const runbooks = [
  'LeaseWithoutLeader',
  'LeaseStrategyConflict',
  'LeaseCandidatesUnresponsive',
  'LeaseCoordinatorAbsent',
  'LeaseCoordinatorLockFlapping',
  'LeaseCoordinatorNotAlone',
  'LeaseCoordinatorWriteErrors',
  'LeaseCoordinatorWatchStale',
  'LeaseElectionsSlow',
  'LeaseApiServerSlow',
] as const;

/** The name of an alert and its runbook. */
export type RunbookName = (typeof runbooks)[number];

/** Returns the path of a runbook in this repository, as in the alert's `runbook_url`. */
export function runbookPath(name: RunbookName): string {
  return `docs/runbooks/${name}.md`;
}

/** Returns the runbook for blocked elections with this reason; undefined if there is no alert for it. */
export function runbookForReason(reason: Reason, isLed: boolean): string | undefined {
  if (reason === 'StrategyConflict') return runbookPath('LeaseStrategyConflict');
  return isLed ? undefined : runbookPath('LeaseWithoutLeader');
}

/** Returns the runbook for missing permissions. Missing read permissions come before missing write permissions. */
export function runbookForMissing(rights: readonly Right[]): string {
  const isBlind = rights.some(
    ({ verb, name }) => name === undefined && (verb === 'list' || verb === 'watch'),
  );
  return runbookPath(isBlind ? 'LeaseCoordinatorWatchStale' : 'LeaseCoordinatorWriteErrors');
}

const check = 'CoordinatorLock';

/** Checks who holds the lock, and whether other coordinators hold locks elsewhere. */
export function checkLock(evidence: Evidence): readonly Finding[] {
  return [...checkPlace(evidence), checkHolder(evidence), ...checkOthers(evidence)];
}

/** Checks the priorities of candidates (rule 16). */
export function checkPriorities({ elections, now }: ObservedElections): readonly Finding[] {
  const check = 'Priorities';
  const candidates = elections.flatMap(({ input }) => candidatesOf(input, now));
  const unreadable = candidates.filter((one) => one.unreadable !== undefined);
  const ended = candidates.filter(({ hasEnded }) => hasEnded);
  const inForce = candidates.filter(({ priority, hasEnded }) => priority !== '0' && !hasEnded);
  return [
    ...unreadable.map(
      ({ name, unreadable: annotation }): Finding => ({
        check,
        severity: 'warning',
        what: `${name}: ${annotation} cannot be read.`,
        meaning: 'The priority that it was to have does not count.',
        advice: UNREADABLE_ADVICE,
      }),
    ),
    ...(inForce.length === 0
      ? []
      : [
          {
            check,
            severity: 'ok',
            what: `${counted(inForce.length, 'candidate')} with a priority: ${listed(inForce.map(({ name, priority }) => `${name} ${priority}`))}.`,
          } as const,
        ]),
    ...(ended.length === 0
      ? []
      : [
          {
            check,
            severity: 'ok',
            what: `${listed(ended.map(({ name }) => name))}: the priority that was set has ended. undrain removes what drain and transfer have left of it.`,
          } as const,
        ]),
  ];
}

/** Advice for an annotation that cannot be parsed. */
export const UNREADABLE_ADVICE =
  'Set the annotation priority to a whole number such as 100, and priority-until to a time such as 2026-01-01T12:00:00Z.';

/** Checks the namespace of the lock. A coordinator does nothing if that namespace is not allowed. */
function checkPlace({ lockNamespace, elections }: Evidence): readonly Finding[] {
  const served = elections?.candidateApis.find((api) => sourceOf(api) === 'native');
  if (served === undefined || !isSeparateLock(lockNamespace)) return [];
  return [
    {
      check,
      severity: 'error',
      what: `A lock in ${lockNamespace} is refused: the server serves LeaseCandidates of its own.`,
      meaning: 'The controller built into kube-apiserver would elect beside a coordinator with that lock.',
      advice: `Here is why: ${lockRefusal(lockNamespace, served)}.`,
      runbook: runbookPath('LeaseCoordinatorAbsent'),
    },
  ];
}

function checkHolder({ lock, lockNamespace, otherLocks, elections }: Evidence): Finding {
  const name = leaseKey(lockNamespace, coordinatorLease.name);
  switch (lock.kind) {
    case 'ours':
      return { check, severity: 'ok', what: `${lock.holder} coordinates.` };
    case 'builtIn':
      return {
        check,
        severity: 'ok',
        what: `The coordinator built into kube-apiserver coordinates (${lock.holder}).`,
      };
    case 'unknown':
      return {
        check,
        severity: 'warning',
        what: `The lock ${name} may not be read with these credentials.`,
        meaning: 'It is not known who coordinates, if anybody does.',
        advice: `Use credentials that may get leases in ${lockNamespace}.`,
      };
    case 'nobody':
      return {
        check,
        severity: 'error',
        what:
          lock.formerHolder === ''
            ? `Nobody holds the lock ${name}.`
            : `${lock.formerHolder} held the lock ${name} and renews it no more.`,
        meaning:
          otherLocks.length === 0
            ? 'Nobody coordinates: a leader that dies is not replaced.'
            : 'Nobody coordinates by this lock.',
        advice: adviceForNobody(elections?.candidateApis.length === 0, otherLocks),
        runbook: runbookPath('LeaseCoordinatorAbsent'),
      };
  }
}

function adviceForNobody(isApiOff: boolean, [other]: Evidence['otherLocks']): string {
  if (isApiOff)
    return 'Turn the API on first: no coordinator takes the lock where it sees no LeaseCandidates.';
  if (other) {
    return `One coordinates by a lock in ${other.namespace}: if it is yours, run doctor with --lock-namespace ${other.namespace}.`;
  }
  return 'Start the coordinator (run) and look at its log; see that it may do what deploy/rbac.yaml grants.';
}

/** Checks for other locks: their holders elect leaders independently of each other. */
function checkOthers({ lock, otherLocks }: Evidence): readonly Finding[] {
  const isHeld = lock.kind === 'ours' || lock.kind === 'builtIn';
  if (otherLocks.length === 0 || (!isHeld && otherLocks.length === 1)) return [];
  return [
    {
      check,
      severity: 'warning',
      what: `${listed(otherLocks.map(({ namespace, holder }) => `${holder} in ${namespace}`))} ${otherLocks.length === 1 ? 'holds' : 'hold'} a lock, too.`,
      meaning:
        'Coordinators with different locks elect side by side, and each undoes what the other prefers.',
      advice: 'Stop all but one, or let all have one --lock-namespace.',
      runbook: runbookPath('LeaseCoordinatorNotAlone'),
    },
  ];
}

function candidatesOf({ namespace, candidates }: ElectionInput, now: Now) {
  return candidates.map(({ candidate: { name, priority } }) => ({
    name: `${namespace}/${name}`,
    priority: describePriority(priority.value, endOf(priority)),
    hasEnded: priority.end !== undefined && priority.end.at <= now.wall,
    unreadable: priority.unreadable,
  }));
}
