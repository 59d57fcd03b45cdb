import {
  bindToContainer,
  type EndedInstance,
  type Holding,
  MISSING_BINDINGS,
  type Pod,
  type PodContainer,
  type PossiblePods,
} from './holder-binding.ts';
import { expiryOf, type HolderRecord, isGrantUnrenewed, type LeaseMemory } from './lease-memory.ts';
import type { Instant, Lease, MicroTime } from './model.ts';

/** Why there is no proof that a holder has ended. Each reason has a sentence that explains it. */
export const MISSING_PROOFS = {
  ...MISSING_BINDINGS,
  PodTooNew:
    'The coordinator has not seen the only Pod with that hostname before the holder acquired the Lease.',
  ContainerRuns: 'The container has not ended.',
  NeverSeenRunning: 'The coordinator has not seen the ended container while that container ran.',
  EndMadeUp: 'The status has no reliable time and reason of the end: the kubelet did not see the end.',
  HolderNeverRenewed: 'The holder has not renewed the Lease itself.',
  OtherInstance: 'Another run of the container may have written the last renewal.',
  RenewedAtEnd: 'The last renewal is from the second of the end: a later run may have written it.',
} as const satisfies Readonly<Record<string, string>>;

export type MissingProof = keyof typeof MISSING_PROOFS;

/**
 * `ends`: the holder's end is proven at `at`, unless the evidence changes before `at`, for example by a renewal.
 * `unproven`: there is no proof yet. Without a proof, the coordinator waits until the Lease expires.
 */
export type HolderEnd =
  | { readonly kind: 'ends'; readonly at: Instant; readonly instance: EndedInstance }
  | { readonly kind: 'unproven'; readonly missing: MissingProof };

export interface EndEvidence extends Holding {
  readonly memory: LeaseMemory;
  /** The Pod in the candidate's ownerReferences, or the Pods with the hostname in the identity of a plain elector. */
  readonly possible: PossiblePods;
}

/** Returns the time at which conditions (a) to (e) of rule 17 prove that the holder has ended, or why they do not. */
export function judgeHolderEnd(evidence: EndEvidence): HolderEnd {
  const { lease, memory, candidate, possible } = evidence;
  // (a) Bound: the holder is a process in one container of one Pod.
  const pods = possible.pods.map(({ pod }) => pod);
  const binding = bindToContainer(evidence, pods);
  if (binding.kind === 'unbound') return unproven(binding.missing);
  const { pod, container, isSure } = binding;
  const observed = possible.pods.find((each) => each.pod === pod);
  if (observed === undefined) return unproven('NoPod');
  const { record } = memory;
  const { acquiredAfter = Number.NEGATIVE_INFINITY } = record ?? {};
  // A plain elector may outlive its Pod, so it may belong to a deleted Pod with the same hostname. This process must have
  // seen `pod`, and the last deletion of a Pod with this hostname, before it saw the elector acquire the Lease.
  const isOlderThanTerm = Math.max(observed.seenAt, possible.sharedAt ?? observed.seenAt) < acquiredAfter;
  if (candidate === undefined && !isOlderThanTerm) return unproven('PodTooNew');

  // (b) Exited: the kubelet reports the end of an instance that this process has seen running.
  const [lastEnded] = container.ended;
  if (record === undefined || lastEnded === undefined) return unproven('ContainerRuns');
  const renewTime = holdersRenewTime(lease, memory);
  if (renewTime === undefined) return unproven('HolderNeverRenewed');
  const instance = container.ended.find((ended) => ranAt(ended, renewTime));
  if (instance === undefined)
    return unproven(container.ended.every(isMadeUp) ? 'EndMadeUp' : 'OtherInstance');
  if (isMadeUp(instance)) return unproven('EndMadeUp');
  if (!observed.seenRunning.has(instance.id)) return unproven('NeverSeenRunning');

  // (c) Same incarnation: no other instance can have written the last renewal.
  const instances = [container.running, ...container.ended].filter((one) => one !== undefined);
  const others = instances.filter(({ id }) => id !== instance.id);
  const { startedAt: from = 0n } = instance;
  const mayBeAnothers = others.some(({ startedAt = 0n }) => startedAt >= from && startedAt <= renewTime);
  const acquireTime = lease.isAcquireTimeRenewers ? lease.acquireTime : undefined;
  if (mayBeAnothers || (acquireTime !== undefined && !ranAt(instance, acquireTime)))
    return unproven('OtherInstance');
  const hasRunSince = others.some(({ startedAt = 0n }) => startedAt > renewTime);
  if (!hasRunSince && renewTime >= earliestRestart(pod, container, instance)) return unproven('RenewedAtEnd');

  // If this process saw the last renewal more than 1 s after it saw the end, a later run may have written the renewal:
  // the node's clock may have been set back.
  const endSeenAt = observed.endSeenAt.get(instance.id) ?? Number.POSITIVE_INFINITY;
  if (record.since > endSeenAt + SETTLED_MS) return unproven('OtherInstance');

  // Two more conditions need a wait. (d) Silent: if the holder still runs, for example in another container, it renews
  // during the wait. (e) Settled: the last requests of the ended holder arrive during the wait.
  const silentAt = Math.max(endSeenAt, record.since) + silenceMs(record, isSure);
  // If the container is uncertain and this process saw fewer than two renewals, wait until the Lease expires.
  const isEnough = isSure || record.renewedEveryMs !== undefined;
  return { kind: 'ends', at: isEnough ? silentAt : Math.max(silentAt, expiryOf(memory)), instance };
}

