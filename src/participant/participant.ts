import { hostname } from 'node:os';
import { createClient, type KubernetesClient } from '../kubernetes/client.ts';
import { namespaceOf, podNamespaceOf } from '../kubernetes/cluster-config.ts';
import { type KubeConfigSource, loadKubeConfig } from '../kubernetes/kubeconfig.ts';
import type { Clock } from '../support/clock.ts';
import { processEnvironment, version } from '../support/host.ts';
import { systemClock } from '../support/system-clock.ts';
import { Candidate } from './candidate.ts';
import { Elector } from './elector.ts';
import {
  type ParticipantSettings,
  type ParticipantState,
  type ParticipateOptions,
  participantSettings,
} from './participant-options.ts';
import {
  callSafely,
  createParticipantMetrics,
  guardedLogger,
  type ParticipantLogger,
  silent,
} from './participant-telemetry.ts';
import type { Lead } from './term.ts';

/**
 * Takes part in an election, and calls `lead` each time the program is elected. Resolves after the signal of the options has
 * aborted, or `lead` has returned during its term. Rejects with the error of `lead`, or with a RangeError for an invalid option.
 */
export async function participate(options: ParticipateOptions, lead: Lead): Promise<void> {
  await new Participant(options, lead).run();
}

/** A candidate and an elector under one identity. {@link participate} runs one; a program that resigns or withdraws makes its own. */
export class Participant {
  readonly #options: ParticipateOptions;
  readonly #logger: ParticipantLogger;
  readonly #settings: ParticipantSettings;
  readonly #client: KubernetesClient;
  readonly #candidate: Candidate;
  readonly #elector: Elector;
  #isStanding = true;
  /** Whether the callback still runs although the Lease has expired. The candidate is withdrawn until it ends. */
  #isOverrun = false;
  /** Aborts when the participant is stopped. */
  #stopping = new AbortController().signal;
  #lastState: ParticipantState | undefined;
  #running: Promise<void> | undefined;

