import type { KubernetesClient } from '../kubernetes/client.ts';
import type { Clock } from '../support/clock.ts';
import type { MetricsRegistry, ParticipantLogger } from './participant-telemetry.ts';

export interface ParticipateOptions {
  readonly lease: string;
  /**
   * The namespace of the Lease and of the LeaseCandidate. Default: the namespace of the kubeconfig's context, or
   * `default` if the context has none; with the service account of a pod, the namespace of that pod.
   */
  readonly namespace?: string;
  /** The program's version as strict semver, such as `1.4.2`. */
  readonly binaryVersion: string;
  /** The version that the program emulates. Must not be higher than `binaryVersion`. Default: `binaryVersion`. */
  readonly emulationVersion?: string | undefined;
  /** The name of the strategy that should choose the leader (rule 4). Default `OldestEmulationVersion`. */
  readonly strategy?: string | undefined;
  /**
   * The name of the LeaseCandidate, and the `holderIdentity` of the Lease while the program leads. Must be unique among
   * the running participants of a namespace, also within one program. Default: `<pod name>-<first 8 characters of the
   * pod's uid>` if `pod` is given, else the host's name and a random part.
   */
  readonly identity?: string | undefined;
  /**
   * The Pod in which the program runs. If the Pod is in the namespace of the LeaseCandidate, the Pod owns the
   * LeaseCandidate: when the Pod is deleted, Kubernetes also deletes the LeaseCandidate. Default of `pod.namespace`:
   * the namespace of the service account that the program uses. With a kubeconfig or a `client`, there is no default:
   * without `pod.namespace`, the LeaseCandidate has no owner.
   */
  readonly pod?:
    | { readonly name: string; readonly uid: string; readonly namespace?: string | undefined }
    | undefined;
  readonly labels?: Readonly<Record<string, string>>;
  /**
   * A whole number of 32 bits, default 0. The coordinator compares priorities before versions: a leader yields to a
   * candidate with a higher priority (rule 16).
   */
  readonly priority?: number;
  /**
   * The path of a kubeconfig file. Default: the files in $KUBECONFIG, else the service account of the pod, else
   * ~/.kube/config.
   */
  readonly kubeconfig?: string;
  /** The context to use instead of the kubeconfig's current context. */
  readonly context?: string;
  /**
   * A client to use instead of a kubeconfig. The participant does not close this client. With `client`, `namespace` is
   * required.
   */
  readonly client?: KubernetesClient;
  /**
   * How long the Lease is valid after each renewal, in milliseconds; default 15,000. Must be whole seconds, because the
   * Lease contains seconds.
   */
  readonly leaseDurationMs?: number;
  /**
   * If the last successful renewal was sent this long ago, the participant tells the leading program to stop. In
   * milliseconds; default 10,000. Must be less than 90 % of `leaseDurationMs`, so that the program stops before another
   * candidate can lead.
   */
  readonly renewDeadlineMs?: number;
  /** The interval between renewals, in milliseconds; default 2,000. */
  readonly retryPeriodMs?: number;
  /** When this signal aborts, the participant ends the term, releases the Lease, and deletes the LeaseCandidate. */
  readonly signal?: AbortSignal;
  /**
   * The log of the participant; default: no log. If the logger, `onObserved` or the metrics throw an error, the
   * participant keeps running, and logs the error or emits a process warning.
   */
  readonly logger?: ParticipantLogger;
  /**
   * The registry for the participant's metrics. The metrics have the names of client-go's leader election metrics. All
   * participants of a program can share one registry.
   */
  readonly metrics?: MetricsRegistry;
  /**
   * True if the program has its own elector with this identity. The participant then only publishes the LeaseCandidate
   * and watches the Lease. Default false.
   */
  readonly candidateOnly?: boolean;
  /**
   * If the Lease names this identity when the participant starts, the participant waits before it writes the Lease. The
   * wait ends this long after the participant was created, in milliseconds; default 0. Set this option if the
   * participant tells other programs whether to lead: these programs may still rely on answers of a former process with
   * this identity.
   */
  readonly resumeDelayMs?: number;
  /** Called with the first state, and with each new state. */
  readonly onObserved?: (state: ParticipantState) => void;
  /** The source of time; default: the system clock. Tests give their own clock. */
  readonly clock?: Clock;
}

/** The options of a {@link Participant}, which needs a `client`, because it does not connect to the cluster itself. */
export type ParticipantOptions = ParticipateOptions & Required<Pick<ParticipateOptions, 'client'>>;

/** What a participant has seen of its election, and its own role. */
export interface ParticipantState {
  /** The holder in the Lease as last seen; undefined if there is none, or the Lease has expired by the local clock. */
  readonly holder: string | undefined;
  /**
   * `leading`: the program leads. `ending`: the program was told to stop, but its callback has not ended yet.
   * `following`: at all other times, and always with `candidateOnly`.
   */
  readonly role: 'following' | 'leading' | 'ending';
  /** False from a call of `withdraw` until a call of `stand`, even while the program still ends its term. */
  readonly isStanding: boolean;
}
