import { IDENTITY_PREFIX } from '../controller/lock/lock-record.ts';
import { EVIDENCE_ANNOTATION } from '../coordination/lease.ts';
import { decodePod, shortHostname } from '../coordination/pod.ts';
import { specOf, textField, timeField } from '../coordination/raw-object.ts';
import {
  bindToContainer,
  type Holding,
  hostInIdentity,
  hostnamesOf,
  leadingContainerOf,
  type MissingBinding,
  type Pod,
} from '../election/holder-binding.ts';
import { coordinatorLease, type Lease, type MicroTime } from '../election/model.ts';
import type { KubernetesObject } from '../kubernetes/objects.ts';
import { isJsonObject } from '../support/json.ts';
import { TOLERATED_SKEW_MS } from './elections.ts';

/** Maximum number of words of a host that `podNamesIn` uses, to limit the look-ups. Hyphens separate the words. */
const MAX_WORDS = 32;

export interface AuditedPod extends Pod {
  readonly createdAt: MicroTime | undefined;
  /** The name of the Pod's node; empty if the Pod is not scheduled. */
  readonly node: string;
  /** Whether the Pod's phase says that all containers have ended for good, for example after an eviction. */
  readonly hasEnded: boolean;
  /** The workload that the Pod is a replica of, such as `Deployment web`; undefined if there is none. */
  readonly workload: string | undefined;
}

/** Decodes a Pod. Never throws: treats an invalid field as missing. */
export function decodeAuditedPod(raw: KubernetesObject): AuditedPod {
  const { metadata } = raw;
  const spec = specOf(raw);
  const status = isJsonObject(raw['status']) ? raw['status'] : {};
  return {
    ...decodePod(raw),
    createdAt: timeField(metadata, 'creationTimestamp'),
    node: textField(spec, 'nodeName') ?? '',
    hasEnded: ['Succeeded', 'Failed'].includes(textField(status, 'phase') ?? ''),
    workload: workloadOf(metadata['ownerReferences']),
  };
}

export class PodIndex {
  readonly #byUid: ReadonlyMap<string, AuditedPod>;
  /** The keys are hostnames and names of Pods. */
  readonly #byHostname: ReadonlyMap<string, readonly { readonly pod: AuditedPod }[]>;
  readonly #byNode: ReadonlyMap<string, readonly AuditedPod[]>;
  readonly #byWorkload: ReadonlyMap<string, readonly AuditedPod[]>;

  constructor(pods: readonly AuditedPod[]) {
    const present = pods.filter(({ hasEnded }) => !hasEnded);
    const hosts = pods.flatMap((pod) => hostnamesOf(pod).map((hostname) => ({ hostname, pod })));
    const onHostNetwork = present.filter(({ isOnHostNetwork }) => isOnHostNetwork);
    this.#byUid = new Map(pods.map((pod) => [pod.uid, pod]));
    this.#byHostname = Map.groupBy(hosts, ({ hostname }) => hostname);
    this.#byNode = Map.groupBy(onHostNetwork, ({ node }) => firstLabel(node));
    this.#byWorkload = Map.groupBy(present, workloadKey);
  }

  withUid(uid: string): AuditedPod | undefined {
    return this.#byUid.get(uid);
  }

  /**
   * Returns the first Pod with this hostname in the namespace. Without such a Pod, returns the only Pod with this
   * hostname in other namespaces; undefined if there is none or more than one.
   */
  withHostname(hostname: string, namespace: string): AuditedPod | undefined {
    const pods = this.sharing(hostname).filter((pod) => pod.hostname === hostname);
    return pods.find((pod) => pod.namespace === namespace) ?? (pods.length === 1 ? pods[0] : undefined);
  }

