import { type Instant, type Lease, type LeaseCandidate, type MicroTime, NODE_LEASES } from './model.ts';

/**
 * The fields of a Pod that show the end of a holder (rule 17). The kubelet sets the times in these fields, in whole
 * seconds.
 */
export interface Pod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** The hostname from the Pod's spec or name. On the host network, programs see the hostname of the node instead. */
  readonly hostname: string;
  readonly isOnHostNetwork: boolean;
  /** True for a mirror Pod: it only represents a static Pod, which has another `metadata.uid`. */
  readonly isMirror: boolean;
  readonly hasHostPid: boolean;
  readonly sharesProcessNamespace: boolean;
  /** The name of the leading program's container, according to this project's annotation on the Pod. */
  readonly leadingContainer: string | undefined;
  /** The name of the container that kubectl uses by default, according to kubectl's annotation on the Pod. */
  readonly defaultContainer: string | undefined;
  /** When the kubelet found that not all containers are ready; undefined if all are ready or the time is unknown. */
  readonly unreadySince: MicroTime | undefined;
  /** The containers, restartable init containers and ephemeral containers of the Pod. */
  readonly containers: readonly PodContainer[];
}

export interface PodContainer {
  readonly name: string;
  readonly running: ContainerInstance | undefined;
  /** The latest ended instances, newest first. At most two. */
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

/** A Pod, and what this process has seen of its containers. */
export interface ObservedPod {
  readonly pod: Pod;
  readonly seenAt: Instant;
  /** The ids of those instances in `pod` that this process has seen running. */
  readonly seenRunning: ReadonlySet<string>;
  /** When this process first saw the end of each ended instance in `pod`, by id. */
  readonly endSeenAt: ReadonlyMap<string, Instant>;
}

/** Returns what this process has seen of the Pod until `at`. Drops instances that the status no longer contains. */
export function observePod(previous: ObservedPod | undefined, pod: Pod, at: Instant): ObservedPod {
  const known = previous?.pod.uid === pod.uid ? previous : undefined;
  const running = pod.containers.flatMap((container) => container.running?.id ?? []);
  const ended = pod.containers.flatMap((container) => container.ended.map(({ id }) => id));
  return {
    pod,
    seenAt: known?.seenAt ?? at,
    seenRunning: new Set([...running, ...ended.filter((id) => known?.seenRunning.has(id))]),
    endSeenAt: new Map(ended.map((id) => [id, known?.endSeenAt.get(id) ?? at])),
  };
}

export interface PossiblePods {
  readonly pods: readonly ObservedPod[];
  /** When a Pod with the identity's hostname last disappeared while another such Pod remained; undefined if not known. */
  readonly sharedAt?: Instant | undefined;
}

/** Why bindToContainer() returns no container: condition (a) of rule 17 fails, or no annotation asks for evidence. */
export const MISSING_BINDINGS = {
  NoOwnerReference: 'The holder has no LeaseCandidate that names a Pod as its owner.',
  NoHostInIdentity: 'The identity of the holder is not <hostname>_<random part>, as client-go makes it.',
  NoAcquireTime: 'The elector of the holder has not written acquireTime.',
  NoPod: 'The Pod of the holder is not known: it is gone, or the coordinator may not read it.',
  SeveralPods: 'Several Pods have the hostname that the identity contains.',
  PodInOtherNamespace: 'The Pod is in another namespace than the Lease.',
  HostNetwork: 'The Pod has hostNetwork: other Pods have the same hostname.',
  MirrorPod: 'The Pod is a mirror Pod: the kubelet runs it from a file.',
  HostProcesses: 'The Pod has hostPID: a process of a container may outlive the container.',
  SharedProcesses: 'The Pod has shareProcessNamespace: a process of a container may outlive the container.',
  ContainerUnknown: 'The Pod has several containers, and no annotation names the one that leads.',
  NotAsked: 'Neither the Lease nor its Namespace has the annotation that asks for crash evidence.',
} as const satisfies Readonly<Record<string, string>>;

export type MissingBinding = keyof typeof MISSING_BINDINGS;

/** The input of {@link bindToContainer}, apart from Pods: facts about a Lease, its holder and its Namespace. */
export interface Holding {
  readonly lease: Lease;
  /** The candidate of the holder; undefined if the holder has none. */
  readonly candidate: LeaseCandidate | undefined;
  readonly hasCandidates: boolean;
  readonly isAskedByNamespace: boolean;
}

export type HolderBinding<P extends Pod> =
  | {
      readonly kind: 'bound';
      readonly pod: P;
      readonly container: PodContainer;
      /** True if `container` is the only container of the Pod, or if this project's annotation names it. */
      readonly isSure: boolean;
    }
  | { readonly kind: 'unbound'; readonly missing: MissingBinding };

/**
 * Returns the container in which the holder of a Lease runs; without one, the reason from {@link MISSING_BINDINGS}.
 * @param pods the Pod in the candidate's ownerReferences, or else all known Pods with the hostname in the identity
 */
export function bindToContainer<P extends Pod>(holding: Holding, pods: readonly P[]): HolderBinding<P> {
  const { lease, candidate } = holding;
  const unbound = (missing: MissingBinding) => ({ kind: 'unbound', missing }) as const;
  const pod = candidate?.pod ? pods.find(({ uid }) => uid === candidate.pod?.uid) : podOfPlain(holding, pods);
  if (pod === undefined) return unbound('NoPod');
  if (typeof pod === 'string') return unbound(pod);
  if (pod.isMirror) return unbound('MirrorPod');
  if (pod.hasHostPid) return unbound('HostProcesses');
  if (pod.sharesProcessNamespace) return unbound('SharedProcesses');
  const container = leadingContainerOf(candidate, lease, pod);
  if (container === undefined) return unbound('ContainerUnknown');
  if (candidate === undefined && !holding.isAskedByNamespace && !lease.asksForEvidence)
    return unbound('NotAsked');
  const isSure = pod.containers.length === 1 || namedContainer(candidate, lease, pod) !== undefined;
  return { kind: 'bound', pod, container, isSure };
}

/** True if rule 17 treats the holder of the Lease as a plain elector. False for the heartbeats of nodes. */
export function isPlainlyHeld({ lease, hasCandidates }: Pick<Holding, 'lease' | 'hasCandidates'>): boolean {
  const { strategy, preferredHolder, isRenewedByParticipant, namespace } = lease;
  const isCoordinated = hasCandidates || strategy !== undefined || preferredHolder !== undefined;
  return !isCoordinated && !isRenewedByParticipant && namespace !== NODE_LEASES;
}

/** Returns the Pod of a plain elector, or why it is not certain; undefined if no Pod has the identity's hostname. */
function podOfPlain<P extends Pod>(holding: Holding, pods: readonly P[]): P | MissingBinding | undefined {
  const { lease } = holding;
  if (!isPlainlyHeld(holding)) return 'NoOwnerReference';
  const host = hostInIdentity(lease.holderIdentity);
  if (host === undefined) return 'NoHostInIdentity';
  const [pod, other] = pods.filter((each) => hostnamesOf(each).includes(host));
  if (other !== undefined) return 'SeveralPods';
  if (pod === undefined) return undefined;
  if (pod.namespace !== lease.namespace) return 'PodInOtherNamespace';
  if (pod.isOnHostNetwork) return 'HostNetwork';
  return lease.acquireTime !== undefined && lease.isAcquireTimeRenewers ? pod : 'NoAcquireTime';
}

/** Returns the host in `<host>_<random part>`, client-go's format; else undefined. The host ends at the first `_`. */
export function hostInIdentity(identity: string | undefined): string | undefined {
  return /^(?<host>[^_]+)_./.exec(identity ?? '')?.groups?.['host'];
}

/** Returns the Pod's name and hostname. The identity of a program in the Pod may contain either of them. */
export function hostnamesOf({ name, hostname }: Pod): readonly string[] {
  return name === hostname ? [name] : [name, hostname];
}

/** Returns the container that an annotation names; without annotations, the Pod's only container; else undefined. */
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
