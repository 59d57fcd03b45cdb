import { isSeparateLock, lockRefusal } from '../controller/other-locks.ts';
import { sourceOf } from '../coordination/candidate-sources.ts';
import { leaseKey } from '../coordination/lease-key.ts';
import { REASONS, type Reason } from '../election/decision.ts';
import { coordinatorLease, type MicroTime } from '../election/model.ts';
import { candidatesIn, surveyElection } from '../election/view.ts';
import { type ObservedElections, type ServerAhead, skewOf, TOLERATED_SKEW_MS } from './elections.ts';
import { describeRight, type Evidence, type Right } from './evidence.ts';
import { isOverdue, type LeaseStatus, statusOf } from './lease-status.ts';
import {
  adviceOn,
  adviceOnTrouble,
  counted,
  describePriority,
  endOf,
  listed,
  stateTexts,
} from './wording.ts';

/**
 * `error`: a Lease in use has no leader (a fenced Lease is no error), or no election can succeed. `warning`: a lesser
 * problem, for example a risk, or a part of the cluster that could not be examined. `ok`: no problem.
 */
export type Severity = 'error' | 'warning' | 'ok';

export interface Finding {
  readonly severity: Severity;
  readonly what: string;
  readonly meaning?: string;
  readonly advice?: string;
  /** The path of the runbook in this repository; undefined if the finding has no runbook. */
  readonly runbook?: string;
}

/** The names of the alerts that have a runbook. The runbook has the same name. */
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

/** Returns the path of a runbook in this repository. By default, the alert's `runbook_url` ends with this path. */
export function runbookPath(name: RunbookName): string {
  return `docs/runbooks/${name}.md`;
}

export interface NamedFinding extends Finding {
  readonly check: string;
}

export function diagnose(evidence: Evidence): readonly NamedFinding[] {
  const { elections } = evidence;
  const isServed = elections !== undefined && elections.candidateApis.length > 0;
  const checks: Readonly<Record<string, readonly Finding[]>> = {
    APIServed: [checkApi(evidence)],
    FeatureGate: [checkGate(evidence)],
    CoordinatorLock: present([checkPlace(evidence), checkHolder(evidence), checkOthers(evidence)]),
    Permissions: checkRights(evidence),
    Clocks: checkClocks(evidence),
    Candidates: isServed ? checkCandidates(elections) : [],
    Leases: isServed ? checkLeases(elections) : [],
    Priorities: elections ? checkPriorities(elections) : [],
  };
  return Object.entries(checks).flatMap(([check, findings]) =>
    findings.map((finding) => ({ check, ...finding })),
  );
}

const FLAGS =
  'Start every kube-apiserver with --feature-gates=CoordinatedLeaderElection=true and ' +
  '--runtime-config=coordination.k8s.io/v1beta1=true (1.32: v1alpha2, 1.31: v1alpha1).';

const BOTH =
  'Candidates of both groups count: list the first by kubectl get leasecandidates, the second by kubectl get lcand.';

const CLOSED =
  'If the provider closes kube-system, set config.lockNamespace (--lock-namespace) to a namespace that is open.';

const OWN_CREDENTIALS =
  "Run doctor with the coordinator's own credentials, and with --namespace if it is limited to some; if the finding stays";

function passed(what: string): Finding {
  return { severity: 'ok', what };
}

/** Drops undefined elements: some checks return undefined if they find no problem. */
function present(findings: readonly (Finding | undefined)[]): readonly Finding[] {
  return findings.filter((finding) => finding !== undefined);
}

function checkApi({ elections, serverVersion, limitedTo }: Evidence): Finding {
  if (elections === undefined) {
    return {
      severity: 'warning',
      what: 'These credentials may not list Leases or LeaseCandidates.',
      meaning: 'Candidates and Leases cannot be examined.',
      advice:
        'Use credentials that may list leases and leasecandidates in every namespace, or give --namespace with a ' +
        'namespace that these credentials may read.',
    };
  }
  if (elections.candidateApis.length === 0) {
    return {
      severity: 'error',
      what: `The server (${serverVersion || 'of unknown version'}) serves no LeaseCandidates.`,
      meaning: 'No component can be a candidate, so nothing is coordinated.',
      advice: `Install the chart or run kubectl apply -f deploy/crd.yaml, to define the LeaseCandidates of this project. To use those of the API server instead: ${FLAGS}`,
      runbook: runbookPath('LeaseCoordinatorWatchStale'),
    };
  }
  if (elections.forbiddenApis.length > 0) {
    return {
      severity: 'warning',
      what: `These credentials may not list leasecandidates of ${elections.forbiddenApis.join(' and ')}.`,
      meaning: 'Their candidates are missing in the following findings.',
      advice: "Use credentials that may list them, such as those of the chart's ClusterRole reader.",
    };
  }
  return passed(
    `${serverVersion || 'The server (of unknown version)'} serves LeaseCandidates as ${elections.candidateApis.join(' and ')}.` +
      (elections.candidateApis.length > 1 ? ` ${BOTH}` : '') +
      (limitedTo.elections === undefined ? '' : ` Only namespace ${limitedTo.elections} may be examined.`),
  );
}

