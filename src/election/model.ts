import type { Instant } from '../support/clock.ts';

/** What a LeaseCandidate asks for: v1beta1 and v1alpha2 name one strategy, v1alpha1 an ordered list. */
export type StrategyPreference =
  | { readonly kind: 'strategy'; readonly strategy: string }
  | { readonly kind: 'preferredStrategies'; readonly strategies: readonly string[] };

/** Where a LeaseCandidate comes from: the API server's own group, or the custom resource of this project (rule 13). */
export type CandidateSource = 'native' | 'custom';

/** One Pod, identified by uid: a later Pod may have the same name. */
export interface PodReference {
  readonly name: string;
  readonly uid: string;
}

/** A candidate's priority, which comes before any version (rule 16). */
export interface Priority {
  /** Higher first; 0 when none is set. */
  readonly value: number;
  /** When the priority ends by our wall clock, and the value after that; undefined if it does not end. */
  readonly end: { readonly at: MicroTime; readonly afterwards: number } | undefined;
  /** An annotation that is invalid and ignored, as `name: "value"`; undefined when all are valid. */
  readonly unreadable: string | undefined;
}

export const NO_PRIORITY: Priority = { value: 0, end: undefined, unreadable: undefined };

/** A LeaseCandidate of any served version. Names are those of the API; `undefined` is a field that is not set. */
export interface LeaseCandidate {
  readonly source: CandidateSource;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly creationTimestamp: MicroTime | undefined;
  /** True when deletionTimestamp is set: only finalizers keep the candidate, and it takes no part. */
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
  /** The container of that Pod in which the leading program runs, by our annotation (rule 17). */
  readonly leadingContainer?: string;
}

/** The annotations of a Lease that replace fields which the server drops (rule 14). */
export interface LeaseNotes {
  readonly strategy: string | undefined;
  readonly preferredHolder: string | undefined;
}

/** A coordination.k8s.io/v1 Lease, as far as an election needs it. */
export interface Lease {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** `''` means "no holder" in the API; `undefined` means that the field is absent, which has to be repaired (rule 7). */
  readonly holderIdentity: string | undefined;
  readonly preferredHolder: string | undefined;
  /** True when the server's field ownership says that this controller set `preferredHolder`, or a note of ours names it. */
  readonly isPreferredHolderOurs: boolean;
  readonly strategy: string | undefined;
  /** Our annotations. A note counts where the field of the same name is not set (rule 14). */
  readonly notes?: LeaseNotes | undefined;
  /** True when `preferredHolder` comes from the notes: client-go's elector does not read them. */
  readonly isPreferredHolderNoted?: boolean;
  readonly isStrategyNoted?: boolean;
  readonly leaseDurationSeconds: number | undefined;
  readonly leaseTransitions: number;
  readonly acquireTime: MicroTime | undefined;
  readonly renewTime: MicroTime | undefined;
  /** By field ownership, a participant of this project emptied the Lease, which it only does to its own. */
  readonly isReleasedByParticipant?: true;
  /** True when field ownership says that `holderIdentity` and `acquireTime` have the same writer. */
  readonly isAcquireTimeHolders?: true;
  /** True when field ownership says that `renewTime` and `acquireTime` have the same writer, which is no coordinator. */
  readonly isAcquireTimeRenewers?: true;
  /** The container of its holder's Pod in which the leading program runs, by our annotation (rule 17). */
  readonly leadingContainer?: string;
  /** True when field ownership says that a coordinator, or the writer of `renewTime`, wrote `leaseDurationSeconds`. */
  readonly isDurationHolders?: true;
  /** True when field ownership says that a participant of this project wrote `renewTime`. */
  readonly isRenewedByParticipant?: true;
  /** By field ownership, the Lease is unchanged since a coordinator of this program granted it anew (rule 12). */
  readonly isUnrenewedGrant?: true;
}

/** Durations that shape every election; all have defaults in the configuration. */
export interface ElectionSettings {
  /** How long a pinged candidate may take to answer, in milliseconds. */
  readonly electionDurationMs: number;
  /** leaseDurationSeconds of a grant, and the default for a held Lease without a duration. */
  readonly leaseDurationSeconds: number;
  /** How long the first election waits for more candidates, in milliseconds (rule 6). 0 or absent: not at all. */
  readonly settleMs?: number;
  /** Whether the Lease of a holder that has ended counts as released, by the status of its Pod (rule 17). */
  readonly isCrashEvidenceUsed?: boolean;
  /** How long after its last renewal a candidate is valid, in milliseconds. */
  readonly candidateValidityMs: number;
  /** How long after its last renewal a candidate that answers no ping is deleted, in milliseconds. */
  readonly candidateGcAfterMs: number;
}

/** A moment of metav1.MicroTime: whole microseconds since the Unix epoch, on the writer's clock. */
export type MicroTime = bigint;

export type { Instant };

/** Both clocks, read at the same time: `monotonic` to measure durations, `wall` for timestamps that other programs read. */
export interface Now {
  readonly monotonic: Instant;
  readonly wall: MicroTime;
}

/** Returns both clocks. `wallMs` is in milliseconds since 1970, as `Date.now()` has it. */
export function nowAt(monotonic: Instant, wallMs: number): Now {
  return { monotonic, wall: BigInt(Math.round(wallMs * 1000)) };
}

/** Returns the earliest instant. An undefined entry is ignored; undefined if no instant is left. */
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

/** A cache: for each candidate whose priority has ended, the candidate with the later priority. */
const ended = new WeakMap<LeaseCandidate, LeaseCandidate>();

/** Returns the candidate with its priority at `wall`: a priority that has ended is replaced by the one after it. */
export function withCurrentPriority(candidate: LeaseCandidate, wall: MicroTime): LeaseCandidate {
  const { end, unreadable } = candidate.priority;
  if (end === undefined || wall < end.at) return candidate;
  const known = ended.get(candidate);
  if (known) return known;
  const current: LeaseCandidate = {
    ...candidate,
    priority: { value: end.afterwards, end: undefined, unreadable },
  };
  ended.set(candidate, current);
  return current;
}

/** The API group of this project, and the domain of its annotations and strategies. */
export const GROUP = 'coordinated-leader-election.dev';

/** The holderIdentity of a fenced Lease (rule 14). A candidate of this name takes no part in an election. */
export const FENCE = `fence.${GROUP}`;

/** The default Lease of the coordinator's lock, as the built-in controller's. It is never coordinated (rule 10). */
export const coordinatorLease = { namespace: 'kube-system', name: 'leader-election-controller' } as const;

const LONGEST_NAME = 253;
const DNS_SUBDOMAIN = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;

/** Whether a Lease can have this name: a DNS subdomain. A LeaseCandidate's leaseName may be any text. */
export function isLeaseName(name: string): boolean {
  return name.length <= LONGEST_NAME && DNS_SUBDOMAIN.test(name);
}
