import { REASONS, type Reason } from '../election/decision.ts';
import { coordinatorLease, type MicroTime } from '../election/model.ts';
import { surveyElection } from '../election/view.ts';
import { type ObservedElections, type ServerAhead, skewOf, TOLERATED_SKEW_MS } from './elections.ts';
import { describeRight, type Evidence } from './evidence.ts';
import {
  checkLock,
  checkPriorities,
  type Finding,
  runbookForMissing,
  runbookForReason,
  runbookPath,
} from './findings.ts';
import { type LeaseStatus, statusOf } from './lease-status.ts';
import { counted, listed, reasonTexts, stateTexts } from './wording.ts';

/** Reasons that occur in every election. One observation cannot tell how long they have lasted. */
const ROUTINE_REASONS: ReadonlySet<Reason> = new Set<Reason>([
  'LeaseMissing',
  'LeaseExpired',
  'LeaseReleased',
  'HolderEnded',
  'BetterCandidate',
  'PreemptionPending',
  'PreferredHolderLeads',
  'PreferredHolderGone',
  'PreferredHolderNotBest',
  'AwaitingAcks',
]);

const FLAGS =
  'Start every kube-apiserver with --feature-gates=CoordinatedLeaderElection=true and ' +
  '--runtime-config=coordination.k8s.io/v1beta1=true (1.32: v1alpha2, 1.31: v1alpha1).';

const BOTH =
  'Those of both groups count: see the first by kubectl get leasecandidates, the second by kubectl get lcand.';

const CLOSED =
  'Where the provider closes kube-system, install with config.lockNamespace (--lock-namespace) set to a namespace that is open.';

/** Returns the findings of all checks. */
export function diagnose(evidence: Evidence): readonly Finding[] {
  return [
    checkApi(evidence),
    checkGate(evidence),
    ...checkLock(evidence),
    ...checkRights(evidence),
    ...checkClocks(evidence),
    ...checkCandidates(evidence),
    ...checkLeases(evidence),
    ...(evidence.elections ? checkPriorities(evidence.elections) : []),
  ];
}

function checkApi({ elections, serverVersion, limitedTo }: Evidence): Finding {
  const check = 'APIServed';
  if (elections === undefined) {
    return {
      check,
      severity: 'warning',
      what: 'Leases or LeaseCandidates may not be listed with these credentials.',
      meaning: 'Neither candidates nor Leases can be examined.',
      advice:
        'Use credentials that may list leases and leasecandidates in every namespace, or name one that these may ' +
        'look into with --namespace.',
    };
  }
  if (elections.candidateApis.length === 0) {
    return {
      check,
      severity: 'error',
      what: `The server (${serverVersion || 'of unknown version'}) serves no LeaseCandidates.`,
      meaning: 'No component can be a candidate, so nothing is coordinated.',
      advice: `Define those of our own group: by an install of the chart, or kubectl apply -f deploy/crd.yaml. For the server's own instead: ${FLAGS}`,
      runbook: runbookPath('LeaseCoordinatorWatchStale'),
    };
  }
  if (elections.forbiddenApis.length > 0) {
    return {
      check,
      severity: 'warning',
      what: `leasecandidates of ${elections.forbiddenApis.join(' and ')} may not be listed with these credentials.`,
      meaning: 'Those who stand there are missing in what follows.',
      advice: 'Use credentials that may list them: the ClusterRole reader of the chart lets you.',
    };
  }
  return {
    check,
    severity: 'ok',
    what:
      `${serverVersion} serves LeaseCandidates as ${elections.candidateApis.join(' and ')}.` +
      (elections.candidateApis.length > 1 ? ` ${BOTH}` : '') +
      (limitedTo.elections === undefined ? '' : ` Only namespace ${limitedTo.elections} may be examined.`),
  };
}

function checkGate({ trial }: Evidence): Finding {
  const check = 'FeatureGate';
  if (trial.kind === 'refused') {
    return {
      check,
      severity: 'warning',
      what: `A Lease could not be created for trial: ${trial.message}`,
      meaning: 'It is not known whether Leases keep their strategy.',
      advice:
        'Use credentials that may create leases, and with --namespace a namespace that exists; nothing is kept of the ' +
        'trial.',
    };
  }
  if (trial.keepsStrategy)
    return { check, severity: 'ok', what: 'Leases keep strategy and preferredHolder.' };
  return {
    check,
    severity: 'ok',
    what: 'Leases do not keep strategy and preferredHolder, as the feature gate CoordinatedLeaderElection is off. They are kept in annotations, and a leader that does not know these is made to give way by a fence.',
  };
}

function checkRights(evidence: Evidence): readonly Finding[] {
  const { missingRights: missing, user } = evidence;
  const who = user || 'this user';
  const [forLabels, forElections] = [
    missing.filter(({ resource }) => resource === 'pods'),
    missing.filter(({ resource }) => resource !== 'pods'),
  ];
  const elections = checkElectionRights(evidence, who, forElections);
  return forLabels.length === 0 ? [elections] : [elections, missingForLabels(who, forLabels)];
}

function checkElectionRights(
  { limitedTo, lockNamespace }: Evidence,
  who: string,
  missing: Evidence['missingRights'],
): Finding {
  const check = 'Permissions';
  if (missing.length === 0) {
    const limit = limitedTo.rights === undefined ? '' : ` that is limited to namespace ${limitedTo.rights}`;
    return { check, severity: 'ok', what: `${who} may do all that a coordinator${limit} does.` };
  }
  const isClosed =
    lockNamespace === coordinatorLease.namespace &&
    missing.some(({ namespace }) => namespace === lockNamespace);
  return {
    check,
    severity: 'warning',
    what: `${who} may not: ${missing.map(describeRight).join(', ')}.`,
    meaning:
      'A coordinator with these credentials could not do its work; other credentials are not examined.',
    advice:
      "Run doctor with the coordinator's own credentials, and with --namespace if it is limited to some; if it says " +
      'the same, kubectl apply -f deploy/rbac.yaml.' +
      (isClosed ? ` ${CLOSED}` : ''),
    runbook: runbookForMissing(missing),
  };
}

