import type { Instant } from '../support/clock.ts';

/** The strategy that a LeaseCandidate asks for: an ordered list in coordination.k8s.io/v1alpha1, otherwise one name. */
export type StrategyPreference =
  | { readonly kind: 'strategy'; readonly strategy: string }
  | { readonly kind: 'preferredStrategies'; readonly strategies: readonly string[] };

/** Which API serves a LeaseCandidate: Kubernetes' own API group, or this project's custom resource (rule 13). */
export type CandidateSource = 'native' | 'custom';

/** A Pod, identified by its uid: a later Pod may have the same name. */
export interface PodReference {
  readonly name: string;
  readonly uid: string;
}

/** The priority of a candidate. Each strategy of this coordinator compares priorities before versions (rule 16). */
export interface Priority {
  /** A candidate with a higher value is better. 0 if no priority is set. */
  readonly value: number;
  /** When the priority ends (coordinator's wall clock), and the value after that; undefined if it never ends. */
  readonly end: { readonly at: MicroTime; readonly afterwards: number } | undefined;
  /** If the coordinator ignores the priority annotation: the invalid annotation, as `name: "value"` (rule 16). */
  readonly unreadable: string | undefined;
}

export const NO_PRIORITY: Priority = { value: 0, end: undefined, unreadable: undefined };

/** A LeaseCandidate, in one form for all versions of the API. `undefined`: the field is not set or not valid. */
export interface LeaseCandidate {
  readonly source: CandidateSource;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly creationTimestamp: MicroTime | undefined;
  /** True if deletionTimestamp is set. The candidate takes no part in elections, even if finalizers keep the object. */
  readonly isDeleting: boolean;
  readonly leaseName: string;
  readonly binaryVersion: string | undefined;
  readonly emulationVersion: string | undefined;
  readonly preference: StrategyPreference;
  readonly priority: Priority;
  readonly renewTime: MicroTime | undefined;
  readonly pingTime: MicroTime | undefined;
  /** The Pod in the candidate's ownerReferences. */
  readonly pod?: PodReference;
  /** Name of the leading program's container, from this project's annotation on the LeaseCandidate (rule 17). */
  readonly leadingContainer?: string;
}

/** The notes of a Lease: annotations with the values of fields that the server drops (rule 14). */
export interface LeaseNotes {
  readonly strategy: string | undefined;
  readonly preferredHolder: string | undefined;
}

/** The part of a coordination.k8s.io/v1 Lease that an election needs. */
export interface Lease {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** `''` and `undefined`: no holder. The coordinator's write of the strategy changes `undefined` to `''` (rule 7). */
  readonly holderIdentity: string | undefined;
  readonly preferredHolder: string | undefined;
  /** True if a coordinator of this project owns the field `preferredHolder`, or if the value is from a note. */
  readonly isPreferredHolderOurs: boolean;
  readonly strategy: string | undefined;
  /** A note counts only if the API field of the same name is not set (rule 14). */
  readonly notes?: LeaseNotes | undefined;
  /** True if `preferredHolder` comes from a note. client-go's elector does not read notes. */
  readonly isPreferredHolderNoted?: boolean;
  readonly isStrategyNoted?: boolean;
  readonly leaseDurationSeconds: number | undefined;
  readonly leaseTransitions: number;
  readonly acquireTime: MicroTime | undefined;
  readonly renewTime: MicroTime | undefined;
  // Field ownership (metadata.managedFields) shows which client wrote a field. A fence is not a real holder (rule 14).
  /** True if field ownership shows that a participant emptied the Lease. A participant empties only its own Lease. */
  readonly isReleasedByParticipant?: true;
  /** True if the Lease has a real holder, and one client wrote both `holderIdentity` and `acquireTime`. */
  readonly isAcquireTimeHolders?: true;
  /** True if one client, not a coordinator of this project, wrote `renewTime` and `acquireTime` of a real holder. */
  readonly isAcquireTimeRenewers?: true;
  /** Name of the leading program's container, from this project's annotation on the Lease (rule 17). */
  readonly leadingContainer?: string;
  /** True if an annotation on the Lease asks for crash evidence about a plain elector (rule 17). */
  readonly asksForEvidence?: true;
  /** True if this project's coordinator, or the client that last renewed or released, wrote `leaseDurationSeconds`. */
  readonly isDurationHolders?: true;
  /** True if the Lease has a real holder, and a participant wrote `renewTime`. */
  readonly isRenewedByParticipant?: true;
  /** True if `renewTime` is from a grant to a real holder, by a coordinator of this project or the built-in. */
  readonly isRenewedByCoordinator?: true;
  /** Field manager of the holder's first renewal that this process saw. A write by another manager is not the holder's. */
  readonly renewer?: string | undefined;
  /** True if field ownership shows an unrenewed grant by this project (rule 12), not a fence or a grant with `isReturn`. */
  readonly isUnrenewedGrant?: true;
}

