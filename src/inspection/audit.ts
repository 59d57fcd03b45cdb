import { leaseKey } from '../coordination/lease-key.ts';
import { FENCE, type LeaseCandidate, type Now } from '../election/model.ts';
import { humanDuration } from '../support/text.ts';
import type { AuditObservation, WatchedLease } from './audit-observation.ts';
import {
  type AuditedPod,
  bindHolder,
  type CrashEvidence,
  crashEvidenceFor,
  type HolderBinding,
  type HolderFacts,
  isCoordinatorLock,
  PodIndex,
  type Sureness,
} from './audit-pods.ts';
import { compareKeys } from './elections.ts';
import type { Finding } from './findings.ts';

/**
 * The kind of elector that a holder uses: the first of these that applies.
 * - `coordinator`: the Lease is the coordinators' lock in kube-system.
 * - `participant`: a participant of this project, as the field manager of `renewTime` shows.
 * - `coordinated`: the holder has a LeaseCandidate, or the Lease names a strategy.
 * - `plain`: any other elector.
 */
export type Elector = 'plain' | 'coordinated' | 'participant' | 'coordinator';

/**
 * The state of a Lease.
 * - `held`: the holder has renewed the Lease within the duration of the Lease.
 * - `expired`: the holder has not renewed the Lease within this duration.
 * - `free`: the Lease has no holder, or its fence has expired.
 * - `fenced`: the coordinator has written a fence in place of the holder (rule 14).
 * - `untimed`: the Lease has a holder, but `renewTime` or `leaseDurationSeconds` is missing: the expiry is unknown.
 */
type HoldingState = 'held' | 'expired' | 'free' | 'fenced' | 'untimed';

type Explanation = Required<Pick<Finding, 'severity' | 'meaning' | 'advice'>>;

/** The possible problems of a Lease, most severe first. */
export const auditFindings = {
  HolderSilent: {
    severity: 'error',
    meaning:
      'Nothing leads: the holder has crashed, hangs or cannot reach the API server, and no standby takes over.',
    advice: "Look at the log of the holder's Pod, and delete the Pod if it hangs. See whether standbys run.",
  },
  HolderGone: {
    severity: 'error',
    meaning:
      'The holder seems not to exist any more. A standby takes over when the Lease has expired, if there is one.',
    advice: 'If this lasts, see why no replica takes over. Releasing on a clean stop saves the wait.',
  },
  NoHolder: {
    severity: 'error',
    meaning:
      'Nothing leads: the last holder released the Lease or was fenced, and no elector has taken the Lease.',
    advice:
      'See whether the program runs. If it has candidates, kubectl cle explain LEASE -n NAMESPACE says more.',
  },
  NoStandby: {
    severity: 'warning',
    meaning:
      'After a crash, nothing leads until the program runs again and, with a new identity, the Lease has expired.',
    advice:
      'Run two replicas or more. With a single one, let it release the Lease on a clean stop, so that its successor need not wait.',
  },
  SlowFailover: {
    severity: 'warning',
    meaning: 'After a crash, nothing leads for more than half a minute.',
    advice:
      'Shorten the Lease: client-go has 15 s, a renew deadline of 10 s and a retry period of 2 s by default.',
  },
  RenewsLate: {
    severity: 'warning',
    meaning:
      'Renewals nearly came too late: after one more failure, the leader loses the Lease and restarts.',
    advice:
      'See whether the API server is slow or the Pod is short of CPU. Renew more often, or lengthen the Lease.',
  },
  ChangesOften: {
    severity: 'warning',
    meaning:
      'The leader changes more than once an hour on average. Each crash among these costs the whole gap.',
    advice:
      "See why its holders end: restarts of the Pods, their memory limits, 'leader election lost' in the logs.",
  },
  NoTimes: {
    severity: 'warning',
    meaning:
      'No elector can tell when the Lease expires. An elector of client-go always writes renewTime and leaseDurationSeconds.',
    advice: 'See what writes it. Delete it if nothing uses it: kubectl delete lease LEASE -n NAMESPACE.',
  },
  LeftOver: {
    severity: 'warning',
    meaning: 'Nothing uses the Lease any more, or nothing has led here for longer than an hour.',
    advice:
      'If its program is uninstalled: kubectl delete lease LEASE -n NAMESPACE. Otherwise see why it does not lead.',
  },
} as const satisfies Readonly<Record<string, Explanation>>;