/**
 * Returns a time before which no later run of the container has started. The kubelet restarts a container only after
 * it has found the end of the last run. The kubelet found this end at `unreadySince` if the Pod was ready until the
 * end, has no other container, and shows no later run.
 */
function earliestRestart(
  { containers, unreadySince = 0n }: Pod,
  { running, ended: [latest] }: PodContainer,
  instance: EndedInstance,
): MicroTime {
  const { finishedAt = 0n } = instance;
  const isOfThisEnd = containers.length === 1 && running === undefined && latest === instance;
  return isOfThisEnd && unreadySince > finishedAt ? unreadySince : finishedAt;
}

function unproven(missing: MissingProof): HolderEnd {
  return { kind: 'unproven', missing };
}

/** Returns renewTime, a time by the clock of the holder's node; undefined if a coordinator may have written it. */
function holdersRenewTime(lease: Lease, memory: LeaseMemory): MicroTime | undefined {
  const { renewTime, acquireTime, isAcquireTimeRenewers, isRenewedByCoordinator } = lease;
  // If renewTime equals acquireTime, assume a grant, unless field ownership shows that the holder wrote both times.
  const isGrant = isRenewedByCoordinator || (renewTime === acquireTime && !isAcquireTimeRenewers);
  return isGrant || isGrantUnrenewed(memory, lease) ? undefined : renewTime;
}

/** Reasons in a container status that do not prove the end of a process (rule 17). */
const MADE_UP = new Set(['ContainerStatusUnknown', 'Unknown', 'RestartingAllContainers']);

function isMadeUp({ id, startedAt, finishedAt, reason }: EndedInstance): boolean {
  return id === '' || startedAt === undefined || finishedAt === undefined || MADE_UP.has(reason);
}

/** Precision of the times in a container status, in microseconds. The kubelet writes whole seconds. */
const STATUS_PRECISION = 1_000_000n;

/** Returns whether the instance ran at `time`, by its node's clock. Returns false if finishedAt is unknown. */
function ranAt({ startedAt = 0n, finishedAt = 0n }: EndedInstance, time: MicroTime): boolean {
  return startedAt <= time && time <= finishedAt + STATUS_PRECISION;
}

/** Assumed time between two renewals, in ms, if this process saw fewer than two: the default of Kubernetes' components. */
const USUAL_RENEWAL_MS = 2000;
/** Upper limit of the required time without a renewal, in ms, if the holder's container is certain. */
const MAX_SILENCE_MS = 5000;
/** Lower limit of the required time without a renewal, in ms: the holder's last requests arrive within this time. */
const SETTLED_MS = 1000;

function silenceMs({ renewedEveryMs = USUAL_RENEWAL_MS }: HolderRecord, isSure: boolean): number {
  const silence = Math.max(SETTLED_MS, renewedEveryMs);
  return isSure ? Math.min(silence, MAX_SILENCE_MS) : silence;
}