/** Missing rights for leader labels do not prevent elections. */
function missingForLabels(who: string, missing: Evidence['missingRights']): Finding {
  return {
    check: 'Permissions',
    severity: 'warning',
    what: `${who} may not: ${missing.map(describeRight).join(', ')}.`,
    meaning:
      'A coordinator with these credentials elects, but the label of a leader would not follow it to another Pod.',
    advice:
      "Run doctor with the coordinator's own credentials, and with --namespace if it is limited to some; if it says " +
      'the same, have the chart grant it: helm upgrade with --set config.leaderLabel=true.',
  };
}

function checkClocks({ serverAheadMs, elections }: Evidence): readonly Finding[] {
  const check = 'Clocks';
  const skew = skewOf(serverAheadMs);
  const findings: Finding[] = [];
  if (skew !== undefined) {
    findings.push({
      check,
      severity: 'warning',
      what: `${skew.text}.`,
      meaning: "Times are judged by the server's here; elections do not compare clocks.",
      advice: 'Set both clocks by NTP.',
    });
  }
  if (elections !== undefined) findings.push(...checkRenewTimes(elections, serverAheadMs));
  if (findings.length > 0) return findings;
  return [{ check, severity: 'ok', what: 'No clock is off by more than 2 s.' }];
}

/** Compares renewTimes with the later of the server's clock and ours: either may be slow. */
function checkRenewTimes(
  { elections, now }: ObservedElections,
  ahead: ServerAhead | undefined,
): readonly Finding[] {
  const otherIsAheadMs = skewOf(ahead) === undefined ? ahead?.max : ahead && -ahead.min;
  const latest = now.wall + BigInt(Math.round((Math.max(0, otherIsAheadMs ?? 0) + TOLERATED_SKEW_MS) * 1000));
  const isAhead = (time: MicroTime | undefined) => time !== undefined && time > latest;
  const names = elections.flatMap(({ input }) => [
    ...(isAhead(input.lease?.renewTime) ? [`the holder of ${input.namespace}/${input.name}`] : []),
    ...input.candidates.flatMap(({ candidate }) =>
      isAhead(candidate.renewTime) ? [`${candidate.namespace}/${candidate.name}`] : [],
    ),
  ]);
  if (names.length === 0) return [];
  return [
    {
      check: 'Clocks',
      severity: 'warning',
      what: `${listed(names)} renewed at a time that has yet to come.`,
      meaning:
        'The clocks of their machines are ahead; the built-in coordinator then takes too long to replace them.',
      advice: 'Set the clocks of their machines by NTP.',
    },
  ];
}

function checkCandidates({ elections }: Evidence): readonly Finding[] {
  const check = 'Candidates';
  if (!elections || elections.candidateApis.length === 0) return [];
  const standings = elections.elections.flatMap(
    ({ input }) => surveyElection(input, elections.now).standings,
  );
  const findings = (['Unresponsive', 'Expired'] as const).flatMap((state): Finding[] => {
    const names = standings
      .filter((one) => one.state === state)
      .map(({ candidate }) => `${candidate.namespace}/${candidate.name}`);
    if (names.length === 0) return [];
    return [
      {
        check,
        severity: 'warning',
        what: `${listed(names)}: ${stateTexts[state]}.`,
        meaning: 'They cannot lead, and the redundancy that they stand for is not there.',
        advice:
          'See whether their processes run and reach the API server; delete the candidates of those that are gone.',
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

/** Finds Leases whose election is blocked. */
function checkLeases({ elections }: Evidence): readonly Finding[] {
  if (!elections || elections.candidateApis.length === 0) return [];
  const check = 'Leases';
  const statuses = elections.elections.map((election) => statusOf(election, elections.now));
  const byReason = Map.groupBy(statuses, troubleOf);
  const findings = [...byReason].flatMap(([reason, those]): Finding[] => {
    const { advice } = reasonTexts[reason];
    const names = those.map(({ namespace, name }) => `${namespace}/${name}`);
    const isSupposed = reason === 'StrategyConflict' && those.some((one) => one.reason !== reason);
    if (ROUTINE_REASONS.has(reason) || advice === undefined) return [];
    // A Lease without candidates is left over from an uninstalled component.
    const isLed = reason === 'NoCandidates' || those.every(({ isHeld }) => isHeld);
    // A fence expires by itself.
    const severity = isLed || reason === 'LeaseFenced' ? 'warning' : 'error';
    const runbook = runbookForReason(reason, isLed);
    const what = `${listed(names)}: ${reason}${isSupposed ? ', if all candidates live that have not renewed just now' : ''}.`;
    return [
      { check, severity, what, meaning: REASONS[reason], advice, ...(runbook !== undefined && { runbook }) },
    ];
  });
  if (findings.length > 0) return findings;
  const what =
    statuses.length === 0
      ? 'There are no coordinated Leases.'
      : `${counted(statuses.length, 'coordinated Lease')}, each as it should be.`;
  return [{ check, severity: 'ok', what }];
}

/**
 * Returns the reason to report. In one observation most candidates look silent, so that a conflict counts as
 * StrategyConflict before they are pinged.
 */
function troubleOf({ reason, conflictingStrategies }: LeaseStatus): Reason {
  return reason === 'AwaitingAcks' && conflictingStrategies ? 'StrategyConflict' : reason;
}