export type AuditFindingName = keyof typeof auditFindings;

interface AuditFinding extends Explanation {
  readonly finding: AuditFindingName;
  readonly what: string;
}

export interface LeaseAudit {
  readonly namespace: string;
  readonly name: string;
  /** The holderIdentity of the Lease; empty if the Lease has no holder. */
  readonly holder: string;
  readonly state: HoldingState;
  /** The Pod of the holder; undefined if the audit found none. */
  readonly pod:
    | (Pick<AuditedPod, 'namespace' | 'name' | 'uid' | 'node'> & {
        /** The container of the leading program; undefined if that container is not known. */
        readonly container: string | undefined;
      })
    | undefined;
  readonly foundBy: Sureness;
  readonly elector: Elector | undefined;
  readonly durationSeconds: number | undefined;
  readonly renewedSecondsAgo: number | undefined;
  /** The mean interval between renewals; undefined if not known. */
  readonly renewsEverySeconds: number | undefined;
  /** The longest expected time without a leader if the holder crashes; undefined if the Lease is not held. */
  readonly crashCostsSeconds: number | undefined;
  /**
   * The number of valid candidates other than the holder. If the Lease has no candidates, the number of other replicas
   * of the holder's workload; undefined if the workload is not known.
   */
  readonly standbys: number | undefined;
  readonly leaseTransitions: number;
  readonly crashEvidence: CrashEvidence;
  readonly findings: readonly AuditFinding[];
}

export type Audit = ReturnType<typeof auditOf>;

/** The assumed interval between renewals, in seconds, if it is not known: client-go's default retry period. */
const DEFAULT_RETRY_SECONDS = 2;
const SLOW_FAILOVER_SECONDS = 30;
/** Share of the Lease's duration after which a renewal is late. client-go's default renew deadline is 10 s of 15 s. */
const LATE_SHARE = 2 / 3;
/** Time without a renewal, in seconds, after which the finding `LeftOver` is possible. */
const LEFT_OVER_SECONDS = 3600;
/** How long a candidate is valid after its last renewal, in microseconds: the coordinator's default (rule 1). */
const CANDIDATE_VALIDITY = 30n * 60_000_000n;
/** Minimum number of leader changes for the finding `ChangesOften`. */
const MIN_CHANGES = 10;
const HOUR_SECONDS = 3600;

/** Returns the audit of all Leases, those with the most severe findings first. */
export function auditOf(seen: AuditObservation) {
  const pods = seen.pods && new PodIndex(seen.pods);
  const candidates = Map.groupBy(seen.candidates, ({ namespace, leaseName }) =>
    leaseKey(namespace, leaseName),
  );
  const leases = seen.leases.map((watched) => {
    const { namespace, name } = watched.lease;
    return auditLease(watched, candidates.get(leaseKey(namespace, name)) ?? [], pods, seen.now);
  });
  const intervals = leases.flatMap(({ renewsEverySeconds }) => renewsEverySeconds ?? []);
  return {
    watchedSeconds: seen.watchedMs / 1000,
    leases: leases.toSorted(compareHurt),
    heartbeats: seen.heartbeats,
    renewalsPerSecond: intervals.reduce((sum, seconds) => sum + 1 / seconds, 0),
    unread: seen.unread,
  };
}

interface Facts {
  readonly watched: WatchedLease;
  readonly binding: HolderBinding;
  readonly record: Omit<LeaseAudit, 'findings'>;
  readonly hasCandidates: boolean;
  readonly now: Now;
}

