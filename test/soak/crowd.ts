import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiAccess } from '../control-plane/api-request.ts';
import { candidatePath, leasePath } from '../control-plane/cluster-objects.ts';
import type { ChangeType, WatchedObject } from '../control-plane/followed-objects.ts';
import type { WatchedCandidate, WatchedLease } from '../control-plane/watched-objects.ts';
import { type Ask, askerOf } from './ask.ts';
import { FollowedCollection, keyOf } from './followed-collection.ts';
import { Program } from './program.ts';
import { Seat } from './seat.ts';

const TICK_MS = 200;
const EMULATION_VERSIONS = ['1.34.0', '1.35.0', '1.36.0'] as const;
/** Number of namespaces of Leases, plus a few that come later. */
const NAMESPACES = 20;
/** One of this many new components gets its own namespace. */
const NEW_NAMESPACE_EVERY = 20;
/** A program that has ended is replaced within this time. */
const REPLACED_WITHIN_MS = 5_000;
/** The objects of a crashed program or a removed component are deleted after this time, or up to twice of it. */
const CLEARED_AFTER_MS = 60_000;
/** Interval of retries of a deletion. */
const RETRY_MS = 2_000;

export interface CrowdSize {
  readonly leases: number;
  /** For each Lease. */
  readonly candidates: number;
}

/**
 * Thousands of programs in this process, with one watch for all: programs of client-go have two watches each, and
 * would leave no capacity of a small machine to the tested coordinator.
 */
export class Crowd {
  readonly #size: CrowdSize;
  readonly #random: () => number;
  readonly #ask: Ask;
  readonly #programs = new Map<string, Program>();
  readonly #seats = new Map<string, Seat>();
  /** Objects without a program, by path, and when to delete them. */
  readonly #remains = new Map<string, number>();
  /** Programs that will start later. */
  #arrivals: { readonly seat: Seat; readonly at: number }[] = [];
  readonly #namespaces: string[] = [];
  readonly #closers: (() => void)[] = [];
  #numbers = 0;
  #isStopped = false;
  #isAway = false;

