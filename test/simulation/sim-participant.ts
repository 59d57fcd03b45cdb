import type { ApiRequest, KubernetesClient } from '../../src/kubernetes/client.ts';
import { ApiError } from '../../src/kubernetes/errors.ts';
import { Participant } from '../../src/participant/participant.ts';
import type { ParticipantLogger } from '../../src/participant/participant-telemetry.ts';
import type { Term } from '../../src/participant/term.ts';
import { type Instant, SAFE_SHARE } from '../../src/support/clock.ts';
import type { JsonObject } from '../../src/support/json.ts';
import type { Chance } from './chance.ts';
import type { SimCandidateIdentity, SimElectorTiming } from './sim-candidate.ts';
import type { SimConnection } from './sim-connection.ts';
import type { SimProcess } from './sim-process.ts';

/** What others have to do with a participant's doings. */
export interface SimParticipantHooks {
  /** It has ended by itself; a real program is then started again. */
  readonly onExit: () => void;
  /** It believes to lead until then at the longest, in the world's time; undefined: it knows that it does not. */
  readonly onBelief: (until: Instant | undefined) => void;
  readonly onTerm: (term: Term) => void;
  /** It has ended in good order, and nothing is left to be done. */
  readonly onEnded: () => void;
  readonly onViolation: (what: string) => void;
  /** Whether nothing goes wrong any more: what leads goes on until it is told to stop, and then stops soon. */
  readonly isCalm: () => boolean;
  readonly trace: (text: () => string) => void;
}

/** How it differs from others. */
export interface SimParticipantHabits {
  readonly timing: SimElectorTiming;
  /** See {@link SimCandidateHabits}. */
  readonly beliefShare: number;
  /** What it does while it leads is chance. */
  readonly chance: Chance;
}

const NATIVE_CANDIDATES = /^\/apis\/coordination\.k8s\.io\/.*\/leasecandidates/;
const FAILURE = 'what leads has failed';
/** How long what leads takes to stop: most often, and sometimes, which is longer than most Leases last. */
const STOPS_WITHIN_MS = 1000;
const STOPS_LATE_WITHIN_MS = 30_000;
/** After a pause all that was due meanwhile is due. */
const AT_ONCE_MS = 1;
/** What leads may be done before it is told to stop. */
const DONE_WITHIN_MS = 20_000;

/** A program that takes part with this project's own participant. */
export class SimParticipant {
  readonly identity: SimCandidateIdentity;
  readonly process: SimProcess;
  readonly participant: Participant;
  readonly connection: SimConnection;
  readonly #hooks: SimParticipantHooks;
  readonly #habits: SimParticipantHabits;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  #isStopping = false;
  /** The term whose callback goes on. */
  #term: Term | undefined;
  /** In the world's time. */
  #leadsUntil: Instant = Number.NEGATIVE_INFINITY;

  constructor(
    identity: SimCandidateIdentity,
    process: SimProcess,
    connection: SimConnection,
    hooks: SimParticipantHooks,
    habits: SimParticipantHabits,
  ) {
    const { namespace, leaseName: lease, name, binaryVersion, emulationVersion, strategy } = identity;
    const { leaseSeconds, renewDeadlineMs, retryMs: retryPeriodMs } = habits.timing;
    this.identity = identity;
    this.process = process;
    this.connection = connection;
    this.#hooks = hooks;
    this.#habits = habits;
    this.participant = new Participant(
      {
        lease,
        namespace,
        binaryVersion,
        emulationVersion,
        ...(strategy !== undefined && { strategy }),
        identity: name,
        ...(identity.pod && { pod: { ...identity.pod, namespace } }),
        client: this.#client(),
        clock: process,
        leaseDurationMs: leaseSeconds * 1000,
        renewDeadlineMs,
        retryPeriodMs,
        logger: this.#logger(),
      },
      (term) => this.#lead(term),
    );
  }

  get leaseKey(): string {
    return `${this.identity.namespace}/${this.identity.leaseName}`;
  }

  /** Whether it believes to lead right now. */
  get leads(): boolean {
    return this.process.isAlive && this.process.world.now() < this.#leadsUntil;
  }

  get isRunning(): boolean {
    return this.process.isAlive && !this.#isStopping;
  }

