import { hostname } from 'node:os';
import { createClient } from '../kubernetes/client.ts';
import { namespaceOf } from '../kubernetes/cluster-config.ts';
import { type KubeConfigSource, loadKubeConfig, podNamespaceOf } from '../kubernetes/kubeconfig.ts';
import type { Clock } from '../support/clock.ts';
import { version } from '../support/host.ts';
import { systemClock } from '../support/system-clock.ts';
import { Candidate } from './candidate.ts';
import { Elector } from './elector.ts';
import type { ParticipantOptions, ParticipantState, ParticipateOptions } from './participant-options.ts';
import { participantSettings } from './participant-settings.ts';
import {
  callSafely,
  createParticipantMetrics,
  guardedLogger,
  type ParticipantLogger,
  silent,
} from './participant-telemetry.ts';
import type { Lead } from './term.ts';

/**
 * Takes part in an election. Calls `lead` each time the program is elected. Resolves after `options.signal` has
 * aborted, or after `lead` has returned without being told to stop. Rejects with the error of `lead` (see
 * {@link Participant.run}), with a RangeError for an invalid option, or with a KubeConfigError if there is no usable
 * kubeconfig or service account. With `await using`, the program stops taking part at the end of the block.
 */
export function participate(options: ParticipateOptions, lead: Lead): Promise<void> & AsyncDisposable {
  const stopping = new AbortController();
  const running = run(options, lead, stopping.signal);
  return Object.assign(running, {
    [Symbol.asyncDispose]: () => {
      stopping.abort();
      return running;
    },
  });
}

async function run(options: ParticipateOptions, lead: Lead, stopping: AbortSignal): Promise<void> {
  const { client, kubeconfig, context, namespace, pod, clock } = options;
  if (client) return await new Participant({ ...options, client }, lead).run(stopping);
  const { podNamespace, ...connected } = connectParticipant({ kubeconfig, context, namespace, clock });
  const ownPod = pod && { ...pod, namespace: pod.namespace ?? podNamespace };
  try {
    await new Participant({ ...options, ...connected, pod: ownPod }, lead).run(stopping);
  } finally {
    await connected.client.close();
  }
}

/**
 * A candidate and an elector with the same identity. {@link participate} creates and runs a Participant. To call
 * `resign` or `withdraw`, a program creates a Participant itself. The program then also creates the client, and closes
 * the client at the end.
 */
export class Participant {
  /** The name of the LeaseCandidate, and the `holderIdentity` of the Lease while this participant holds it. */
  readonly identity: string;
  readonly #options: ParticipantOptions;
  readonly #logger: ParticipantLogger;
  readonly #candidate: Candidate;
  readonly #elector: Elector;
  #isStanding = true;
  /** Whether the callback still runs `leaseDurationMs` after the last renewal. The participant then deletes its candidate. */
  #isOverrun = false;
  readonly #stopping = new AbortController();
  #lastState: ParticipantState | undefined;
  #running: Promise<void> | undefined;