function checkGate({ trial }: Evidence): Finding {
  if (trial.kind === 'refused') {
    return {
      severity: 'warning',
      what: `A Lease could not be created in a dry run: ${trial.message}`,
      meaning: 'It is unknown whether Leases keep their strategy.',
      advice:
        'Use credentials that may create leases, and with --namespace a namespace that exists; the dry run stores ' +
        'nothing.',
    };
  }
  if (trial.keepsStrategy) return passed('Leases keep strategy and preferredHolder.');
  return passed(
    'Leases do not keep strategy and preferredHolder, because the feature gate CoordinatedLeaderElection is off. The coordinator keeps them in annotations, and uses a fence to make a leader yield that does not know the annotations.',
  );
}

/** Reports a lock outside kube-system if the server has native LeaseCandidates: coordinators refuse this lock (rule 10). */
function checkPlace({ lockNamespace, elections }: Evidence): Finding | undefined {
  const served = elections?.candidateApis.find((api) => sourceOf(api) === 'native');
  if (served === undefined || !isSeparateLock(lockNamespace)) return undefined;
  return {
    severity: 'error',
    what: `A lock in ${lockNamespace} is refused: the API server serves its own LeaseCandidates.`,
    meaning:
      'The controller built into kube-apiserver would elect at the same time as a coordinator with that lock.',
    advice: `The coordinator says: ${lockRefusal(lockNamespace, served)}.`,
    runbook: runbookPath('LeaseCoordinatorAbsent'),
  };
}

