import { isOwnLock, lockRefusal } from '../controller/lock-namespace.ts';
import { sourceOf } from '../coordination/candidate-sources.ts';
import { leaseKey } from '../coordination/lease-key.ts';
import { coordinatorLease } from '../election/coordinator-lease.ts';
import type { Evidence } from './evidence.ts';
import type { Finding } from './finding.ts';
import { listed } from './lease-status.ts';
import { runbookPath } from './runbook.ts';

const check = 'CoordinatorLock';

/** Who coordinates, and whether anybody else does beside. */
export function checkLock(evidence: Evidence): readonly Finding[] {
  return [...checkPlace(evidence), checkHolder(evidence), ...checkOthers(evidence)];
}

/** A coordinator with this setting does nothing. */
function checkPlace({ lockNamespace, elections }: Evidence): readonly Finding[] {
  const served = elections?.candidateApis.find((api) => sourceOf(api) === 'native');
  if (served === undefined || !isOwnLock(lockNamespace)) return [];
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

/** Of several locks each holder elects, and none knows of the others. */
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
