import { isGrantUnrenewed, type LeaseMemory } from './lease-memory.ts';
import type { Instant, Lease, LeaseCandidate, MicroTime } from './model.ts';

/** The part of a Pod that shows the end of a holder (rule 17). The node stamps all times, in whole seconds. */
export interface Pod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** The kubelet created the Pod from a file. Its status says nothing about a candidate with another uid. */
  readonly isMirror: boolean;
  readonly hasHostPid: boolean;
  readonly sharesProcessNamespace: boolean;
  /** The container of the leading program, according to this project's annotation on the Pod. */
  readonly leadingContainer: string | undefined;
  /** The container that kubectl uses by default, according to kubectl's annotation on the Pod. */
  readonly defaultContainer: string | undefined;
  /** All containers that keep running, including restartable init containers. */
  readonly containers: readonly PodContainer[];
}

export interface PodContainer {
  readonly name: string;
  /** The instance that is running now. */
  readonly running: ContainerInstance | undefined;
  /** The two latest instances that have ended. */
  readonly ended: readonly EndedInstance[];
}

/** One run of a container. A restart creates another instance with another id. */
export interface ContainerInstance {
  readonly id: string;
  readonly startedAt: MicroTime | undefined;
}

export interface EndedInstance extends ContainerInstance {
  readonly finishedAt: MicroTime | undefined;
  readonly reason: string;
}

/** A Pod, and the observations of its containers by this process. */
export interface ObservedPod {
  readonly pod: Pod;
  /** The ids of the instances that this process has seen running. */
  readonly seenRunning: ReadonlySet<string>;
  /** When this process first saw that an instance has ended, by id. */
  readonly endSeenAt: ReadonlyMap<string, Instant>;
}

/** Returns the Pod as seen at `at`, after `previous`. Keeps only instances that the status still contains. */
export function observePod(previous: ObservedPod | undefined, pod: Pod, at: Instant): ObservedPod {
  const known = previous?.pod.uid === pod.uid ? previous : undefined;
  const running = pod.containers.flatMap((container) => container.running?.id ?? []);
  const ended = pod.containers.flatMap((container) => container.ended.map(({ id }) => id));
  return {
    pod,
    seenRunning: new Set([...running, ...ended.filter((id) => known?.seenRunning.has(id))]),
    endSeenAt: new Map(ended.map((id) => [id, known?.endSeenAt.get(id) ?? at])),
  };
}

/** Why there is no proof that a holder has ended. Each reason has a sentence that explains it. */
export const MISSING_PROOFS = {
  NoPod: 'The LeaseCandidate of the holder names no Pod as its owner.',
  PodUnknown: 'The Pod of the holder is not known: it is gone, or the coordinator may not read it.',
  MirrorPod: 'The Pod is a mirror Pod: the kubelet runs it from a file.',
  SharedProcesses:
    'The Pod has hostPID or shareProcessNamespace: a process of a container may outlive the container.',
  ContainerUnknown: 'The Pod has several containers, and no annotation names the one that leads.',
  ContainerRuns: 'The container has not ended.',
  NeverSeenRunning: 'The coordinator has not seen the container that ended while it was running.',
  EndMadeUp: 'The status has no time or no true reason of the end: the kubelet did not see it.',
  HolderNeverRenewed: 'The holder has not renewed the Lease itself.',
  OtherInstance: 'Another run of the container may have written the last renewal.',
} as const satisfies Readonly<Record<string, string>>;

export type MissingProof = keyof typeof MISSING_PROOFS;

/**
 * `ends`: there is proof that the holder has ended, unless it renews before `at`. `unproven`: there is no proof, and the
 * Lease has to expire.
 */
export type HolderEnd =
  | { readonly kind: 'ends'; readonly at: Instant; readonly instance: EndedInstance }
  | { readonly kind: 'unproven'; readonly missing: MissingProof };

/** Everything that the proof depends on. */
export interface EndEvidence {
  readonly lease: Lease;
  readonly memory: LeaseMemory;
  /** The holder's candidate. */
  readonly candidate: LeaseCandidate | undefined;
  /** The Pod in the candidate's ownerReferences. */
  readonly pod: ObservedPod | undefined;
}

/**
 * Returns when there is proof that the holder of a Lease has ended (rule 17). The letters (a) to (e) are those of the
 * rule.
 */