function checkHolder({ lock, lockNamespace, otherLocks, elections }: Evidence): Finding {
  const name = leaseKey(lockNamespace, coordinatorLease.name);
  switch (lock.kind) {
    case 'ours':
      return passed(`${lock.holder} coordinates.`);
    case 'builtIn':
      return passed(`The coordinator built into kube-apiserver coordinates (${lock.holder}).`);
    case 'unknown':
      return {
        severity: 'warning',
        what: `These credentials may not read the lock ${name}.`,
        meaning: 'It is unknown whether a coordinator runs.',
        advice: `Use credentials that may get leases in ${lockNamespace}.`,
      };
    case 'none':
      return {
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
  if (other)
    return `A coordinator has its lock in ${other.namespace}: if it is yours, run doctor with --lock-namespace ${other.namespace}.`;
  return 'Start the coordinator (run) and check its log; check that it has the permissions in deploy/rbac.yaml.';
}

/** Reports coordinators with different locks, because they elect leaders independently of each other. */
function checkOthers({ lock, otherLocks }: Evidence): Finding | undefined {
  const isHeld = lock.kind === 'ours' || lock.kind === 'builtIn';
  if (otherLocks.length === 0 || (!isHeld && otherLocks.length === 1)) return undefined;
  return {
    severity: 'warning',
    what: `${listed(otherLocks.map(({ namespace, holder }) => `${holder} in ${namespace}`))} ${otherLocks.length === 1 ? 'holds' : 'hold'} a lock, too.`,
    meaning: 'Coordinators with different locks elect independently, and each undoes what the other prefers.',
    advice: 'Stop all but one, or give all the same --lock-namespace.',
    runbook: runbookPath('LeaseCoordinatorNotAlone'),
  };
}

/** For each optional feature: what fails without its permissions, and the chart value that grants them. */
const PURPOSES = {
  labels: { lacks: 'the label of a leader would not follow it to another Pod', value: 'config.leaderLabel' },
  crashEvidence: {
    lacks: 'the Lease of a leader that crashes would be free only when it expires',
    value: 'crashEvidence.enabled',
  },
} satisfies Readonly<Record<NonNullable<Right['purpose']>, object>>;

function checkRights({ missingRights, user, limitedTo, lockNamespace }: Evidence): readonly Finding[] {
  const who = user || 'this user';
  const onExtras = Object.entries(PURPOSES).map(([purpose, { lacks, value }]): Finding | undefined => {
    const others = missingRights.filter((right) => right.purpose === purpose);
    if (others.length === 0) return undefined;
    return {
      severity: 'warning',
      what: `${who} may not: ${others.map(describeRight).join(', ')}.`,
      meaning: `A coordinator with these credentials elects leaders, but ${lacks}.`,
      advice: `${OWN_CREDENTIALS}, have the chart grant it: helm upgrade with --set ${value}=true.`,
    };
  });
  const missing = missingRights.filter(({ purpose }) => purpose === undefined);
  if (missing.length === 0) {
    const limit = limitedTo.rights === undefined ? '' : ` that is limited to namespace ${limitedTo.rights}`;
    return present([passed(`${who} may do all that a coordinator${limit} does.`), ...onExtras]);
  }
  const isClosed =
    lockNamespace === coordinatorLease.namespace &&
    missing.some(({ namespace }) => namespace === lockNamespace);
  const isBlind = missing.some(({ verb, name }) => name === undefined && ['list', 'watch'].includes(verb));
  const onElections: Finding = {
    severity: 'warning',
    what: `${who} may not: ${missing.map(describeRight).join(', ')}.`,
    meaning: 'A coordinator with these credentials cannot work; other credentials are not examined.',
    advice: `${OWN_CREDENTIALS}, kubectl apply -f deploy/rbac.yaml.${isClosed ? ` ${CLOSED}` : ''}`,
    runbook: runbookPath(isBlind ? 'LeaseCoordinatorWatchStale' : 'LeaseCoordinatorWriteErrors'),
  };
  return present([onElections, ...onExtras]);
}

function checkClocks({ serverAheadMs, elections }: Evidence): readonly Finding[] {
  const skew = skewOf(serverAheadMs);
  const unknown: Finding | undefined =
    serverAheadMs === undefined
      ? {
          severity: 'warning',
          what: 'The time of the server is unknown: its answers have no valid Date header.',
          meaning: "This command uses this machine's time, so ages can be wrong.",
          advice: 'See whether a proxy between this machine and the API server removes the header.',
        }
      : undefined;
  const skewed: Finding | undefined = skew && {
    severity: 'warning',
    what: `${skew.text}.`,
    meaning: "This command uses the server's time; elections do not compare clocks.",
    advice: 'Set both clocks by NTP.',
  };
  const findings = present([unknown, skewed, elections && checkRenewTimes(elections, serverAheadMs)]);
  return findings.length > 0 ? findings : [passed('No clock is off by more than 2 s.')];
}

/** Reports a renewTime ahead of both this machine's clock and (if known) the server's clock: either clock may be slow. */
function checkRenewTimes({ elections, now }: ObservedElections, ahead?: ServerAhead): Finding | undefined {
  const otherIsAheadMs = skewOf(ahead) === undefined ? ahead?.max : ahead && -ahead.min;
  const latest = now.wall + BigInt(Math.round((Math.max(0, otherIsAheadMs ?? 0) + TOLERATED_SKEW_MS) * 1000));
  const isAhead = (time: MicroTime | undefined) => time !== undefined && time > latest;
  const names = elections.flatMap(({ input }) => [
    ...(isAhead(input.lease?.renewTime) ? [`the holder of ${input.namespace}/${input.name}`] : []),
    ...input.candidates.flatMap(({ candidate }) =>
      isAhead(candidate.renewTime) ? [`${candidate.namespace}/${candidate.name}`] : [],
    ),
  ]);
  if (names.length === 0) return undefined;
  return {
    severity: 'warning',
    what: `${listed(names)} renewed at a time in the future.`,
    meaning:
      'The clocks of their machines are ahead; the built-in coordinator then takes too long to replace them.',
    advice: 'Set the clocks of their machines by NTP.',
  };
}

export type ObservedAt = Pick<ObservedElections, 'elections' | 'now'>;

/** Reports candidates that cannot lead, because they are unresponsive or expired. */
export function checkCandidates({ elections, now }: ObservedAt): readonly Finding[] {
  const standings = elections.flatMap(({ input }) => surveyElection(input, now).standings);
  const silent = (['Unresponsive', 'Expired'] as const).map((state): Finding | undefined => {
    const names = candidatesIn(standings, state).map(({ namespace, name }) => `${namespace}/${name}`);
    if (names.length === 0) return undefined;
    return {
      severity: 'warning',
      what: `${listed(names)}: ${names.length === 1 ? '' : 'each of them '}${stateTexts[state]}.`,
      meaning: 'They cannot lead, so the Lease has less redundancy than it seems.',
      advice:
        'Check whether their processes run and reach the API server; delete the candidates of processes that are gone.',
      runbook: runbookPath('LeaseCandidatesUnresponsive'),
    };
  });
  const findings = present(silent);
  if (findings.length > 0) return findings;
  if (standings.length === 0) return [passed('There are no candidates.')];
  return [passed(`${counted(standings.length, 'candidate')}, none of them silent.`)];
}

/** Reports Leases with a reason that shows a problem, and Leases on which no coordinator decides. */
function checkLeases({ elections, now }: ObservedElections): readonly Finding[] {
  const overdue = new Set<LeaseStatus>();
  const statuses = elections.map((election) => {
    const status = statusOf(election, now);
    if (isOverdue(election, now)) overdue.add(status);
    return status;
  });
  // If the awaited answers would cause a conflict, report StrategyConflict instead of AwaitingAcks.
  const troubleOf = ({ reason, conflictingStrategies }: LeaseStatus): Reason =>
    reason === 'AwaitingAcks' && conflictingStrategies ? 'StrategyConflict' : reason;
  const findings = [...Map.groupBy(statuses, troubleOf)].flatMap(([reason, all]): Finding[] => {
    if (adviceOn(reason) === undefined) return [];
    const known = adviceOnTrouble(reason);
    const those = known === undefined ? all.filter((status) => overdue.has(status)) : all;
    if (those.length === 0) return [];
    const advice =
      known ?? 'The coordinator should have decided: check that it handles this namespace, and its log.';
    const names = those.map(({ namespace, name }) => `${namespace}/${name}`);
    const isSupposed = reason === 'StrategyConflict' && those.some((one) => one.reason !== reason);
    // NoCandidates is only a warning: such a Lease is usually left over from an uninstalled component.
    const isLed = reason === 'NoCandidates' || those.every(({ isHeld }) => isHeld);
    // LeaseFenced is only a warning: the fence expires by itself, and the coordinator then elects a leader.
    const severity = isLed || reason === 'LeaseFenced' ? 'warning' : 'error';
    const what = `${listed(names)}: ${reason}${isSupposed ? ', if all candidates answer' : ''}.`;
    const finding = { severity, what, meaning: REASONS[reason], advice } as const;
    if (reason === 'StrategyConflict') return [{ ...finding, runbook: runbookPath('LeaseStrategyConflict') }];
    return [isLed ? finding : { ...finding, runbook: runbookPath('LeaseWithoutLeader') }];
  });
  if (findings.length > 0) return findings;
  if (statuses.length === 0) return [passed('There are no coordinated Leases.')];
  return [passed(`${counted(statuses.length, 'coordinated Lease')}, each as it should be.`)];
}

export function checkPriorities({ elections, now }: ObservedAt): readonly Finding[] {
  const candidates = elections.flatMap(({ input }) =>
    input.candidates.map(({ candidate: { namespace, name, priority } }) => ({
      name: `${namespace}/${name}`,
      priority: describePriority(priority.value, endOf(priority)),
      hasEnded: priority.end !== undefined && priority.end.at <= now.wall,
      unreadable: priority.unreadable,
    })),
  );
  const ended = candidates.filter(({ hasEnded }) => hasEnded).map(({ name }) => name);
  const inForce = candidates.filter(({ priority, hasEnded }) => priority !== '0' && !hasEnded);
  const unreadable = candidates.filter((candidate) => candidate.unreadable !== undefined);
  const findings = unreadable.map(
    ({ name, unreadable: annotation }): Finding => ({
      severity: 'warning',
      what: `${name}: ${annotation} cannot be read.`,
      meaning: 'The priority is ignored.',
      advice:
        'Set the annotation priority to a whole number such as 100, and priority-until to a time such as 2026-01-01T12:00:00Z.',
    }),
  );
  if (inForce.length > 0) {
    const named = listed(inForce.map(({ name, priority }) => `${name} ${priority}`));
    findings.push(passed(`${counted(inForce.length, 'candidate')} with a priority: ${named}.`));
  }
  if (ended.length > 0) {
    findings.push(
      passed(
        `${listed(ended)}: the priority has ended. undrain removes the annotations that drain and transfer have left.`,
      ),
    );
  }
  return findings;
}
