import { decodeLease } from '../../src/coordination/lease.ts';
import {
  type Action,
  type Decision,
  isLeaseWrite,
  type LeaseChange,
  type PingCandidate,
} from '../../src/election/decision.ts';
import type { LeaseMemory } from '../../src/election/lease-memory.ts';
import type { ElectionSettings, Instant, Lease, LeaseCandidate, Now } from '../../src/election/model.ts';
import { withNotes, withoutNotes } from '../../src/election/notes.ts';
import type { ElectionInput } from '../../src/election/view.ts';
import { InMemoryElection } from '../../src/inspection/in-memory-election.ts';
import { LeaseBuilder, makeCandidate, makeInput, makeNow, wallAt } from './election-builders.ts';

/** The behaviour of a simulated program. */
export interface SimCandidateOptions {
  readonly binary?: string;
  readonly emulation?: string;
  readonly strategy?: string;
  /** v1alpha1: an ordered list instead of one strategy. */
  readonly strategies?: readonly string[];
  /** How far its clock is ahead of ours, in milliseconds; negative if it is behind. */
  readonly clockAheadMs?: number;
  /** Its latency of answers to pings, in milliseconds; Infinity: it never answers. */
  readonly answersAfterMs?: number;
  /**
   * `coordinated` as client-go's; `plain` erases unknown fields and takes expired Leases; `none` answers pings but
   * never takes up a grant.
   */
  readonly elector?: 'coordinated' | 'plain' | 'none';
  /** When the elector reads the Lease within its period of 2 s, in milliseconds. */
  readonly looksAtMs?: number;
  /** True: renews every 5 min. False: renews only after a ping. */
  readonly renewsByItself?: boolean;
  /** The age of its last renewal when it is added; default: it renews at that moment. */
  readonly lastRenewedMsAgo?: number;
}

const LOOK_PERIOD_MS = 2000;
const RENEWED_LEASE_SECONDS = 15;
const YIELD_MS = 10_000;
const RENEW_PERIOD_MS = 5 * 60_000;
/** More decisions with actions at one instant count as a storm. */
const STEPS_AT_ONE_INSTANT = 12;

interface SimProgram {
  readonly name: string;
  readonly options: Required<
    Pick<SimCandidateOptions, 'answersAfterMs' | 'elector' | 'looksAtMs' | 'clockAheadMs' | 'renewsByItself'>
  >;
  /** Runs and reaches the API server. */
  isReachable: boolean;
  /** Incremented with every crash, so that pending work of an earlier process has no effect. */
  life: number;
  believesUntil: Instant;
  seenRecord: string;
  seenSince: Instant;
  yieldsAt: Instant | undefined;
}

interface Event {
  readonly at: Instant;
  readonly order: number;
  readonly run: () => void;
}

/**
 * One election in memory and virtual time, with the programs of its candidates. They behave like client-go's, and
 * fail as tests request. Observations are never outdated, because this tests the pure core.
 */
export class SimElection {
  readonly transcript: string[] = [];
  /** Broken promises: two leaders, or a ping that a candidate cannot answer. */
  readonly violations: string[] = [];
  readonly decisions: Decision[] = [];
  /** Every ping that was sent. */
  readonly pings: { readonly name: string; readonly at: Instant }[] = [];
  /** Number of executed actions. */
  actionsApplied = 0;
  /** Number of new strategy conflicts. */
  conflictsReported = 0;
  /** Moves our own wall clock permanently. */
  wallJumpMs = 0;
  /** False for a server that drops strategy and preferredHolder. */
  isGateOn = true;
  /** False for a server that also drops our annotations. */
  keepsNotes = true;

  #election: InMemoryElection;
  readonly #settings: Partial<ElectionSettings>;
  /** A write's answer and the watch's event arrive in either order. */
  readonly #isWatchFirst: boolean;
  readonly #programs = new Map<string, SimProgram>();
  #events: Event[] = [];
  #at: Instant = 0;
  #ordered = 0;
  #leasesMade = 0;
  #requeueAt: Instant | undefined;
  #noted = '';

  constructor(options: { settings?: Partial<ElectionSettings>; isWatchFirst?: boolean } = {}) {
    this.#settings = options.settings ?? {};
    this.#election = this.#newElection();
    this.#isWatchFirst = options.isWatchFirst ?? false;
  }

  get at(): Instant {
    return this.#at;
  }

