import { disturbsUntil } from '../../src/election/beliefs.ts';
import type { ObservedPod, Pod } from '../../src/election/holder-binding.ts';
import { allBeliefs, type LeaseMemory } from '../../src/election/lease-memory.ts';
import {
  count,
  ignored,
  instant,
  type Kind,
  listOf,
  mapOf,
  plain,
  type Sink,
  shape,
  token,
  transitions,
} from './normalize.ts';
import { LOCK_TICKS, TICK_MS, type World, wallTickOf } from './world.ts';

/**
 * The encoding of each field of a world. All instants before these limits are equal: states that differ only in these
 * count as one. So fewer states are explored, but never an impossible one.
 */
const recently = instant(4 * TICK_MS);
/** A holder may disturb for two durations from its last renewal, and for one from its loss: for at most six ticks. */
const believed = instant(7 * TICK_MS);
/** The end of a validity. All past ends are equal. */
const until = instant(0);
/** The instant from which a backoff counts. */
const attempted = instant(6 * TICK_MS);

/** An instant in ticks. */
function tickAt(memoryTicks: number): Kind<number | undefined> {
  const kind = instant(memoryTicks * TICK_MS);
  return (value, sink) => kind(value === undefined ? value : value * TICK_MS, sink);
}

const attempts = shape({ count: count(6), lastAt: attempted });

/** A time of a container on the clock of a node: in ticks from now. */
function wallTick(value: bigint | undefined, sink: Sink): void {
  instant(4 * TICK_MS)(value === undefined ? value : TICK_MS * wallTickOf(value), sink);
}

/** A time of a Lease. If there are Pods, it is compared with the times of their containers. */
function leaseTime(value: bigint | undefined, sink: Sink): void {
  token(value, sink);
  if (sink.hasPods) wallTick(value, sink);
}

const notes = shape({ strategy: plain, preferredHolder: plain });

const lease = shape({
  namespace: ignored,
  name: ignored,
  uid: token,
  resourceVersion: token,
  holderIdentity: plain,
  preferredHolder: plain,
  isPreferredHolderOurs: plain,
  strategy: plain,
  notes,
  isPreferredHolderNoted: plain,
  isStrategyNoted: plain,
  leaseDurationSeconds: plain,
  leaseTransitions: transitions,
  acquireTime: leaseTime,
  renewTime: leaseTime,
  isReleasedByParticipant: plain,
  isRenewedByParticipant: plain,
  isRenewedByCoordinator: plain,
  isUnrenewedGrant: plain,
  isAcquireTimeHolders: plain,
  isAcquireTimeRenewers: plain,
  isDurationHolders: plain,
  renewer: plain,
});

const grant = shape({
  holder: plain,
  renewTime: token,
  former: plain,
  hasFormerLapsed: plain,
  revises: plain,
  isPreemption: plain,
  hasPreferredFailed: plain,
  leaseDurationSeconds: plain,
  isReturn: plain,
  hasFormerEnded: plain,
});

const belief = shape({
  holder: plain,
  renewedAt: believed,
  durationMs: plain,
  isOwnDuration: plain,
  isParticipant: plain,
  lostAt: believed,
});

const memoryFields = shape({
  record: shape({
    leaseUid: token,
    holder: plain,
    renewTime: token,
    leaseDurationSeconds: plain,
    leaseTransitions: transitions,
    isNumberShared: plain,
    isGrant: plain,
    preferredHolder: plain,
    since: recently,
    durationMs: plain,
    renewedEveryMs: plain,
    // Only for plain electors.
    acquiredAfter: ignored,
    refusedBy: plain,
  }),
  wasHeld: plain,
  yieldedTo: plain,
  // Defined below.
  beliefs: ignored,
  usualDurationMs: plain,
  withdrawals: mapOf(recently),
  // Only the metrics use it.
  endedAt: ignored,
  grantOnItsWay: grant,
  supposedGrant: shape({ grant, belief }),
  // Defined below.
  lostGrants: ignored,
  unrenewedGrant: shape({
    holder: plain,
    renewTime: token,
    resourceVersion: token,
    leaseDurationSeconds: plain,
    takeUpBy: recently,
    isPreemption: plain,
    isReturn: plain,
  }),
  grantSeries: shape({ count: count(4), since: recently }),
  lapses: mapOf(attempts),
  lapsesOfLease: attempts,
  written: shape({ preferredHolder: plain, strategy: plain }),
  noted: shape({ holder: plain, preferredHolder: plain, since: recently, renewTime: token }),
  ignoredWrites: attempts,
  failedPreemptions: attempts,
  preemptedAt: attempted,
  rounds: attempts,
  conflict: plain,
  decidedAt: recently,
  askingSince: recently,
});

const beliefList = listOf(belief);
const supposedList = listOf(shape({ grant, belief }));

/**
 * The order of beliefs does not matter. Whether a holder may have disturbed matters for longer than its last renewal,
 * because a coordinator judges releases by it.
 */
const memory: Kind<LeaseMemory> = (value, sink) => {
  memoryFields(value, sink);
  const { record, lostGrants } = value;
  beliefList(value.beliefs.toSorted(byHolder), sink);
  supposedList(
    lostGrants.toSorted((a, b) => byHolder(a.grant, b.grant)),
    sink,
  );
  for (const belief of allBeliefs(value).toSorted(byHolder))
    plain(record && record.since < disturbsUntil(belief), sink);
};

function byHolder(a: { readonly holder: string }, b: { readonly holder: string }): number {
  return a.holder < b.holder ? -1 : 1;
}