  /** Returns the Pods that have this hostname or name, in all namespaces. */
  sharing(hostname: string): readonly AuditedPod[] {
    return (this.#byHostname.get(hostname) ?? []).map(({ pod }) => pod);
  }

  /** Returns the Pods of the namespace that use the host network of the node with this hostname. */
  onHost(hostname: string, namespace: string): readonly AuditedPod[] {
    const pods = this.#byNode.get(firstLabel(hostname)) ?? [];
    return pods.filter((pod) => pod.namespace === namespace && isSameHost(pod.node, hostname));
  }

  /** Returns how many other replicas of the Pod's workload have not ended; undefined if the Pod has no `workload`. */
  replicasBeside(pod: AuditedPod): number | undefined {
    if (pod.workload === undefined) return undefined;
    const replicas = this.#byWorkload.get(workloadKey(pod)) ?? [];
    return replicas.filter(({ uid }) => uid !== pod.uid).length;
  }
}

/**
 * How the audit identified the Pod of a holder, most certain first. With `owner`, the Pod may be gone. With `uid`, the
 * Pod may be gone only if a participant renews the Lease, and a Pod with another uid has the same name now.
 * - `owner`: the ownerReference of the holder's LeaseCandidate contains the uid of the Pod.
 * - `uid`: the holder's identity contains the Pod's name and the first 8 characters of the Pod's uid.
 * - `name`: the identity contains the Pod's hostname. A Pod created more than 2 s after acquireTime does not match.
 * - `node`: the identity contains the hostname of a node. On this node, Pods of the Lease's namespace use the host
 *   network. `pod` is set only if exactly one of them matches the Lease (see `bindByNode`).
 * - `none`: the audit found no Pod.
 * - `unknown`: the audit could not list Pods.
 */
export type Sureness = 'owner' | 'uid' | 'name' | 'node' | 'none' | 'unknown';

export interface HolderBinding {
  readonly sureness: Sureness;
  readonly pod: AuditedPod | undefined;
  /** The container of the leading program; undefined if that container is not known. */
  readonly container?: string | undefined;
  /** Completes the sentence `Its Pod ...` if the Pod is known to be gone or to have ended; otherwise undefined. */
  readonly gone?: string | undefined;
}

export type HolderFacts = Pick<Holding, 'lease' | 'candidate'>;

/** Finds the Pod and the container of the holder. Without `pods`, the sureness is `unknown`. */
export function bindHolder(holding: HolderFacts, pods: PodIndex | undefined): HolderBinding {
  if (pods === undefined) return { sureness: 'unknown', pod: undefined };
  const binding = bindByUid(holding, pods) ?? bindByName(holding, pods) ?? bindByNode(holding, pods);
  const { pod } = binding;
  if (!pod) return binding;
  const container = leadingContainerOf(holding.candidate, holding.lease, pod)?.name;
  return { ...binding, container, gone: pod.hasEnded ? `${pod.name} has ended` : undefined };
}

/** The default identity of a participant that knows its Pod: `<name>-<first 8 characters of the uid>` (rule 15). */
const PARTICIPANT_IDENTITY = /^(?<name>.+)-(?<uid>[0-9a-f]{8})$/;

function bindByUid({ lease, candidate }: HolderFacts, pods: PodIndex): HolderBinding | undefined {
  if (candidate?.pod) {
    const { name, uid } = candidate.pod;
    const pod = pods.withUid(uid);
    return { sureness: 'owner', pod, gone: pod ? undefined : `${name} is gone` };
  }
  const { name, uid } = PARTICIPANT_IDENTITY.exec(lease.holderIdentity ?? '')?.groups ?? {};
  if (name === undefined || uid === undefined) return undefined;
  const pod = pods.withHostname(shortHostname(name), lease.namespace);
  if (pod?.name === name && pod.uid.startsWith(uid)) return { sureness: 'uid', pod };
  if (!lease.isRenewedByParticipant || pod?.name !== name) return undefined;
  return replaced('uid', name);
}

function bindByName({ lease }: HolderFacts, pods: PodIndex): HolderBinding | undefined {
  const { holderIdentity = '', acquireTime, namespace } = lease;
  const pod = podNamesIn(holderIdentity)
    .map((name) => pods.withHostname(shortHostname(name), namespace))
    .find((found) => found !== undefined);
  if (!pod) return undefined;
  const { createdAt = 0n } = pod;
  const isYounger = acquireTime !== undefined && createdAt > acquireTime + BigInt(TOLERATED_SKEW_MS * 1000);
  return isYounger ? replaced('none', pod.name) : { sureness: 'name', pod };
}

/**
 * Finds the Pod of a holder on the host network. The identity of such a holder contains the hostname of the node, not
 * of the Pod. Therefore, the function compares the Lease's name with the names of the Pods on the node's host network,
 * and of their containers. For the lock of the coordinators, it looks for `kube-apiserver` instead.
 */
function bindByNode({ lease }: HolderFacts, pods: PodIndex): HolderBinding {
  const onHost = pods.onHost(hostIn(lease.holderIdentity ?? ''), lease.namespace);
  const program = isCoordinatorLock(lease) ? 'kube-apiserver' : lease.name;
  const [pod, ...others] = onHost.filter(({ name, containers }) =>
    [name, ...containers.map((container) => container.name)].some(
      (each) => beginsWith(each, program) || beginsWith(program, each),
    ),
  );
  if (pod && others.length === 0) return { sureness: 'node', pod };
  return { sureness: onHost.length > 0 ? 'node' : 'none', pod: undefined };
}

/** Whether a Lease is the lock in kube-system, which the controller built into kube-apiserver also uses. */
export function isCoordinatorLock({ namespace, name }: Lease): boolean {
  return namespace === coordinatorLease.namespace && name === coordinatorLease.name;
}

function beginsWith(name: string, part: string): boolean {
  return name === part || name.startsWith(`${part}-`);
}

function replaced(sureness: Sureness, name: string): HolderBinding {
  return { sureness, pod: undefined, gone: `${name} is gone: a later Pod has its name` };
}

/** Removes the prefix of this project's coordinators from an identity. Returns the rest up to the first `_`. */
function hostIn(identity: string): string {
  const own = identity.startsWith(IDENTITY_PREFIX) ? identity.slice(IDENTITY_PREFIX.length) : identity;
  return own.split('_', 1)[0] ?? own;
}

/**
 * Returns the possible Pod names in an identity: the host of the identity, then each prefix of the host that ends
 * before a hyphen, longest first. Some programs add their own name to the host, for example
 * `<pod>-external-cert-manager-controller`.
 */
function podNamesIn(identity: string): readonly string[] {
  const words = hostIn(identity).split('-').slice(0, MAX_WORDS);
  return words.map((_, index) => words.slice(0, words.length - index).join('-'));
}

/** Whether a node has this hostname. One of the two names may be only the first label of the other. */
function isSameHost(node: string, hostname: string): boolean {
  return node === hostname || firstLabel(node) === hostname || node === firstLabel(hostname);
}

function firstLabel(hostname: string): string {
  return hostname.split('.', 1)[0] ?? hostname;
}

/**
 * Returns the controller in a Pod's ownerReferences; undefined without a controller, or if it is a Node or a Job. For a
 * ReplicaSet, returns the Deployment that its name suggests: one Deployment may have replicas in several ReplicaSets.
 */
function workloadOf(owners: unknown): string | undefined {
  const all = Array.isArray(owners) ? owners.filter(isJsonObject) : [];
  const controller = all.find((owner) => owner['controller'] === true);
  const kind = controller && textField(controller, 'kind');
  const name = controller && textField(controller, 'name');
  if (kind === undefined || name === undefined || kind === 'Node' || kind === 'Job') return undefined;
  return kind === 'ReplicaSet' ? `Deployment ${name.replace(/-[^-]+$/, '')}` : `${kind} ${name}`;
}

function workloadKey({ namespace, workload }: AuditedPod): string {
  return `${namespace}/${workload}`;
}

/** `Applies`: the end of a container can prove the end of the holder (rule 17). The other values say why it cannot. */
export type CrashEvidence =
  | 'Applies'
  | 'NoHolder'
  | 'CoordinatorLock'
  | 'PodsUnknown'
  | Exclude<MissingBinding, 'NotAsked'>;

export const PLAIN_LEASES_ASK = `A Lease of a plain elector, or its Namespace, also needs the annotation ${EVIDENCE_ANNOTATION}: enabled.`;

/**
 * Returns whether the end of the holder's container could prove that the holder has ended (rule 17), or why not.
 * Assumes that crash evidence is enabled for plain electors.
 */
export function crashEvidenceFor(
  holding: HolderFacts,
  hasCandidates: boolean,
  pods: PodIndex | undefined,
): CrashEvidence {
  const { lease, candidate } = holding;
  if (isCoordinatorLock(lease)) return 'CoordinatorLock';
  if (pods === undefined) return 'PodsUnknown';
  const owner = candidate?.pod && pods.withUid(candidate.pod.uid);
  const possible = owner ? [owner] : pods.sharing(hostInIdentity(lease.holderIdentity) ?? '');
  const found = bindToContainer({ ...holding, hasCandidates, isAskedByNamespace: true }, possible);
  if (found.kind === 'bound' || found.missing === 'NotAsked') return 'Applies';
  // If the identity contains the hostname of a node, `MirrorPod` or `HostNetwork` says more than `NoPod`.
  const { pod, sureness } = bindHolder(holding, pods);
  if (found.missing !== 'NoPod' || sureness === 'owner') return found.missing;
  if (pod?.isMirror) return 'MirrorPod';
  return sureness === 'node' ? 'HostNetwork' : 'NoPod';
}