  get now(): Now {
    return makeNow(this.#at, this.wallJumpMs);
  }

  get input(): ElectionInput {
    return this.#election.input;
  }

  get lease(): Lease | undefined {
    return this.#election.lease;
  }

  get memory(): LeaseMemory {
    return this.input.memory;
  }

  /** The programs that believe now that they lead. */
  get believers(): readonly string[] {
    return [...this.#programs.values()]
      .filter(({ believesUntil }) => this.#at < believesUntil)
      .map(({ name }) => name);
  }

  /** The holder of the Lease, if its program runs and takes up grants. */
  get liveHolder(): string | undefined {
    const program = this.#programs.get(this.lease?.holderIdentity ?? '');
    return program?.isReachable && program.options.elector !== 'none' ? program.name : undefined;
  }

  get reachableCandidates(): readonly string[] {
    return this.candidateNames.filter((name) => this.#programs.get(name)?.isReachable);
  }

  pingTimesOf(name: string): readonly Instant[] {
    return this.pings.filter((ping) => ping.name === name).map(({ at }) => at);
  }

  pingsTo(name: string): number {
    return this.pingTimesOf(name).length;
  }

  emulationOf(name: string): string {
    return this.candidate(name)?.emulationVersion ?? '';
  }

  get candidateNames(): readonly string[] {
    return this.input.candidates.map(({ candidate }) => candidate.name);
  }

  candidate(name: string): LeaseCandidate | undefined {
    return this.#election.candidate(name);
  }

  /** A program starts and creates its LeaseCandidate. */
  add(name: string, options: SimCandidateOptions = {}): this {
    const {
      binary = '1.36.0',
      emulation = binary,
      strategy = 'OldestEmulationVersion',
      strategies,
    } = options;
    const { clockAheadMs = 0, answersAfterMs = 100, elector = 'coordinated', looksAtMs = 500 } = options;
    const { renewsByItself = true } = options;
    this.#stop(name, true);
    const previous = this.#programs.get(name);
    const program: SimProgram = {
      name,
      options: { clockAheadMs, answersAfterMs, elector, looksAtMs, renewsByItself },
      isReachable: true,
      life: (previous?.life ?? 0) + 1,
      believesUntil: Number.NEGATIVE_INFINITY,
      seenRecord: '',
      seenSince: this.#at,
      yieldsAt: undefined,
    };
    this.#programs.set(name, program);
    const built = makeCandidate(name)
      .versions(binary, emulation)
      .createdAt(this.#at)
      .with({
        uid: `${name}#${program.life}`,
        renewTime: wallAt(this.#at + clockAheadMs - (options.lastRenewedMsAgo ?? 0)),
      });
    this.#note(
      name,
      `is a candidate: ${binary}, emulating ${emulation}, ${(strategies ?? [strategy]).join(' > ')}`,
    );
    this.#election.putCandidate(
      (strategies ? built.wantsInOrder(...strategies) : built.wants(strategy)).build(),
    );
    this.#startTicking(program);
    this.#reconcile();
    return this;
  }

  /** Changes the version of a program without a restart: its LeaseCandidate is updated and renewed. */
  upgrade(name: string, binary: string, emulation = binary): this {
    const candidate = this.candidate(name);
    if (candidate) {
      this.#note(name, `is now ${binary}, emulating ${emulation}`);
      this.#election.putCandidate({ ...candidate, binaryVersion: binary, emulationVersion: emulation });
      this.#reconcile();
    }
    return this;
  }

  /** Deletes its LeaseCandidate. The program may continue to run. */
  remove(name: string): this {
    this.#note(name, 'is no candidate any more');
    this.#election.removeCandidate(name);
    this.#reconcile();
    return this;
  }

  /** Crashes the program. */
  crash(name: string): this {
    this.#note(name, 'crashes');
    this.#stop(name, true);
    return this;
  }

  /**
   * Cuts the program off from the API server. With `releasesLateMs`, it gives up this long after it must have stopped
   * leading (negative: before), and then empties the Lease, whoever holds it.
   */
  cutOff(name: string, releasesLateMs?: number): this {
    const program = this.#programs.get(name);
    if (!program?.isReachable) return this;
    this.#note(name, 'is cut off');
    this.#stop(name, false);
    if (releasesLateMs === undefined || program.believesUntil <= this.#at) return this;
    const { life } = program;
    this.#schedule(Math.max(this.#at, program.believesUntil + releasesLateMs), () => {
      if (program.life !== life) return;
      this.#note(name, 'gives up, and releases whatever it finds');
      program.believesUntil = Number.NEGATIVE_INFINITY;
      this.#release();
    });
    return this;
  }

  /** Ends a crash or a cut. */
  recover(name: string): this {
    const program = this.#programs.get(name);
    if (!program || program.isReachable) return this;
    this.#note(name, 'is back');
    program.isReachable = true;
    program.life++;
    program.seenRecord = '';
    program.yieldsAt = undefined;
    this.#startTicking(program);
    this.#renewCandidate(name);
    this.#reconcile();
    return this;
  }

  /** Stops cleanly: the program releases its Lease, and does nothing afterwards. */
  stopCleanly(name: string): this {
    const holds = this.#programs.get(name)?.isReachable && this.lease?.holderIdentity === name;
    this.#note(name, 'stops');
    this.#stop(name, true);
    if (holds) this.#release();
    return this;
  }

  /** Releases the Lease as its holder. The program stays a candidate. */
  release(name: string): this {
    const program = this.#programs.get(name);
    if (program?.isReachable && this.lease?.holderIdentity === name) {
      this.#note(name, 'releases the Lease');
      program.believesUntil = Number.NEGATIVE_INFINITY;
      this.#release();
    }
    return this;
  }

  renewCandidate(name: string): this {
    this.#renewCandidate(name);
    this.#reconcile();
    return this;
  }

  deleteLease(): this {
    this.#note('somebody', 'deletes the Lease');
    this.#election.putLease(undefined);
    this.#reconcile();
    return this;
  }

  /** Another client changes or creates the Lease. */
  editLease(changes: Partial<Lease>, what = 'edits the Lease'): this {
    this.#note('somebody', what);
    this.#election.putLease({ ...(this.lease ?? this.#newLease()), ...changes });
    this.#reconcile();
    return this;
  }

  /** Another program's elector releases the Lease, whoever holds it. */
  releaseAsFound(): this {
    const released = { holderIdentity: '', leaseDurationSeconds: 1, isDurationHolders: true } as const;
    return this.editLease({ ...released, renewTime: wallAt(this.#at) }, 'releases the Lease as found');
  }

  emptyLease(): this {
    return this.editLease({ holderIdentity: '' }, 'empties the Lease');
  }

  /** A client without a candidate writes its own name into the Lease, once. */
  usurp(leaseDurationSeconds: number): this {
    const changes = { holderIdentity: 'stranger', leaseDurationSeconds, renewTime: wallAt(this.#at) };
    return this.editLease(changes, 'puts a stranger into the Lease');
  }

  shorten(leaseDurationSeconds: number): this {
    return this.editLease({ leaseDurationSeconds }, `shortens the Lease to ${leaseDurationSeconds} s`);
  }

  /** Lets `ms` of virtual time pass, with all events in it. */
  run(ms: number): this {
    const until = this.#at + ms;
    for (;;) {
      const event = this.#events.reduce<Event | undefined>(
        (first, other) =>
          !first || other.at < first.at || (other.at === first.at && other.order < first.order)
            ? other
            : first,
        undefined,
      );
      const nextAt = Math.min(
        event?.at ?? Number.POSITIVE_INFINITY,
        this.#requeueAt ?? Number.POSITIVE_INFINITY,
      );
      if (nextAt > until) break;
      this.#at = nextAt;
      if (event && event.at === nextAt) {
        this.#events = this.#events.filter((other) => other !== event);
        event.run();
      } else {
        this.#reconcile();
      }
      this.#checkLeaders();
    }
    this.#at = until;
    return this;
  }

  /** Another coordinator with an empty memory takes over. */
  replaceCoordinator(): this {
    const { lease, input } = this;
    this.#note('somebody', 'replaces the coordinator');
    this.#election = this.#newElection();
    if (lease) this.#election.putLease(lease);
    for (const { candidate } of input.candidates) this.#election.putCandidate(candidate);
    this.#reconcile();
    return this;
  }

  #newElection(): InMemoryElection {
    return new InMemoryElection(makeInput().settings(this.#settings).build(), () => this.now);
  }

  /** Returns the decision at this moment. */
  decide(): Decision {
    return this.#election.decide();
  }

  #reconcile(): void {
    for (let step = 0; ; step++) {
      const decision = this.decide();
      this.decisions.push(decision);
      this.#requeueAt = decision.requeue.kind === 'at' ? decision.requeue.time : undefined;
      this.#noteDecision(decision);
      if (step === STEPS_AT_ONE_INSTANT) {
        throw new Error(
          `decides forever at ${this.#at}: ${decision.reason} ${describeActions(decision.actions)}`,
        );
      }
      this.#apply(decision);
      // Without a write there is no observation, and no reason to decide again.
      if (decision.actions.length === 0) return;
    }
  }

  #apply(decision: Decision): void {
    const { actions, conflict } = decision;
    if (conflict !== undefined && conflict !== this.memory.conflict) this.conflictsReported++;
    this.#election.accept(decision);
    this.actionsApplied += actions.length;
    for (const action of actions) {
      this.#checkBasis(action);
      this.#carryOut(action);
      if (action.kind === 'PingCandidate') this.#deliver(action);
    }
  }

  #checkBasis(action: Action): void {
    const found = isLeaseWrite(action) ? this.lease : this.candidate(action.name);
    const basis = action.kind === 'CreateLease' ? undefined : action;
    if (found?.uid !== basis?.uid || found?.resourceVersion !== basis?.resourceVersion) {
      this.violations.push(`${this.#at}: ${action.kind} finds something other than what was decided on`);
    }
  }

  #carryOut(action: Action): void {
    const sent = this.#election.send(action);
    const lease = sent && this.#stored(sent);
    if (!this.#isWatchFirst) this.#election.answer(action, lease);
    this.#election.see(action, lease);
    if (this.#isWatchFirst) this.#election.answer(action, lease);
  }

  /** Returns the fields of a Lease that the server keeps. */
  #stored(sent: Lease): Lease {
    const kept = this.keepsNotes ? sent : withoutNotes(sent);
    return this.isGateOn ? kept : withoutGatedFields(kept);
  }

  /** A ping reaches its candidate's program. */
  #deliver({ name, pingTime }: PingCandidate): void {
    const program = this.#programs.get(name);
    const renewTime = this.candidate(name)?.renewTime;
    if (!program) return;
    this.pings.push({ name, at: this.#at });
    if (renewTime !== undefined && pingTime <= renewTime) {
      this.violations.push(`${this.#at}: a ping that ${name} may ignore`);
    }
    if (pingTime > wallAt(this.#at + program.options.clockAheadMs) + 1n) {
      this.violations.push(`${this.#at}: a ping that is ahead of the clock of ${name}`);
    }
    const { life } = program;
    this.#schedule(this.#at + program.options.answersAfterMs, () => {
      if (!program.isReachable || program.life !== life || !this.candidate(name)) return;
      this.#note(name, 'answers');
      this.#renewCandidate(name);
      this.#reconcile();
    });
  }

  #newLease(): Lease {
    const uid = `lease#${++this.#leasesMade}`;
    return decodeLease({ metadata: { namespace: 'kube-system', name: 'scheduler', uid } });
  }

  #release(): void {
    if (!this.lease) return;
    this.#election.putLease(new LeaseBuilder(this.lease).releasedAt(this.#at).build());
    this.#reconcile();
  }

  #renewCandidate(name: string): void {
    const candidate = this.candidate(name);
    const program = this.#programs.get(name);
    if (!candidate || !program) return;
    this.#election.putCandidate({ ...candidate, renewTime: wallAt(this.#at + program.options.clockAheadMs) });
  }

  #stop(name: string, isDead: boolean): void {
    const program = this.#programs.get(name);
    if (!program) return;
    program.isReachable = false;
    program.life++;
    if (isDead) program.believesUntil = Number.NEGATIVE_INFINITY;
  }

  #startTicking(program: SimProgram): void {
    const { life } = program;
    const isCurrent = () => this.#programs.get(program.name) === program && program.life === life;
    const look = () => {
      if (!isCurrent()) return;
      this.#look(program);
      this.#schedule(this.#at + LOOK_PERIOD_MS, look);
    };
    const renew = () => {
      if (!isCurrent()) return;
      this.#renewCandidate(program.name);
      this.#reconcile();
      this.#schedule(this.#at + RENEW_PERIOD_MS, renew);
    };
    if (program.options.elector !== 'none') this.#schedule(this.#at + program.options.looksAtMs, look);
    if (program.options.renewsByItself) this.#schedule(this.#at + RENEW_PERIOD_MS, renew);
  }