  start(): void {
    this.#running = this.participant
      .run(this.#stopping.signal)
      .catch((error: unknown) => {
        if (!(error instanceof Error) || error.message !== FAILURE)
          this.#hooks.onViolation(`${this.identity.name} fails: ${String(error)}`);
      })
      .then(() => this.#ended());
  }

  /** Ends in good order: the callback, then the Lease is released, then the LeaseCandidate is deleted. */
  async stop(): Promise<void> {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.#stopping.abort();
    await this.#running;
  }

  /** Ends at once, and leaves everything as it is. */
  crash(): void {
    this.process.kill();
    this.#follow();
    this.connection.breakWatches();
  }

  #ended(): void {
    const isByItself = !this.#isStopping;
    this.#isStopping = true;
    this.process.kill();
    this.#hooks.trace(() => `${this.identity.name} has ended`);
    this.#hooks.onEnded();
    if (isByItself) this.#hooks.onExit();
  }

  async #lead(term: Term): Promise<void> {
    const { chance } = this.#habits;
    const { trace, isCalm, onTerm } = this.#hooks;
    const { name } = this.identity;
    this.#term = term;
    onTerm(term);
    trace(() => `${name} leads ${this.leaseKey} under ${term.fencingToken}`);
    this.#look();
    this.#watchLapse(term);
    const told = untilAborted(term.signal);
    const isDone = !isCalm() && chance.is(0.1);
    await (isDone ? Promise.race([told, this.#sleep(chance.upTo(DONE_WITHIN_MS))]) : told);
    this.#look();
    const isLate = !isCalm() && chance.is(0.1);
    await this.#sleep(chance.upTo(isLate ? STOPS_LATE_WITHIN_MS : STOPS_WITHIN_MS));
    this.#term = undefined;
    this.#follow();
    trace(() => `${name} has stopped leading ${this.leaseKey}`);
    if (!isCalm() && chance.is(0.05)) throw new Error(FAILURE);
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => void this.process.setTimer(resolve, ms));
  }

  #follow(): void {
    this.#leadsUntil = Number.NEGATIVE_INFINITY;
    this.#hooks.onBelief(undefined);
  }

  /**
   * While its callback goes on, be it told to stop, it believes for as long as the term says that nobody else can lead, and where
   * all clocks are equally fast until the Lease expires.
   */
  #look(): void {
    if (!this.#term || !this.process.isAlive) return;
    const { timing, beliefShare } = this.#habits;
    // What its term leaves for clocks that differ is of no use where they do not.
    const spareMs = Math.max(0, beliefShare - SAFE_SHARE) * timing.leaseSeconds * 1000;
    const untilMs = this.#term.remainingMs();
    const leftMs = (untilMs + spareMs) / this.process.rate;
    if (untilMs === 0) {
      this.#follow();
      return;
    }
    this.#leadsUntil = this.process.world.now() + leftMs;
    this.#hooks.onBelief(this.#leadsUntil);
  }

  /** When a term can be somebody else's, its signal has aborted, or does so at once: many look at nothing else. */
  #watchLapse(term: Term, isOver = false): void {
    const lookInMs = isOver ? AT_ONCE_MS : term.remainingMs() + 1;
    this.process.setTimer(() => {
      if (this.#term !== term || term.signal.aborted) return;
      if (isOver)
        this.#hooks.onViolation(`${this.identity.name} leads ${this.leaseKey} past its last renewal`);
      else this.#watchLapse(term, term.remainingMs() === 0);
    }, lookInMs);
  }

  /** Its connection, with a look at what each renewal makes of its belief. */
  #client(): KubernetesClient {
    const { connection } = this;
    return {
      server: connection.server,
      request: (request) => this.#request(request),
      stream: async (request) => {
        this.#assertAllowed(request);
        return await connection.stream(request);
      },
      close: () => connection.close(),
    };
  }

  async #request(request: ApiRequest): Promise<JsonObject> {
    this.#assertAllowed(request);
    const answer = await this.connection.request(request);
    // The participant takes the answer in before this is looked at.
    if (request.method === 'PUT') this.process.world.setTimer(() => this.#look(), 0);
    return answer;
  }

  /** A program may have been given rights for one group alone. */
  #assertAllowed({ method, path }: ApiRequest): void {
    if (this.identity.source !== 'custom' || !NATIVE_CANDIDATES.test(path)) return;
    throw new ApiError({ method, path, status: 403, message: 'forbidden' });
  }

  #logger(): ParticipantLogger {
    const note = ({ err, ...fields }: { readonly err?: unknown }, message: string) =>
      this.#hooks.trace(() => {
        const why = err === undefined ? '' : `: ${String(err).slice(0, 100)}`;
        return `${this.identity.name} ${message} ${JSON.stringify(fields)}${why}`;
      });
    return { debug: () => {}, info: note, warn: note, error: note };
  }
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