  /** @throws RangeError if an option is invalid. */
  constructor(options: ParticipantOptions, lead: Lead) {
    const { clock = systemClock, client, metrics, pod } = options;
    const logger = guardedLogger(options.logger ?? silent);
    this.#options = options;
    this.#logger = logger;
    const surroundings = { hostname: hostname(), random: () => clock.random() };
    const { description, timing } = participantSettings(options, surroundings);
    const { namespace, name: identity, leaseName } = description;
    this.identity = identity;
    if (pod && !description.pod) {
      logger.info(
        { namespace, pod: pod.name, podNamespace: pod.namespace },
        'The LeaseCandidate has no owner: its Pod is in another namespace, or the namespace of the Pod is unknown',
      );
    }
    this.#candidate = new Candidate({ client, clock, description, logger });
    this.#elector = new Elector(
      {
        client,
        clock,
        lease: { namespace, name: leaseName },
        identity,
        timing,
        logger,
        metrics: metrics && createParticipantMetrics(metrics, leaseName),
        isFollowing: options.candidateOnly ?? false,
        resumeDelayMs: options.resumeDelayMs ?? 0,
        onChange: () => this.#changed(),
      },
      lead,
    );
  }

  get state(): ParticipantState {
    const { holder, term } = this.#elector;
    const role = !term ? 'following' : term.signal.aborted ? 'ending' : 'leading';
    return { holder, role, isStanding: this.#isStanding };
  }

  /** Resolves after this process has created the LeaseCandidate, or has renewed an existing one. */
  get published(): Promise<void> {
    return this.#candidate.published;
  }

  /**
   * Takes part until `signal` or `options.signal` aborts, `stop` is called, the callback ends without being told to
   * stop, or the callback fails. Then releases the Lease and deletes the LeaseCandidate. If the callback has failed,
   * rejects with its error. After the callback was told to stop, an AbortError or the reason of the term's signal does
   * not count as a failure. Later calls return the same promise.
   */
  run(signal?: AbortSignal): Promise<void> {
    this.#running ??= this.#run(signal);
    return this.#running;
  }

  /**
   * Ends the term and releases the Lease. Keeps the LeaseCandidate. For some seconds after the release, the coordinator
   * grants the Lease to this participant only if no other candidate can lead. Resolves even if the release fails.
   */
  resign(): Promise<void> {
    return this.#elector.resign();
  }

  /** Resigns, then deletes the LeaseCandidate. Takes no part until {@link Participant.stand} is called. */
  async withdraw(): Promise<void> {
    this.#isStanding = false;
    this.#report();
    await this.#elector.withdraw();
    if (!this.#isStanding) await this.#candidate.withdraw();
  }

  /** Takes part again after {@link Participant.withdraw}. */
  stand(): void {
    this.#isStanding = true;
    this.#elector.stand();
    if (!this.#isOverrun) this.#candidate.stand();
    this.#report();
  }

  /** Stops taking part. Settles when the promise of {@link Participant.run} settles; at once if `run` was never called. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #run(signal: AbortSignal | undefined): Promise<void> {
    const candidacy = new AbortController();
    // Do not use AbortSignal.any(): Node keeps the combined signal in memory as long as its sources exist and the
    // combined signal has listeners.
    const sources = [this.#options.signal, signal].filter((source) => source !== undefined);
    const stop = () => this.#stopping.abort();
    for (const source of sources) source.addEventListener('abort', stop);
    if (sources.some(({ aborted }) => aborted)) stop();
    const elector = this.#elector.run(this.#stopping.signal);
    // Publish the LeaseCandidate only after the elector has read the Lease: a candidate can be elected at once, and the
    // elector must then see the grant.
    const standing = Promise.race([this.#elector.synced, elector.catch(() => {})]).then(() =>
      this.#candidate.run(candidacy.signal),
    );
    try {
      await elector;
    } finally {
      candidacy.abort();
      await standing;
      for (const source of sources) source.removeEventListener('abort', stop);
    }
  }

  #changed(): void {
    const { isOverrun } = this.#elector;
    if (isOverrun !== this.#isOverrun) {
      this.#isOverrun = isOverrun;
      if (isOverrun) this.#leaveOverrun();
      else if (this.#isStanding && !this.#stopping.signal.aborted) this.#candidate.stand();
    }
    this.#report();
  }

  #leaveOverrun(): void {
    this.#logger.error(
      { candidate: this.identity },
      'The callback still runs although its Lease has expired: the program is not a candidate until the callback ends',
    );
    void this.#candidate.withdraw();
  }

  #report(): void {
    const { state } = this;
    const { holder, role, isStanding } = state;
    const last = this.#lastState;
    if (last?.role === role && last.holder === holder && last.isStanding === isStanding) return;
    this.#lastState = state;
    callSafely(this.#logger, 'onObserved has thrown', () => this.#options.onObserved?.(state));
  }
}

/** How a participant connects to its cluster. */
export interface ConnectionOptions extends KubeConfigSource {
  /** Default: the system clock. */
  readonly clock?: Clock | undefined;
  /** The name of the program in the User-Agent header, which the API server logs. The version of this package is appended. */
  readonly userAgent?: string;
  readonly namespace?: string | undefined;
}

/**
 * Creates the client of a participant. In the result, `namespace` is `options.namespace` or, by default, the namespace
 * of the context (`default` if it has none). `podNamespace` is the namespace of this program's Pod. With a kubeconfig,
 * `podNamespace` is undefined, because the kubeconfig may describe another cluster than the one in which the Pod runs.
 * @throws KubeConfigError if there is no usable kubeconfig or service account.
 */
export function connectParticipant(options: ConnectionOptions) {
  const { clock, userAgent = 'coordinated-leader-election-participant', namespace, ...source } = options;
  const kubeConfig = loadKubeConfig(source);
  const client = createClient({
    kubeConfig,
    ...(clock && { clock }),
    userAgent: `${userAgent}/${version}`,
    // Usual maximum of requests in flight: one for the Lease, one for the LeaseCandidate in each of the two API groups,
    // and one discovery. Watches do not count.
    connections: 4,
  });
  const podNamespace = podNamespaceOf(kubeConfig);
  return { client, namespace: namespace ?? namespaceOf(kubeConfig), podNamespace };
}