function auditLease(
  watched: WatchedLease,
  candidates: readonly LeaseCandidate[],
  pods: PodIndex | undefined,
  now: Now,
): LeaseAudit {
  const { lease } = watched;
  const { namespace, name, holderIdentity: holder = '', leaseDurationSeconds } = lease;
  const holding = { lease, candidate: candidates.find((candidate) => candidate.name === holder) };
  const hasCandidates = candidates.length > 0;
  const state = stateOf(watched, now);
  const isHolding = state !== 'free' && state !== 'fenced';
  const binding = bindHolder(holding, isHolding ? pods : undefined);
  const { pod, container, sureness } = binding;
  const elector = isHolding ? electorOf(holding) : undefined;
  const renewsEverySeconds = intervalOf(watched);
  const record: Facts['record'] = {
    ...{ namespace, name, holder, state },
    pod: pod && { namespace: pod.namespace, name: pod.name, uid: pod.uid, node: pod.node, container },
    foundBy: isHolding ? sureness : 'none',
    elector,
    durationSeconds: leaseDurationSeconds,
    renewedSecondsAgo: sinceRenewal(watched, now),
    renewsEverySeconds,
    crashCostsSeconds:
      state === 'held' ? crashCosts(elector, leaseDurationSeconds, renewsEverySeconds) : undefined,
    standbys: hasCandidates ? standbysAmong(candidates, holder, now) : pod && pods?.replicasBeside(pod),
    leaseTransitions: lease.leaseTransitions,
    crashEvidence: isHolding ? crashEvidenceFor(holding, hasCandidates, pods) : 'NoHolder',
  };
  return { ...record, findings: findingsOn({ watched, binding, record, hasCandidates, now }) };
}

function stateOf(watched: WatchedLease, now: Now): HoldingState {
  const { holderIdentity, leaseDurationSeconds } = watched.lease;
  const renewedSecondsAgo = sinceRenewal(watched, now);
  if (!holderIdentity) return 'free';
  if (renewedSecondsAgo === undefined || leaseDurationSeconds === undefined) return 'untimed';
  if (renewedSecondsAgo > leaseDurationSeconds) return holderIdentity === FENCE ? 'free' : 'expired';
  return holderIdentity === FENCE ? 'fenced' : 'held';
}

/** Returns the seconds since the last renewal: observed, or else estimated from renewTime; undefined if not known. */
function sinceRenewal({ lease, renewals }: WatchedLease, now: Now): number | undefined {
  if (renewals.count > 0) return (now.monotonic - renewals.lastAt) / 1000;
  if (lease.renewTime === undefined) return undefined;
  return Math.max(Number(now.wall - lease.renewTime) / 1_000_000, (now.monotonic - renewals.lastAt) / 1000);
}

/**
 * Returns the mean interval between renewals, in seconds; undefined if not known. If only one renewal was counted,
 * returns the difference between the last two renewTimes.
 */
function intervalOf({ renewals }: WatchedLease): number | undefined {
  const { count, firstAt, lastAt, stampedMs } = renewals;
  const seconds = (count > 1 ? (lastAt - firstAt) / (count - 1) : stampedMs) / 1000;
  return seconds > 0 ? seconds : undefined;
}

function electorOf({ lease, candidate }: HolderFacts): Elector {
  if (isCoordinatorLock(lease)) return 'coordinator';
  if (lease.isRenewedByParticipant) return 'participant';
  return candidate || lease.strategy ? 'coordinated' : 'plain';
}

/**
 * Returns the seconds without a leader if the holder crashes just after a renewal: until the Lease expires, and then
 * until a standby polls the Lease. Assumes that a standby polls as often as the holder renews. Participants watch the
 * Lease and do not poll.
 */
function crashCosts(elector?: Elector, durationSeconds = 0, everySeconds = DEFAULT_RETRY_SECONDS): number {
  return durationSeconds + (elector === 'participant' ? 0 : everySeconds);
}

/**
 * Returns the number of valid candidates other than the holder. Counts each name once, because a program may have a
 * candidate with the same name in both API groups.
 */
function standbysAmong(candidates: readonly LeaseCandidate[], holder: string, now: Now): number {
  const since = now.wall - CANDIDATE_VALIDITY;
  const valid = candidates.filter(
    ({ name, isDeleting, renewTime = 0n }) => name !== holder && !isDeleting && renewTime >= since,
  );
  return new Set(valid.map((candidate) => candidate.name)).size;
}

function findingsOn(facts: Facts): readonly AuditFinding[] {
  const found = facts.record.state === 'held' ? findingsOnHeld(facts) : [findingOnUnheld(facts)];
  return found
    .filter((each) => each !== undefined)
    .map(([finding, what]) => ({ finding, ...auditFindings[finding], what }));
}

type Found = readonly [finding: AuditFindingName, what: string] | undefined;

