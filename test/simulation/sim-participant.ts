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

/** Callbacks about a participant. */
export interface SimParticipantHooks {
  /** It has exited by itself. A real program is then started again. */
  readonly onExit: () => void;
  /** Until when it believes at most that it leads, in the world's time; undefined: it knows that it does not lead. */
  readonly onBelief: (until: Instant | undefined) => void;
  readonly onTerm: (term: Term) => void;
  /** It has exited cleanly. */
  readonly onEnded: () => void;
  readonly onViolation: (what: string) => void;
  /** Whether all faults are over: the leading callback then runs until it is told to stop, and stops soon. */
  readonly isCalm: () => boolean;
  readonly trace: (text: () => string) => void;
}

/** Deviations from the usual behaviour. */
export interface SimParticipantHabits {
  readonly timing: SimElectorTiming;
  /** See {@link SimCandidateHabits}. */
  readonly beliefShare: number;
  /** The random behaviour of the leading callback. */
  readonly chance: Chance;
}

const NATIVE_CANDIDATES = /^\/apis\/coordination\.k8s\.io\/.*\/leasecandidates/;
const FAILURE = 'what leads has failed';
/** How long the callback takes to stop: usually, and occasionally, which is longer than most Leases. */
const STOPS_WITHIN_MS = 1000;
const STOPS_LATE_WITHIN_MS = 30_000;
/** After a pause, all timers that are due fire. */
const AT_ONCE_MS = 1;
/** The callback may end before it is told to stop. */
const DONE_WITHIN_MS = 20_000;

/** A program with this project's participant. */
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
  /** The term whose callback still runs. */
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

  /** Whether it believes now that it leads. */
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

  /** Exits cleanly: ends the callback, then releases the Lease, then deletes the LeaseCandidate. */
  async stop(): Promise<void> {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.#stopping.abort();
    await this.#running;
  }

  /** Crashes. The Lease and the LeaseCandidate stay. */
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
   * While its callback runs, even after it is told to stop, the program believes that it leads: for as long as the
   * term guarantees that no other program can lead; and if all clocks have the same rate, until the Lease expires.
   */
  #look(): void {
    if (!this.#term || !this.process.isAlive) return;
    const { timing, beliefShare } = this.#habits;
    // The term's reserve for clock drift is not needed if clocks do not drift.
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

  /**
   * When the term can belong to another program, its signal has aborted, or aborts at once. Many programs check only
   * the signal.
   */
  #watchLapse(term: Term, isOver = false): void {
    const lookInMs = isOver ? AT_ONCE_MS : term.remainingMs() + 1;
    this.process.setTimer(() => {
      if (this.#term !== term || term.signal.aborted) return;
      if (isOver)
        this.#hooks.onViolation(`${this.identity.name} leads ${this.leaseKey} past its last renewal`);
      else this.#watchLapse(term, term.remainingMs() === 0);
    }, lookInMs);
  }

  /** Its connection, which updates its belief with each renewal. */
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
    // The participant handles the answer before this runs.
    if (request.method === 'PUT') this.process.world.setTimer(() => this.#look(), 0);
    return answer;
  }

  /** A program may have permissions for one group only. */
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