  /**
   * @throws RangeError when an option is invalid.
   * @throws KubeConfigError when there is no cluster to connect to.
   */
  constructor(options: ParticipateOptions, lead: Lead) {
    const { clock = systemClock, metrics } = options;
    const logger = guardedLogger(options.logger ?? silent);
    const { client, namespace, podNamespace } = connect(options);
    const random = () => clock.random();
    this.#options = options;
    this.#logger = logger;
    this.#client = client;
    this.#settings = participantSettings(options, { namespace, podNamespace, hostname: hostname(), random });
    const { description, timing } = this.#settings;
    if (options.pod && !description.pod) {
      logger.info(
        {
          namespace: description.namespace,
          pod: options.pod.name,
          podNamespace: options.pod.namespace ?? podNamespace,
        },
        'The LeaseCandidate has no owner: its Pod is in another namespace, or it is not known in which',
      );
    }
    this.#candidate = new Candidate({ client, clock, description, logger });
    this.#elector = new Elector(
      {
        client,
        clock,
        lease: { namespace: description.namespace, name: description.leaseName },
        identity: description.name,
        timing,
        logger,
        metrics: metrics && createParticipantMetrics(metrics, description.leaseName),
        isFollowing: options.candidateOnly ?? false,
        resumeDelayMs: options.resumeDelayMs,
        onChange: () => this.#changed(),
      },
      lead,
    );
  }

  /** The name of the LeaseCandidate and of the holder. */
  get identity(): string {
    return this.#settings.description.name;
  }

  get state(): ParticipantState {
    const { holder, term } = this.#elector;
    const role = !term ? 'following' : term.signal.aborted ? 'ending' : 'leading';
    return { holder, role, isStanding: this.#isStanding };
  }

  /** Resolves when the LeaseCandidate is created or renewed for the first time. */
  get published(): Promise<void> {
    return this.#candidate.published;
  }

  /**
   * Takes part until `signal` or that of the options aborts, or the callback ends during its term. Settles when the Lease is
   * released and the LeaseCandidate deleted. Rejects with the error of the callback. Later calls return the same promise.
   */
  run(signal?: AbortSignal): Promise<void> {
    this.#running ??= this.#run(signal);
    return this.#running;
  }

  /** Ends the term and releases the Lease. Resolves then. The LeaseCandidate stays, but other candidates are elected first. */
  resign(): Promise<void> {
    return this.#elector.resign();
  }

  /** Resigns and deletes the LeaseCandidate, until {@link Participant.stand}. Resolves when it is deleted. */
  async withdraw(): Promise<void> {
    this.#isStanding = false;
    this.#report();
    await this.#elector.withdraw();
    if (!this.#isStanding) await this.#candidate.withdraw();
  }

  /** Publishes the LeaseCandidate again after {@link Participant.withdraw}. */
  stand(): void {
    this.#isStanding = true;
    this.#elector.stand();
    if (!this.#isOverrun) this.#candidate.stand();
    this.#report();
  }

  async #run(signal: AbortSignal | undefined): Promise<void> {
    const candidacy = new AbortController();
    this.#stopping = eitherOf(this.#options.signal, signal);
    const elector = this.#elector.run(this.#stopping);
    // A candidate can be elected as soon as it is published, so the elector has to see the Lease before.
    const standing = Promise.race([this.#elector.synced, elector.catch(() => {})]).then(() =>
      this.#candidate.run(candidacy.signal),
    );
    try {
      await elector;
    } finally {
      candidacy.abort();
      await standing;
      if (!this.#options.client) await this.#client.close();
    }
  }

  #changed(): void {
    const { isOverrun } = this.#elector;
    if (isOverrun !== this.#isOverrun) {
      this.#isOverrun = isOverrun;
      if (isOverrun) this.#leaveOverrun();
      else if (this.#isStanding && !this.#stopping.aborted) this.#candidate.stand();
    }
    this.#report();
  }

  #leaveOverrun(): void {
    this.#logger.error(
      { candidate: this.identity },
      'The callback goes on although its term is over: it is no candidate until it ends',
    );
    void this.#candidate.withdraw();
  }

  #report(): void {
    const { state } = this;
    const { holder, role, isStanding } = state;
    const last = this.#lastState;
    if (last && last.holder === holder && last.role === role && last.isStanding === isStanding) return;
    this.#lastState = state;
    callSafely(this.#logger, 'onObserved has thrown', () => this.#options.onObserved?.(state));
  }
}

/** The cluster to connect to. */
export interface ConnectionOptions extends KubeConfigSource {
  readonly clock: Clock;
  /** The name of the program in the API server's logs; the version is added. */
  readonly userAgent: string;
  readonly namespace?: string | undefined;
}

/** A client, and what its configuration says about the participant. */
export interface ParticipantConnection {
  readonly client: KubernetesClient;
  /** The given namespace, or that of the configuration. */
  readonly namespace: string;
  /** The namespace of this program's Pod; undefined if it is unknown or in another cluster. */
  readonly podNamespace: string | undefined;
}

/** Creates a participant's client. @throws KubeConfigError when there is no cluster to connect to. */
export function connectParticipant(options: ConnectionOptions): ParticipantConnection {
  const { clock, userAgent, namespace, ...source } = options;
  const kubeConfig = loadKubeConfig(source);
  const client = createClient({
    kubeConfig,
    clock,
    userAgent: `${userAgent}/${version}`,
    // The elector sends one request at a time, and so does the candidate in each of its two groups.
    connections: 4,
    isLean: true,
  });
  return {
    client,
    namespace: namespace ?? namespaceOf(kubeConfig),
    podNamespace: podNamespaceOf(kubeConfig),
  };
}

function connect({ client, namespace, kubeconfig, context, clock = systemClock }: ParticipateOptions) {
  if (client) return { client, namespace, podNamespace: undefined };
  const userAgent = 'coordinated-leader-election-participant';
  return connectParticipant({ kubeconfig, context, env: processEnvironment, clock, userAgent, namespace });
}

/** Avoids AbortSignal.any() where it can: Node keeps its result for as long as the sources exist and have listeners. */
function eitherOf(one: AbortSignal | undefined, other: AbortSignal | undefined): AbortSignal {
  if (one && other) return AbortSignal.any([one, other]);
  return one ?? other ?? new AbortController().signal;
}