  /** One run of client-go's elector. */
  #look(program: SimProgram): void {
    // client-go's electors do not read annotations.
    const lease = this.lease && withoutNotes(this.lease);
    if (!lease) return;
    const record = `${lease.uid} ${lease.holderIdentity} ${lease.renewTime} ${lease.leaseDurationSeconds}`;
    if (record !== program.seenRecord) {
      program.seenRecord = record;
      program.seenSince = this.#at;
    }
    const hasExpired =
      this.#at >= program.seenSince + (lease.leaseDurationSeconds ?? RENEWED_LEASE_SECONDS) * 1000;
    if (program.options.elector === 'plain') {
      this.#lookPlainly(program, lease, hasExpired);
      return;
    }
    // A coordinated elector does not touch a Lease that it does not hold, or one of its own that has expired.
    if (lease.holderIdentity !== program.name || hasExpired) return;
    if (lease.preferredHolder === undefined) {
      program.yieldsAt = undefined;
      this.#renewLease(program, lease);
      return;
    }
    if (program.yieldsAt === undefined)
      this.#note(program.name, `stops renewing for ${lease.preferredHolder}`);
    program.yieldsAt ??= this.#at + YIELD_MS;
    if (this.#at >= program.yieldsAt) program.believesUntil = Number.NEGATIVE_INFINITY;
  }

