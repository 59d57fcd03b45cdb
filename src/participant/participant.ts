import { hostname } from 'node:os';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { processEnvironment } from '../support/host.ts';
import { systemClock } from '../support/system-clock.ts';
import { Candidate } from './candidate.ts';
import { Elector } from './elector.ts';
import { connectParticipant } from './participant-client.ts';
import { callSafely, guardedLogger, type ParticipantLogger, silent } from './participant-log.ts';
import { createParticipantMetrics } from './participant-metrics.ts';
import { type ParticipantSettings, participantSettings, type Surroundings } from './participant-settings.ts';
import type { ParticipantState } from './participant-state.ts';
import type { ParticipateOptions } from './participate-options.ts';
import type { Lead } from './term.ts';

/** A candidate and an elector under one identity, below {@link participate}, for a program that wants to resign or withdraw. */
export class Participant {
  readonly #options: ParticipateOptions;
  readonly #logger: ParticipantLogger;
  readonly #settings: ParticipantSettings;
  readonly #client: KubernetesClient;
  readonly #candidate: Candidate;
  readonly #elector: Elector;
  #isStanding = true;
  /** Withdrawn as its callback has outlasted the Lease: until it ends, it is of no use to be elected. */
  #isOverrun = false;
  /** Aborts when it is told to stop. */
  #ending = new AbortController().signal;
  #told: ParticipantState | undefined;
  #running: Promise<void> | undefined;

  /**
   * @throws RangeError when an option is not as it has to be.
   * @throws KubeConfigError when there is no cluster to talk to.
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
        onChange: () => this.#changed(),
      },
      lead,
    );
  }

  /** The name of its LeaseCandidate, and what it calls itself as a holder. */
  get identity(): string {
    return this.#settings.description.name;
  }

  get state(): ParticipantState {
    const { holder, term } = this.#elector;
    const role = !term ? 'following' : term.signal.aborted ? 'ending' : 'leading';
    return { holder, role, isStanding: this.#isStanding };
  }

  /** Resolves once its LeaseCandidate is there for the first time, and renewed. */
  get published(): Promise<void> {
    return this.#candidate.published;
  }

  /**
   * Takes part until `signal`, or that of the options, aborts, or the callback returns or throws while its term lasts.
   * Resolves, or rejects with what it threw, once the Lease is released and the LeaseCandidate deleted. Once only.
   */
  run(signal?: AbortSignal): Promise<void> {
    this.#running ??= this.#run(signal);
    return this.#running;
  }

  /** Ends the term and releases the Lease; resolves then. It goes on standing, but others are elected first. */
  resign(): Promise<void> {
    return this.#elector.resign();
  }

  /** Resigns and deletes the LeaseCandidate; resolves then. It stays withdrawn until {@link Participant.stand}. */
  async withdraw(): Promise<void> {
    this.#isStanding = false;
    this.#tell();
    await this.#elector.withdraw();
    if (!this.#isStanding) await this.#candidate.withdraw();
  }

  /** Publishes the LeaseCandidate again after {@link Participant.withdraw}. */
  stand(): void {
    this.#isStanding = true;
    this.#elector.stand();
    if (!this.#isOverrun) this.#candidate.stand();
    this.#tell();
  }

  async #run(signal: AbortSignal | undefined): Promise<void> {
    const candidacy = new AbortController();
    this.#ending = eitherOf(this.#options.signal, signal);
    const elector = this.#elector.run(this.#ending);
    // Whoever was granted the Lease must be able to see that.
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
      else if (this.#isStanding && !this.#ending.aborted) this.#candidate.stand();
    }
    this.#tell();
  }

  #leaveOverrun(): void {
    this.#logger.error(
      { candidate: this.identity },
      'The callback goes on although its term is over: it is no candidate until it ends',
    );
    void this.#candidate.withdraw();
  }

  #tell(): void {
    const { state } = this;
    const told = this.#told;
    if (
      told &&
      told.holder === state.holder &&
      told.role === state.role &&
      told.isStanding === state.isStanding
    )
      return;
    this.#told = state;
    callSafely(this.#logger, 'onObserved has thrown', () => this.#options.onObserved?.(state));
  }
}

/** Node keeps a signal that was made of others for as long as those last and anybody listens: one is taken as it is. */
function eitherOf(one: AbortSignal | undefined, other: AbortSignal | undefined): AbortSignal {
  if (one && other) return AbortSignal.any([one, other]);
  return one ?? other ?? new AbortController().signal;
}

function connect(
  options: ParticipateOptions,
): Pick<Surroundings, 'namespace' | 'podNamespace'> & { readonly client: KubernetesClient } {
  const { client, namespace, kubeconfig, context, clock = systemClock } = options;
  if (client) return { client, namespace, podNamespace: undefined };
  const userAgent = 'coordinated-leader-election-participant';
  const connected = connectParticipant({ kubeconfig, context, env: processEnvironment, clock, userAgent });
  return { ...connected, namespace: namespace ?? connected.namespace };
}