  private constructor(ask: Ask, size: CrowdSize, random: () => number) {
    this.#ask = async (...asked) => {
      const outcome = await ask(...asked);
      this.#isAway = outcome.status === 0;
      return outcome;
    };
    this.#size = size;
    this.#random = random;
  }

  /** Creates the initial components. */
  static async start(access: ApiAccess, size: CrowdSize, random: () => number): Promise<Crowd> {
    const { ask, close } = askerOf(access);
    const crowd = new Crowd(ask, size, random);
    crowd.#closers.push(close);
    try {
      await crowd.#follow({ access, ask });
      while (crowd.#seats.size < size.leases) await crowd.introduce();
      return crowd;
    } catch (error) {
      crowd.stop();
      throw error;
    }
  }

  stop(): void {
    this.#isStopped = true;
    for (const close of this.#closers.toReversed()) close();
  }

  /** Whether the last request to the server had no answer. */
  get isServerAway(): boolean {
    return this.#isAway;
  }

  get ask(): Ask {
    return this.#ask;
  }

  get seats(): readonly Seat[] {
    return [...this.#seats.values()];
  }

  get programs(): readonly Program[] {
    return [...this.#programs.values()];
  }

  /** Number of Leases whose leader runs. */
  get led(): number {
    return this.seats.filter((seat) => seat.isInOrder && this.holderOf(seat)).length;
  }

  /**
   * Whether the expected number of programs runs, each has its candidate, each Lease has a leader, and nothing else
   * exists.
   */
  get isInOrder(): boolean {
    const { leases, candidates } = this.#size;
    return (
      this.#remains.size === 0 &&
      this.#programs.size === leases * candidates &&
      this.programs.every(({ isPublished }) => isPublished) &&
      this.led === leases
    );
  }

  /** For people. */
  get state(): string {
    const published = this.programs.filter(({ isPublished }) => isPublished).length;
    return `${this.led} of ${this.#seats.size} Leases led, ${published} of ${this.#programs.size} programs with a candidate, ${this.#remains.size} remains`;
  }

  /** The running program that holds the Lease. */
  holderOf({ namespace, holder }: Seat): Program | undefined {
    return this.#programs.get(`${namespace}/${holder}`);
  }

  /** All programs that can get the Lease. */
  programsOf({ namespace, lease }: Seat): readonly Program[] {
    return this.programs.filter(({ identity: its }) => its.namespace === namespace && its.lease === lease);
  }

  /** Creates a component: a Lease and its programs. */
  async introduce(): Promise<void> {
    const number = this.#nextNumber();
    const hasOwn = this.#namespaces.length < NAMESPACES || this.#random() * NEW_NAMESPACE_EVERY < 1;
    const namespace = hasOwn ? `soak-${number}` : this.any(this.#namespaces);
    if (hasOwn) {
      this.#namespaces.push(namespace);
      await this.#createNamespace(namespace);
    }
    const seat = new Seat(this.#ask, namespace, `component-${number}`);
    this.#seats.set(`${namespace}/${seat.lease}`, seat);
    for (let count = 0; count < this.#size.candidates; count += 1) this.#startProgram(seat);
  }

  /** Removes a component: its programs, their candidates, its Lease. */
  retire(seat: Seat): void {
    this.#seats.delete(`${seat.namespace}/${seat.lease}`);
    this.#arrivals = this.#arrivals.filter((arrival) => arrival.seat !== seat);
    for (const program of this.programsOf(seat)) this.#endProgram(program, 0);
    this.#remains.set(seat.path, performance.now() + RETRY_MS);
  }

  /**
   * Ends a program, which another one replaces. If it ends cleanly, it releases its Lease and deletes its candidate.
   */
  async end(seat: Seat, program: Program, isInOrder: boolean): Promise<void> {
    const holds = this.holderOf(seat) === program;
    this.#endProgram(program, isInOrder ? 0 : this.#clearedAfterMs());
    this.#arrivals.push({ seat, at: performance.now() + REPLACED_WITHIN_MS * this.#random() });
    if (isInOrder && holds) await seat.release();
  }

  /** Deletes an object. Its program continues. */
  async delete({ path }: Program | Seat): Promise<void> {
    await this.#ask('DELETE', path);
  }

  /** Returns a version for a program. */
  anyVersion(): string {
    return this.any(EMULATION_VERSIONS);
  }

  any<T>(all: readonly T[]): T {
    const any = all[Math.floor(this.#random() * all.length)];
    if (any === undefined) throw new Error('there is nothing to choose from');
    return any;
  }

  /** Resumes all stalled programs, and deletes all objects without a program. */
  settle(): void {
    for (const program of this.#programs.values()) program.stall(0);
    for (const [path, at] of this.#remains) if (at !== Number.POSITIVE_INFINITY) this.#remains.set(path, 0);
  }

  async #follow(server: { readonly access: ApiAccess; readonly ask: Ask }): Promise<void> {
    const candidates = await FollowedCollection.start<WatchedCandidate>(
      server,
      '/apis/coordination.k8s.io/v1beta1/leasecandidates',
      (type, object) =>
        this.#see(
          this.#programs,
          candidatePath({ apiVersion: 'coordination.k8s.io/v1beta1', ...object.metadata }),
          type,
          object,
        ),
    );
    this.#closers.push(() => candidates.stop());
    const leases = await FollowedCollection.start<WatchedLease>(
      server,
      '/apis/coordination.k8s.io/v1/leases',
      (type, object) => this.#see(this.#seats, leasePath(object.metadata), type, object),
    );
    this.#closers.push(() => leases.stop());
    const timer = setInterval(() => this.#tick(performance.now()), TICK_MS);
    this.#closers.push(() => clearInterval(timer));
  }

  #see<T extends WatchedObject>(
    actors: ReadonlyMap<string, { see(object: T | undefined): void }>,
    path: string,
    type: ChangeType,
    object: T,
  ): void {
    const actor = actors.get(keyOf(object));
    if (actor) actor.see(type === 'DELETED' ? undefined : object);
    else if (type === 'DELETED') this.#remains.delete(path);
    else if (!this.#remains.has(path) && object.metadata.namespace.startsWith('soak-'))
      this.#remains.set(path, performance.now() + this.#clearedAfterMs());
  }

  #tick(now: number): void {
    const due = this.#arrivals.filter(({ at }) => at <= now);
    this.#arrivals = this.#arrivals.filter(({ at }) => at > now);
    for (const { seat } of due) this.#startProgram(seat);
    for (const program of this.#programs.values()) program.tick(now);
    for (const seat of this.#seats.values()) {
      const holder = this.holderOf(seat);
      if (holder && !holder.isStalled) seat.tick(now);
    }
    for (const [path, at] of this.#remains) if (at <= now) this.#clear(path, now);
  }

  #clear(path: string, now: number): void {
    // One attempt at a time, to not flood a slow server.
    this.#remains.set(path, Number.POSITIVE_INFINITY);
    void this.#ask('DELETE', path).then(({ status }) => {
      if (status === 200 || status === 404) this.#remains.delete(path);
      else this.#remains.set(path, now + RETRY_MS);
    });
  }

  async #createNamespace(name: string): Promise<void> {
    while (!this.#isStopped) {
      const { status } = await this.#ask('POST', '/api/v1/namespaces', { metadata: { name } });
      if (status === 201 || status === 409) return;
      await sleep(RETRY_MS);
    }
  }

  #startProgram(seat: Seat): void {
    const { namespace, lease } = seat;
    const name = `${lease}-${this.#nextNumber()}`;
    const program = new Program(this.#ask, { namespace, lease, name }, this.anyVersion());
    this.#programs.set(`${namespace}/${name}`, program);
  }

  #endProgram(program: Program, clearedAfterMs: number): void {
    const { namespace, name } = program.identity;
    program.end();
    this.#programs.delete(`${namespace}/${name}`);
    this.#remains.set(program.path, performance.now() + clearedAfterMs);
  }

  #clearedAfterMs(): number {
    return CLEARED_AFTER_MS * (1 + this.#random());
  }

  #nextNumber(): number {
    this.#numbers += 1;
    return this.#numbers;
  }
}