  #lookPlainly(program: SimProgram, lease: Lease, hasExpired: boolean): void {
    if (lease.holderIdentity !== program.name && lease.holderIdentity !== '' && !hasExpired) return;
    this.#renewLease(program, {
      ...lease,
      holderIdentity: program.name,
      strategy: undefined,
      preferredHolder: undefined,
    });
  }

  #renewLease(program: SimProgram, lease: Lease): void {
    if (this.#at >= program.believesUntil) this.#note(program.name, 'leads');
    program.believesUntil = this.#at + RENEWED_LEASE_SECONDS * 1000;
    const renewed = {
      ...lease,
      renewTime: wallAt(this.#at + program.options.clockAheadMs),
      leaseDurationSeconds: RENEWED_LEASE_SECONDS,
    };
    this.#election.putLease(withNotes(renewed, this.lease?.notes));
    this.#checkLeaders();
    this.#reconcile();
  }

  #checkLeaders(): void {
    const { believers } = this;
    if (believers.length > 1) this.violations.push(`${this.#at}: ${believers.join(' and ')} both lead`);
  }

  #schedule(at: Instant, run: () => void): void {
    this.#events.push({ at, order: this.#ordered++, run });
  }

  #noteDecision(decision: Decision): void {
    const actions = describeActions(decision.actions);
    const text = actions === '' ? decision.reason : `${decision.reason}: ${actions}`;
    // Only news: omits a decision without actions that repeats the previous one.
    if (actions === '' && decision.reason === this.#noted) return;
    this.#noted = decision.reason;
    this.#note('>', text);
  }

  #note(who: string, what: string): void {
    this.transcript.push(
      `${(this.#at / 1000).toFixed(3).padStart(9)} s  ${who === '>' ? '=>' : who} ${what}`,
    );
  }
}