function findingOnUnheld({ watched, binding, record, hasCandidates, now }: Facts): Found {
  const { state, holder, durationSeconds, renewedSecondsAgo } = record;
  if (state === 'fenced') return undefined;
  if (state === 'untimed') {
    const missing = watched.lease.renewTime === undefined ? 'renewTime' : 'leaseDurationSeconds';
    return ['NoTimes', `It has the holder ${holder}, but no ${missing}.`];
  }
  const { createdAt = now.wall } = watched;
  const idleSeconds = renewedSecondsAgo ?? Number(now.wall - createdAt) / 1_000_000;
  const idle = humanDuration(idleSeconds);
  const isUnused = idleSeconds > LEFT_OVER_SECONDS && !hasCandidates;
  if (state === 'free') {
    const what = `It has no holder, and was last written ${idle} ago.`;
    return [isUnused ? 'LeftOver' : 'NoHolder', what];
  }
  const silent = `${holder} has not renewed it for ${idle}; it lasts ${durationSeconds}s.`;
  const { gone, pod, sureness } = binding;
  if (gone === undefined && pod) return ['HolderSilent', `${silent} Its Pod ${pod.name} is there.`];
  const where = gone ? ` Its Pod ${gone}.` : sureness === 'none' ? ' No Pod was found for it.' : '';
  if (where === '') return ['HolderSilent', silent];
  return [isUnused ? 'LeftOver' : 'HolderGone', `${silent}${where}`];
}

/** Returns the findings, most severe first. */
function findingsOnHeld({ watched, binding, record, hasCandidates, now }: Facts): readonly Found[] {
  const { holder, durationSeconds = 0, renewedSecondsAgo = 0, crashCostsSeconds = 0, pod } = record;
  const { count, lastAt, longestMs } = watched.renewals;
  const silentMs = now.monotonic - lastAt;
  const found: Found[] = [];
  // A holder that still renews is alive. Its Pod may only seem to be gone, for example because clocks differ.
  const isRenewing = count > 0 && silentMs < 2000 * (record.renewsEverySeconds ?? DEFAULT_RETRY_SECONDS);
  if (binding.gone !== undefined && !isRenewing) {
    const left = shortSeconds(Math.max(0, durationSeconds - renewedSecondsAgo));
    found.push(['HolderGone', `Its Pod ${binding.gone}; the Lease of ${holder} ends in ${left}.`]);
  }
  if (record.standbys === 0) {
    const only = hasCandidates ? 'candidate' : `Pod of ${binding.pod?.workload}`;
    found.push(['NoStandby', `${pod?.name ?? holder} is the only ${only}.`]);
  }
  if (crashCostsSeconds > SLOW_FAILOVER_SECONDS)
    found.push(['SlowFailover', `A crash of its holder costs about ${shortSeconds(crashCostsSeconds)}.`]);
  const longestSeconds = Math.max(longestMs, silentMs) / 1000;
  if (longestSeconds > durationSeconds * LATE_SHARE) {
    const silent = shortSeconds(longestSeconds);
    found.push(['RenewsLate', `It was not renewed for ${silent}; it lasts ${durationSeconds}s.`]);
  }
  const ageSeconds = watched.createdAt === undefined ? 0 : Number(now.wall - watched.createdAt) / 1_000_000;
  const changes = record.leaseTransitions;
  if (changes >= MIN_CHANGES && changes > ageSeconds / HOUR_SECONDS)
    found.push(['ChangesOften', `Its holder has changed ${changes} times in ${humanDuration(ageSeconds)}.`]);
  return found;
}

export function shortSeconds(seconds: number): string {
  return `${Number(seconds.toFixed(seconds < 10 ? 1 : 0))}s`;
}

const ORDER = Object.keys(auditFindings);

function rankOf(finding: AuditFindingName | undefined): number {
  return finding === undefined ? ORDER.length : ORDER.indexOf(finding);
}

/** Orders Leases by their most severe finding, by crashCostsSeconds (greatest first), by namespace and by name. */
function compareHurt(a: LeaseAudit, b: LeaseAudit): number {
  return (
    rankOf(a.findings[0]?.finding) - rankOf(b.findings[0]?.finding) ||
    (b.crashCostsSeconds ?? 0) - (a.crashCostsSeconds ?? 0) ||
    compareKeys(leaseKey(a.namespace, a.name), leaseKey(b.namespace, b.name))
  );
}
