import { REASONS, type Reason } from '../election/decision.ts';
import { coordinatorLease, type MicroTime } from '../election/model.ts';
import { type ObservedElections, type ServerAhead, skewOf, TOLERATED_SKEW_MS } from './elections.ts';
import { describeRight, type Evidence, type Right } from './evidence.ts';
import { checkCandidates, checkLock, checkPriorities, type Finding, runbookPath } from './findings.ts';
import { type LeaseStatus, statusOf } from './lease-status.ts';
import { adviceOnTrouble, counted, listed } from './wording.ts';

const FLAGS =
  'Start every kube-apiserver with --feature-gates=CoordinatedLeaderElection=true and ' +
  '--runtime-config=coordination.k8s.io/v1beta1=true (1.32: v1alpha2, 1.31: v1alpha1).';

const BOTH =
  'Candidates of both groups count: list the first by kubectl get leasecandidates, the second by kubectl get lcand.';

const CLOSED =
  'If the provider closes kube-system, set config.lockNamespace (--lock-namespace) to a namespace that is open.';

const OWN_CREDENTIALS =
  "Run doctor with the coordinator's own credentials, and with --namespace if it is limited to some; if the finding stays";

export function diagnose(evidence: Evidence): readonly Finding[] {
  const { elections } = evidence;
  return [
    checkApi(evidence),
    checkGate(evidence),
    ...checkLock(evidence),
    ...checkRights(evidence),
    ...checkClocks(evidence),
    ...(elections && elections.candidateApis.length > 0
      ? [...checkCandidates(elections), ...checkLeases(elections)]
      : []),
    ...(elections ? checkPriorities(elections) : []),
  ];
}

function checkApi({ elections, serverVersion, limitedTo }: Evidence): Finding {
  const check = 'APIServed';
  if (elections === undefined) {
    return {
      check,
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
      check,
      severity: 'error',
      what: `The server (${serverVersion || 'of unknown version'}) serves no LeaseCandidates.`,
      meaning: 'No component can be a candidate, so nothing is coordinated.',
      advice: `Install the chart or run kubectl apply -f deploy/crd.yaml, to define the LeaseCandidates of this project. To use those of the API server instead: ${FLAGS}`,
      runbook: runbookPath('LeaseCoordinatorWatchStale'),
    };
  }
  if (elections.forbiddenApis.length > 0) {
    return {
      check,
      severity: 'warning',
      what: `These credentials may not list leasecandidates of ${elections.forbiddenApis.join(' and ')}.`,
      meaning: 'Their candidates are missing in the following findings.',
      advice: "Use credentials that may list them, such as those of the chart's ClusterRole reader.",
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
      what: `A Lease could not be created in a dry run: ${trial.message}`,
      meaning: 'It is unknown whether Leases keep their strategy.',
      advice:
        'Use credentials that may create leases, and with --namespace a namespace that exists; the dry run stores ' +
        'nothing.',
    };
  }
  if (trial.keepsStrategy)
    return { check, severity: 'ok', what: 'Leases keep strategy and preferredHolder.' };
  return {
    check,
    severity: 'ok',
    what: 'Leases do not keep strategy and preferredHolder, because the feature gate CoordinatedLeaderElection is off. The coordinator keeps them in annotations, and uses a fence to make a leader yield that does not know the annotations.',
  };
}

/** What a coordinator lacks without additional permissions, and the chart's value for them. */
const PURPOSES: Readonly<
  Record<NonNullable<Right['purpose']>, { readonly lacks: string; readonly value: string }>
> = {
  labels: {
    lacks: 'the label of a leader would not follow it to another Pod',
    value: 'config.leaderLabel',
  },
  crashEvidence: {
    lacks: 'the Lease of a leader that crashes would be free only when it expires',
    value: 'crashEvidence.enabled',
  },
};

