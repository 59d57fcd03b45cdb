import type { Registry } from 'prom-client';
import type { KubernetesClient } from '../kubernetes/client.ts';
import type { Clock } from '../support/clock.ts';
import type { ParticipantLogger } from './participant-log.ts';
import type { ParticipantState } from './participant-state.ts';

/** How a program takes part in an election. */
export interface ParticipateOptions {
  /** The name of the Lease that the election is about. */
  readonly lease: string;
  /** Default: that of the kubeconfig's context, which in a pod is the pod's own. */
  readonly namespace?: string;
  /** Of the program, as strict semver: `1.4.2`. */
  readonly binaryVersion: string;
  /** The version that it behaves as, not above `binaryVersion`, which is the default. */
  readonly emulationVersion?: string;
  /** Default `OldestEmulationVersion`. */
  readonly strategy?: string;
  /**
   * Who it is, as candidate and as holder: no two running programs may have the same. Default: `<pod name>-<first 8 of the
   * pod's uid>` where `pod` is given, else the host's name and a random part.
   */
  readonly identity?: string;
  /**
   * The Pod it runs in. The Pod owns the LeaseCandidate, which is then deleted with it, if both are in one namespace. The Pod's
   * namespace is by default that of the service account which the program connects with; with a kubeconfig or a `client` it
   * is not known, and has to be given.
   */
  readonly pod?: { readonly name: string; readonly uid: string; readonly namespace?: string };
  /** Of its LeaseCandidate. */
  readonly labels?: Readonly<Record<string, string>>;
  /** An int32, higher first, default 0. Comes before version, and a higher one preempts (rule 16). */
  readonly priority?: number;
  /** A kubeconfig file; default: as kubectl finds one, and in a pod its service account. */
  readonly kubeconfig?: string;
  /** The context to use instead of the file's current one. */
  readonly context?: string;
  /** Talks to the API server instead of one made from a kubeconfig; it is not closed. `namespace` has to be given. */
  readonly client?: KubernetesClient;
  /** How long a renewal lasts, in milliseconds; default 15,000. Whole seconds. */
  readonly leaseDurationMs?: number;
  /** It stops leading so long after its last renewal was begun, in milliseconds; default 10,000. Less than 90 % of a renewal. */
  readonly renewDeadlineMs?: number;
  /** Between renewals, in milliseconds; default 2,000. */
  readonly retryPeriodMs?: number;
  /** Ends it in good order: the term, then the Lease is released, then the LeaseCandidate is deleted. */
  readonly signal?: AbortSignal;
  /** What it throws stops nothing: that is logged, or else the process warns of it. The same holds for `onObserved`. */
  readonly logger?: ParticipantLogger;
  /** Gets client-go's metrics of leader election; give one registry to all participants of a program. */
  readonly metrics?: Registry;
  /** Only publishes the LeaseCandidate and follows the Lease: the program has an elector of its own, with this identity. */
  readonly candidateOnly?: boolean;
  /** Told of each change of the state, and of the first one. */
  readonly onObserved?: (state: ParticipantState) => void;
  /** Default: the machine's own. For tests. */
  readonly clock?: Clock;
}
