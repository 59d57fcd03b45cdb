import type { KubernetesClient } from '../kubernetes/client.ts';
import type { Clock } from '../support/clock.ts';
import type { MetricsRegistry, ParticipantLogger } from './participant-telemetry.ts';

export interface ParticipateOptions {
  readonly lease: string;
  /** Default: the namespace of the kubeconfig's context; in a pod, the namespace of the pod. */
  readonly namespace?: string;
  /** The program's version as strict semver: `1.4.2`. */
  readonly binaryVersion: string;
  /** The version that the program emulates. Not above `binaryVersion`, which is the default. */
  readonly emulationVersion?: string | undefined;
  /** Default `OldestEmulationVersion`. */
  readonly strategy?: string | undefined;
  /**
   * The name of the LeaseCandidate and of the holder, unique among running programs. Default: `<pod name>-<first 8 of the
   * pod's uid>` if `pod` is given, else the host's name and a random part.
   */
  readonly identity?: string | undefined;
  /**
   * The Pod of the program. If the LeaseCandidate is in the same namespace, the Pod owns it, and Kubernetes deletes it
   * with the Pod. The default of the Pod's namespace is the namespace of the service account that the program uses.
   * With a kubeconfig or a `client` there is no default, and the namespace is required.
   */
  readonly pod?:
    | { readonly name: string; readonly uid: string; readonly namespace?: string | undefined }
    | undefined;
  readonly labels?: Readonly<Record<string, string>>;
  /** An int32, default 0. Takes precedence over the version. A higher priority preempts the leader (rule 16). */
  readonly priority?: number;
  /** A kubeconfig file. Default: the file that kubectl uses; in a pod, the service account. */
  readonly kubeconfig?: string;
  /** The context to use instead of the file's current one. */
  readonly context?: string;
  /** A client to use instead of a kubeconfig. The participant does not close it. Requires `namespace`. */
  readonly client?: KubernetesClient;
  /** How long a renewal is valid, in milliseconds; default 15,000. Must be whole seconds. */
  readonly leaseDurationMs?: number;
  /**
   * A leader stops this long after it sent its last successful renewal, in milliseconds; default 10,000. Must be less
   * than 90 % of `leaseDurationMs`.
   */
  readonly renewDeadlineMs?: number;
  /** The interval between renewals, in milliseconds; default 2,000. */
  readonly retryPeriodMs?: number;
  /** When this signal aborts, the participant ends the term, releases the Lease, and deletes the LeaseCandidate. */
  readonly signal?: AbortSignal;
  /** If a callback of the logger or `onObserved` throws an error, the participant logs it or emits a process warning. */
  readonly logger?: ParticipantLogger;
  /** The registry for client-go's leader election metrics. All participants of a program can share one. */
  readonly metrics?: MetricsRegistry;
  /** Only publishes the LeaseCandidate and follows the Lease: the program has its own elector with this identity. */
  readonly candidateOnly?: boolean;
  /**
   * Delay at the start before the participant takes up a Lease that already has its identity, in milliseconds; default
   * 0. For a participant that reports its leadership to other programs: they may still rely on the report of a former
   * process.
   */
  readonly resumeDelayMs?: number;
  /** Called with the first state, and after each change. */
  readonly onObserved?: (state: ParticipantState) => void;
  /** Default: the system clock. For tests. */
  readonly clock?: Clock;
}

/** The options of a {@link Participant}. It does not connect on its own, so `client` is required. */
export type ParticipantOptions = ParticipateOptions & Required<Pick<ParticipateOptions, 'client'>>;

/** A participant's view of its election, and its role in it. */
export interface ParticipantState {
  /** The holder of the Lease. Undefined if there is none, or if its record has expired by this program's clock. */
  readonly holder: string | undefined;
  /** `leading`: from the first renewal of a grant. `ending`: the term is over, but its callback has not ended yet. */
  readonly role: 'following' | 'leading' | 'ending';
  /** Whether the participant is a candidate. False after `withdraw`, until `stand`. */
  readonly isStanding: boolean;
}