function checkRights({ missingRights, user, limitedTo, lockNamespace }: Evidence): readonly Finding[] {
  const check = 'Permissions';
  const who = user || 'this user';
  const findings: Finding[] = [];
  const missing = missingRights.filter(({ purpose }) => purpose === undefined);
  if (missing.length === 0) {
    const limit = limitedTo.rights === undefined ? '' : ` that is limited to namespace ${limitedTo.rights}`;
    findings.push({ check, severity: 'ok', what: `${who} may do all that a coordinator${limit} does.` });
  } else {
    const isClosed =
      lockNamespace === coordinatorLease.namespace &&
      missing.some(({ namespace }) => namespace === lockNamespace);
    const isBlind = missing.some(
      ({ verb, name }) => name === undefined && (verb === 'list' || verb === 'watch'),
    );
    findings.push({
      check,
      severity: 'warning',
      what: `${who} may not: ${missing.map(describeRight).join(', ')}.`,
      meaning: 'A coordinator with these credentials cannot work; other credentials are not examined.',
      advice: `${OWN_CREDENTIALS}, kubectl apply -f deploy/rbac.yaml.${isClosed ? ` ${CLOSED}` : ''}`,
      runbook: runbookPath(isBlind ? 'LeaseCoordinatorWatchStale' : 'LeaseCoordinatorWriteErrors'),
    });
  }
  for (const [purpose, { lacks, value }] of Object.entries(PURPOSES)) {
    const others = missingRights.filter((right) => right.purpose === purpose);
    if (others.length === 0) continue;
    findings.push({
      check,
      severity: 'warning',
      what: `${who} may not: ${others.map(describeRight).join(', ')}.`,
      meaning: `A coordinator with these credentials elects leaders, but ${lacks}.`,
      advice: `${OWN_CREDENTIALS}, have the chart grant it: helm upgrade with --set ${value}=true.`,
    });
  }
  return findings;
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
      meaning: "This command uses the server's time; elections do not compare clocks.",
      advice: 'Set both clocks by NTP.',
    });
  }
  if (elections !== undefined) findings.push(...checkRenewTimes(elections, serverAheadMs));
  if (findings.length > 0) return findings;
  return [{ check, severity: 'ok', what: 'No clock is off by more than 2 s.' }];
}

/** Compares renewTimes with the later of two clocks, the server's and ours, because either may be slow. */
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
      what: `${listed(names)} renewed at a time in the future.`,
      meaning:
        'The clocks of their machines are ahead; the built-in coordinator then takes too long to replace them.',
      advice: 'Set the clocks of their machines by NTP.',
    },
  ];
}

/** Finds Leases whose election is blocked. */
function checkLeases({ elections, now }: ObservedElections): readonly Finding[] {
  const check = 'Leases';
  const statuses = elections.map((election) => statusOf(election, now));
  const findings = [...Map.groupBy(statuses, troubleOf)].flatMap(([reason, those]): Finding[] => {
    const advice = adviceOnTrouble(reason);
    if (advice === undefined) return [];
    const names = those.map(({ namespace, name }) => `${namespace}/${name}`);
    const isSupposed = reason === 'StrategyConflict' && those.some((one) => one.reason !== reason);
    // A Lease without candidates is left over from an uninstalled component.
    const isLed = reason === 'NoCandidates' || those.every(({ isHeld }) => isHeld);
    // A fence is only a warning, because it expires by itself.
    const severity = isLed || reason === 'LeaseFenced' ? 'warning' : 'error';
    const what = `${listed(names)}: ${reason}${isSupposed ? ', if all silent candidates are alive' : ''}.`;
    const finding = { check, severity, what, meaning: REASONS[reason], advice } as const;
    if (reason === 'StrategyConflict') return [{ ...finding, runbook: runbookPath('LeaseStrategyConflict') }];
    return [isLed ? finding : { ...finding, runbook: runbookPath('LeaseWithoutLeader') }];
  });
  if (findings.length > 0) return findings;
  const what =
    statuses.length === 0
      ? 'There are no coordinated Leases.'
      : `${counted(statuses.length, 'coordinated Lease')}, each as it should be.`;
  return [{ check, severity: 'ok', what }];
}

/** Returns the reason to report. Reports a conflict even before the candidates have answered pings. */
function troubleOf({ reason, conflictingStrategies }: LeaseStatus): Reason {
  return reason === 'AwaitingAcks' && conflictingStrategies ? 'StrategyConflict' : reason;
}