const observation = shape({
  uid: plain,
  appearedAt: instant(TICK_MS),
  // All coordinators see each change of a candidate at once, so its renewTime has no more information.
  renewTime: ignored,
  unchangedSince: recently,
  ageAtFirstSightMs: (value: number, sink: Sink) => sink.put(Math.min(4, Math.floor(value / TICK_MS))),
  freshUntil: until,
  ping: shape({
    purpose: plain,
    pingTime: ignored,
    sentAt: recently,
    deliveredAt: recently,
    isSeen: plain,
    ackedAt: recently,
  }),
  unansweredPings: count(2),
  collection: shape({ pings: plain, firstAt: recently, lastAt: recently }),
  deletionFailedAt: recently,
});

const observed = shape({
  // The world contains the candidate.
  candidate: ignored,
  observation,
});

const known = shape({
  namespace: ignored,
  name: ignored,
  lease,
  memory,
  candidates: listOf(observed),
  hiddenUntil: until,
  dropsFields: plain,
  settings: ignored,
});

const change = shape({
  kind: plain,
  grant,
  leaseTransitions: transitions,
  strategy: plain,
  preferredHolder: plain,
  hasFailed: plain,
  isHolderAbsent: plain,
  removesPreferredHolder: plain,
  renewTime: token,
  leaseDurationSeconds: plain,
});

const action = shape({
  kind: plain,
  strategy: plain,
  grant,
  notes,
  uid: token,
  resourceVersion: token,
  change,
});

const instance = shape({ id: token, startedAt: wallTick, finishedAt: wallTick, reason: plain });

/** The only container of a Pod; all else about a Pod never changes. */
const pod: Kind<Pod> = ({ unreadySince, containers: [container] }, sink) => {
  wallTick(unreadySince, sink);
  instance(container?.running, sink);
  listOf(instance)(container?.ended, sink);
};

const observedPod: Kind<ObservedPod> = (value, sink) => {
  pod(value.pod, sink);
  const [container] = value.pod.containers;
  for (const { id } of container?.ended ?? []) {
    plain(value.seenRunning.has(id), sink);
    recently(value.endSeenAt.get(id), sink);
  }
};

const podState = shape({ running: instance, ended: listOf(instance), reported: pod });

const coordinator = shape({
  known,
  pods: listOf(observedPod),
  clockTicks: ignored,
  news: listOf(lease),
  answer: shape({ action, sentTick: tickAt(4), outcome: plain, lease, hasDropped: plain }),
  expected: shape({ baseVersion: token, untilTick: tickAt(0) }),
  listsByTick: tickAt(0),
  hasRelisted: plain,
});

const faults = shape({
  deletions: plain,
  emptyings: plain,
  shortenings: plain,
  thefts: plain,
  gaps: plain,
  losses: plain,
  failovers: plain,
  restarts: plain,
  crashes: plain,
  sleeps: plain,
  stops: plain,
  pauses: plain,
  lags: plain,
  slips: plain,
  falseEnds: plain,
});

const clientGo = shape({
  kind: plain,
  name: plain,
  life: plain,
  hasElector: ignored,
  beliefTicks: ignored,
  slowBy: plain,
  clockTicks: ignored,
  observed: shape({ record: lease, sinceTick: tickAt(4) }),
  renewing: shape({ resourceVersion: token, sinceTick: tickAt(4) }),
  term: shape({ renewedTick: tickAt(8), number: transitions }),
  releasing: shape({ renewedTick: tickAt(8) }),
  lostTick: tickAt(4),
});

const participant = shape({
  kind: plain,
  name: plain,
  life: plain,
  hasElector: ignored,
  beliefTicks: ignored,
  slowBy: plain,
  clockTicks: ignored,
  view: shape({
    sight: shape({ lease, since: recently, maxTransitions: transitions, isTokenUnused: plain }),
    term: shape({ fencingToken: transitions, renewedAt: instant(8 * TICK_MS), isOver: plain }),
    hasRival: plain,
    refusal: plain,
    releaseDeadline: until,
  }),
  answer: shape({ kind: plain, number: transitions, sentTick: tickAt(4), lease }),
});

const program: Kind<{ readonly kind: string }> = (value, sink) =>
  (value.kind === 'clientGo' ? clientGo : participant)(value, sink);

const candidate = shape({
  source: ignored,
  namespace: ignored,
  name: plain,
  uid: ignored,
  resourceVersion: ignored,
  creationTimestamp: ignored,
  isDeleting: plain,
  leaseName: ignored,
  binaryVersion: ignored,
  emulationVersion: ignored,
  preference: ignored,
  priority: ignored,
  // The coordinators' observations contain the age of its renewal, and whether a ping is open.
  renewTime: ignored,
  pingTime: ignored,
  pod: ignored,
});

/** All other values are relative to its tick and its serial number. */
const world = shape({
  tick: ignored,
  serial: ignored,
  lease,
  owners: shape({
    holderIdentity: plain,
    renewTime: plain,
    acquireTime: plain,
    leaseDurationSeconds: plain,
    preferredHolder: plain,
  }),
  grantor: plain,
  candidates: listOf(candidate),
  programs: listOf(program),
  coordinators: listOf(coordinator),
  pods: listOf(podState),
  active: plain,
  activeSince: tickAt(LOCK_TICKS),
  faults,
  terms: listOf(shape({ uid: token, number: transitions, who: plain })),
  unledTicks: plain,
  hasStarted: plain,
});

/** Encodes a world, so that all worlds with the same possible futures have the same encoding. */
export function writeWorld(value: World, sink: Sink): void {
  sink.begin(value.tick * TICK_MS, value.lease?.leaseTransitions ?? 0);
  sink.hasPods = value.pods.length > 0;
  world(value, sink);
  // The handling of a list depends on whether the coordinator has been active since it saw the last record.
  const activeAt = value.activeSince * TICK_MS;
  for (const { known } of value.coordinators)
    plain(known.memory.record && known.memory.record.since <= activeAt, sink);
}