/** Settings of every election. The `run` command has a default for each of them. */
export interface ElectionSettings {
  /** Timeout of a ping, in milliseconds. The coordinator adds the server's time to confirm the ping (rule 9). */
  readonly electionDurationMs: number;
  /** Minimum leaseDurationSeconds of a grant. If a Lease has no duration, the coordinator assumes this duration. */
  readonly leaseDurationSeconds: number;
  /** Maximum wait of a first election for more candidates, in milliseconds (rule 6). 0 or absent: no wait. */
  readonly settleMs?: number;
  /** Whether a Lease counts as released when the status of a Pod proves that its holder has ended (rule 17). */
  readonly isCrashEvidenceUsed?: boolean;
  /** How long a candidate is valid after its last renewal, in milliseconds. */
  readonly candidateValidityMs: number;
  /** A candidate that has not renewed for this time, in milliseconds, is due for collection (rule 1). */
  readonly candidateGcAfterMs: number;
}

/** A wall-clock time of this or another machine: microseconds since 1970, the precision of Kubernetes' MicroTime. */
export type MicroTime = bigint;

export type { Instant };

/** Both clocks at one moment. `monotonic` measures durations, `wall` is for timestamps that programs exchange. */
export interface Now {
  readonly monotonic: Instant;
  readonly wall: MicroTime;
}

/** Returns a moment on both clocks. `wallMs` is in milliseconds since 1970, like `Date.now()`. */
export function nowAt(monotonic: Instant, wallMs: number): Now {
  return { monotonic, wall: BigInt(Math.round(wallMs * 1000)) };
}

/** Returns the earliest instant; undefined if there is none. Ignores undefined entries. */
export function earliest(instants: Iterable<Instant | undefined>): Instant | undefined {
  let first: Instant | undefined;
  for (const instant of instants) {
    if (instant !== undefined && (first === undefined || instant < first)) first = instant;
  }
  return first;
}

/** Returns the earliest instant after `at`; undefined if there is none, or if it is Infinity. */
export function earliestAfter(at: Instant, instants: Iterable<Instant | undefined>): Instant | undefined {
  let first: Instant = Number.POSITIVE_INFINITY;
  for (const instant of instants) {
    if (instant !== undefined && instant > at && instant < first) first = instant;
  }
  return first === Number.POSITIVE_INFINITY ? undefined : first;
}

/** A cache: for each candidate whose priority has ended, a copy of the candidate with the later priority. */
const ended = new WeakMap<LeaseCandidate, LeaseCandidate>();

/** Returns the candidate with its priority at `wall`. A priority that has ended is replaced by its later value. */
export function withCurrentPriority(candidate: LeaseCandidate, wall: MicroTime): LeaseCandidate {
  const { end, unreadable } = candidate.priority;
  if (end === undefined || wall < end.at) return candidate;
  const known = ended.get(candidate);
  if (known) return known;
  const current = { ...candidate, priority: { value: end.afterwards, end: undefined, unreadable } };
  ended.set(candidate, current);
  return current;
}

/** The API group of this project, and the domain of its annotations and strategies. */
export const GROUP = 'coordinated-leader-election.dev';

/** The holderIdentity of a fenced Lease, which has no real holder (rule 14). A candidate of this name takes no part. */
export const FENCE = `fence.${GROUP}`;

/** The Lease that coordinators, also the built-in one, use as their lock by default. It has no elections (rule 10). */
export const coordinatorLease = { namespace: 'kube-system', name: 'leader-election-controller' } as const;

/** The namespace of the Leases that are the heartbeats of nodes: each kubelet renews one. */
export const NODE_LEASES = 'kube-node-lease';

const LONGEST_NAME = 253;
const DNS_SUBDOMAIN = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;

/** Whether a Lease can have this name: a DNS subdomain. In a native LeaseCandidate, leaseName may be other text. */
export function isLeaseName(name: string): boolean {
  return name.length <= LONGEST_NAME && DNS_SUBDOMAIN.test(name);
}
