import { isSeparateLock, lockRefusal } from '../controller/other-locks.ts';
import { sourceOf } from '../coordination/candidate-sources.ts';
import { leaseKey } from '../coordination/lease-key.ts';
import { coordinatorLease, type Now } from '../election/model.ts';
import { type ElectionInput, surveyElection } from '../election/view.ts';
import type { ObservedElections } from './elections.ts';
import type { Evidence } from './evidence.ts';
import { counted, describePriority, endOf, listed, stateTexts } from './wording.ts';

/** `error`: elections fail. `warning`: elections will fail later, or the election of one Lease fails. */
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

export interface Finding {
  readonly check: CheckName;
  readonly severity: Severity;
  readonly what: string;
  readonly meaning?: string;
  readonly advice?: string;
  /** The path of the runbook in this repository; undefined if there is none. */
  readonly runbook?: string;
}

export type ObservedAt = Pick<ObservedElections, 'elections' | 'now'>;

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

export type RunbookName = (typeof runbooks)[number];

/** Returns the path of a runbook in this repository, as in the alert's `runbook_url`. */
export function runbookPath(name: RunbookName): string {
  return `docs/runbooks/${name}.md`;
}

const check = 'CoordinatorLock';

/** Checks which coordinator holds the lock, and whether other coordinators hold locks in other namespaces. */
export function checkLock(evidence: Evidence): readonly Finding[] {
  return [...checkPlace(evidence), checkHolder(evidence), ...checkOthers(evidence)];
}

/** Finds candidates that cannot lead. */
export function checkCandidates({ elections, now }: ObservedAt): readonly Finding[] {
  const check = 'Candidates';
  const standings = elections.flatMap(({ input }) => surveyElection(input, now).standings);
  const findings = (['Unresponsive', 'Expired'] as const).flatMap((state): Finding[] => {
    const names = standings
      .filter((one) => one.state === state)
      .map(({ candidate }) => `${candidate.namespace}/${candidate.name}`);
    if (names.length === 0) return [];
    return [
      {
        check,
        severity: 'warning',
        what: `${listed(names)}: ${names.length === 1 ? '' : 'each of them '}${stateTexts[state]}.`,
        meaning: 'They cannot lead, so the Lease has less redundancy than it seems.',
        advice:
          'Check whether their processes run and reach the API server; delete the candidates of processes that are gone.',
        runbook: runbookPath('LeaseCandidatesUnresponsive'),
      },
    ];
  });
  if (findings.length > 0) return findings;
  const what =
    standings.length === 0
      ? 'There are no candidates.'
      : `${counted(standings.length, 'candidate')}, none of them silent.`;
  return [{ check, severity: 'ok', what }];
}

export function checkPriorities({ elections, now }: ObservedAt): readonly Finding[] {
  const check = 'Priorities';
  const candidates = elections.flatMap(({ input }) => prioritiesIn(input, now));
  const ended = candidates.filter(({ hasEnded }) => hasEnded).map(({ name }) => name);
  const inForce = candidates.filter(({ priority, hasEnded }) => priority !== '0' && !hasEnded);
  const findings: Finding[] = candidates.flatMap(({ name, unreadable }) =>
    unreadable === undefined
      ? []
      : [
          {
            check,
            severity: 'warning',
            what: `${name}: ${unreadable} cannot be read.`,
            meaning: 'The priority is ignored.',
            advice:
              'Set the annotation priority to a whole number such as 100, and priority-until to a time such as 2026-01-01T12:00:00Z.',
          },
        ],
  );
  if (inForce.length > 0) {
    const named = listed(inForce.map(({ name, priority }) => `${name} ${priority}`));
    const what = `${counted(inForce.length, 'candidate')} with a priority: ${named}.`;
    findings.push({ check, severity: 'ok', what });
  }
  if (ended.length > 0) {
    const what = `${listed(ended)}: the priority has ended. undrain removes the annotations that drain and transfer have left.`;
    findings.push({ check, severity: 'ok', what });
  }
  return findings;
}

/** Checks the namespace of the lock. If it is not allowed, a coordinator does nothing. */
function checkPlace({ lockNamespace, elections }: Evidence): readonly Finding[] {
  const served = elections?.candidateApis.find((api) => sourceOf(api) === 'native');
  if (served === undefined || !isSeparateLock(lockNamespace)) return [];
  return [
    {
      check,
      severity: 'error',
      what: `A lock in ${lockNamespace} is refused: the API server serves its own LeaseCandidates.`,
      meaning: 'The controller built into kube-apiserver would elect beside a coordinator with that lock.',
      advice: `The coordinator says: ${lockRefusal(lockNamespace, served)}.`,
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
        what: `These credentials may not read the lock ${name}.`,
        meaning: 'It is unknown whether a coordinator runs.',
        advice: `Use credentials that may get leases in ${lockNamespace}.`,
      };
    case 'none':
      return {
        check,
        severity: 'error',
        what:
          lock.formerHolder === ''
            ? `No coordinator holds the lock ${name}.`
            : `${lock.formerHolder} held the lock ${name} and no longer renews it.`,
        meaning:
          otherLocks.length === 0
            ? 'No coordinator is running: a leader that crashes is not replaced.'
            : 'No coordinator has this lock.',
        advice: adviceForNone(elections?.candidateApis.length === 0, otherLocks),
        runbook: runbookPath('LeaseCoordinatorAbsent'),
      };
  }
}

function adviceForNone(isApiOff: boolean, [other]: Evidence['otherLocks']): string {
  if (isApiOff)
    return 'Serve LeaseCandidates first, as APIServed says. Without them, no coordinator takes the lock.';
  if (other) {
    return `A coordinator has its lock in ${other.namespace}: if it is yours, run doctor with --lock-namespace ${other.namespace}.`;
  }
  return 'Start the coordinator (run) and check its log; check that it has the permissions in deploy/rbac.yaml.';
}

/** Checks for other locks. Their holders elect leaders independently of each other. */
function checkOthers({ lock, otherLocks }: Evidence): readonly Finding[] {
  const isHeld = lock.kind === 'ours' || lock.kind === 'builtIn';
  if (otherLocks.length === 0 || (!isHeld && otherLocks.length === 1)) return [];
  return [
    {
      check,
      severity: 'warning',
      what: `${listed(otherLocks.map(({ namespace, holder }) => `${holder} in ${namespace}`))} ${otherLocks.length === 1 ? 'holds' : 'hold'} a lock, too.`,
      meaning:
        'Coordinators with different locks elect independently, and each undoes what the other prefers.',
      advice: 'Stop all but one, or give all the same --lock-namespace.',
      runbook: runbookPath('LeaseCoordinatorNotAlone'),
    },
  ];
}

function prioritiesIn({ namespace, candidates }: ElectionInput, now: Now) {
  return candidates.map(({ candidate: { name, priority } }) => ({
    name: `${namespace}/${name}`,
    priority: describePriority(priority.value, endOf(priority)),
    hasEnded: priority.end !== undefined && priority.end.at <= now.wall,
    unreadable: priority.unreadable,
  }));
}