/** Returns a Lease as a server with its feature gate off stores it: the server accepts the fields and drops them. */
function withoutGatedFields(lease: Lease): Lease {
  const dropped = { strategy: undefined, preferredHolder: undefined, isPreferredHolderOurs: false };
  return withNotes({ ...withoutNotes(lease), ...dropped }, lease.notes);
}

/** Describes actions, with all pings of one purpose together. */
export function describeActions(actions: readonly Action[]): string {
  const pings = Map.groupBy(
    actions.filter((action) => action.kind === 'PingCandidate'),
    ({ purpose }) => purpose,
  );
  return [
    ...actions.flatMap((action) => {
      if (action.kind === 'PingCandidate') return [];
      if (action.kind === 'DeleteCandidate') return [`delete ${action.name}`];
      if (action.kind === 'CreateLease')
        return [`create the Lease for ${action.grant?.holder ?? 'nobody'}, ${action.strategy}`];
      return [describeChange(action.change)];
    }),
    ...[...pings].map(([purpose, sent]) => `ping ${sent.map(({ name }) => name).join(', ')} (${purpose})`),
  ].join('; ');
}

function describeChange(change: LeaseChange): string {
  switch (change.kind) {
    case 'grant':
      return `grant the Lease to ${change.grant.holder}, ${change.strategy}, transition ${change.leaseTransitions}`;
    case 'prefer':
      return `prefer ${change.preferredHolder}, ${change.strategy}`;
    case 'fence':
      return `fence the Lease for ${change.leaseDurationSeconds} s, transition ${change.leaseTransitions}`;
    case 'release':
      return 'empty the Lease';
    case 'clearPreferredHolder':
      return 'remove preferredHolder';
    case 'strategy':
      return `name the strategy ${change.strategy}`;
  }
}