export function judgeHolderEnd({ lease, memory, candidate, pod: observed }: EndEvidence): HolderEnd {
  // (a) Bound: the holder is a process in one container of one Pod.
  if (candidate?.pod === undefined) return unproven('NoPod');
  if (observed === undefined || observed.pod.uid !== candidate.pod.uid) return unproven('PodUnknown');
  const { pod } = observed;
  if (pod.isMirror) return unproven('MirrorPod');
  if (pod.hasHostPid || pod.sharesProcessNamespace) return unproven('SharedProcesses');
  const container = leadingContainerOf(candidate, lease, pod);
  if (container === undefined) return unproven('ContainerUnknown');

  // (b) Exited: the kubelet has seen the end of an instance that was running before.
  const { record } = memory;
  const [lastEnded] = container.ended;
  if (record === undefined || lastEnded === undefined) return unproven('ContainerRuns');
  const renewTime = holdersRenewTime(lease, memory);
  if (renewTime === undefined) return unproven('HolderNeverRenewed');
  const instance = container.ended.find((ended) => ranAt(ended, renewTime));
  if (instance === undefined) {
    return unproven(container.ended.every(isMadeUp) ? 'EndMadeUp' : 'OtherInstance');
  }
  if (isMadeUp(instance)) return unproven('EndMadeUp');
  if (!observed.seenRunning.has(instance.id)) return unproven('NeverSeenRunning');

  // (c) Same incarnation: no other instance can have renewed the Lease.
  const others = [container.running, ...container.ended].filter((other) => other !== undefined);
  const mayBeAnothers = others.some(
    ({ id, startedAt = 0n }) =>
      id !== instance.id && startedAt >= (instance.startedAt ?? 0n) && startedAt <= renewTime,
  );
  const acquireTime = lease.isAcquireTimeRenewers ? lease.acquireTime : undefined;
  if (mayBeAnothers || (acquireTime !== undefined && !ranAt(instance, acquireTime)))
    return unproven('OtherInstance');

  // (d) Silent: if the binding were wrong, the live holder would have renewed. (e) Settled: the holder's last
  // requests have arrived.
  const endSeenAt = observed.endSeenAt.get(instance.id) ?? Number.POSITIVE_INFINITY;
  const isSure = pod.containers.length === 1 || namedContainer(candidate, lease, pod) !== undefined;
  const at = Math.max(endSeenAt, record.since) + silenceMs(record.renewedEveryMs, isSure);
  return { kind: 'ends', at, instance };
}

function unproven(missing: MissingProof): HolderEnd {
  return { kind: 'unproven', missing };
}

/** Returns the container of the leading program: the annotation names it, or it is the only one (rule 17). */
export function leadingContainerOf(
  candidate: LeaseCandidate | undefined,
  lease: Lease,
  pod: Pod,
): PodContainer | undefined {
  const named = namedContainer(candidate, lease, pod) ?? pod.defaultContainer;
  if (named !== undefined) return pod.containers.find(({ name }) => name === named);
  return pod.containers.length === 1 ? pod.containers[0] : undefined;
}

function namedContainer(candidate: LeaseCandidate | undefined, lease: Lease, pod: Pod): string | undefined {
  return candidate?.leadingContainer ?? lease.leadingContainer ?? pod.leadingContainer;
}

/** Returns renewTime if the holder has written it: only then the clock of the holder's node stamped it. */
function holdersRenewTime(lease: Lease, memory: LeaseMemory): MicroTime | undefined {
  const { renewTime, acquireTime, isAcquireTimeRenewers } = lease;
  // A coordinator writes two equal times.
  const isGrant = renewTime === acquireTime && !isAcquireTimeRenewers;
  return isGrant || isGrantUnrenewed(memory, lease) ? undefined : renewTime;
}

/** Reasons that the kubelet or the container runtime write if they have not seen the end. */
const MADE_UP = new Set(['ContainerStatusUnknown', 'Unknown', 'RestartingAllContainers']);

function isMadeUp({ id, startedAt, finishedAt, reason }: EndedInstance): boolean {
  return id === '' || startedAt === undefined || finishedAt === undefined || MADE_UP.has(reason);
}

/** The status has whole seconds. In microseconds. */
const STATUS_PRECISION = 1_000_000n;

/** Whether the instance may have been running at `time`, by the clock of its node. */
function ranAt({ startedAt = 0n, finishedAt = 0n }: EndedInstance, time: MicroTime): boolean {
  return startedAt <= time && time <= finishedAt + STATUS_PRECISION;
}

/** The assumed time between two renewals if none was seen, in ms: client-go's default. */
const USUAL_RENEWAL_MS = 2000;
/** Maximum required silence if the container is known for sure, in ms. */
const MAX_SILENCE_MS = 5000;
/** Minimum required silence, in ms: until then, requests of the ended holder may arrive. */
const SETTLED_MS = 1000;

function silenceMs(renewedEveryMs: number | undefined, isSure: boolean): number {
  const silence = Math.max(SETTLED_MS, renewedEveryMs ?? USUAL_RENEWAL_MS);
  return isSure ? Math.min(silence, MAX_SILENCE_MS) : silence;
}
