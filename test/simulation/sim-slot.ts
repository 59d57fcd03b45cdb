import type { Instant } from '../../src/support/clock.ts';
import { SimCandidate } from './sim-candidate.ts';
import type { SimConnection } from './sim-connection.ts';
import type { SimLink } from './sim-link.ts';
import { SimParticipant } from './sim-participant.ts';
import type { SimPlainElector } from './sim-plain-elector.ts';
import type { SlotPlan } from './sim-plan.ts';
import type { SimProcess } from './sim-process.ts';

/** A candidate program: with client-go's elector, or with this project's participant. */
export type SimContender = SimCandidate | SimParticipant;

/** A program in a slot. */
export interface SimProgram {
  readonly name: string;
  readonly process: SimProcess;
  readonly connection: SimConnection;
  readonly link: SimLink;
  readonly actor: SimContender | SimPlainElector;
}

/** What a slot needs of its world. */
export interface SimSlotWorld {
  now(): Instant;
  /** Starts the next program of a slot, under `name`. */
  startProgram(slot: SimSlot, name: string): SimProgram;
  after(ms: number, then: () => void): void;
  note(text: () => string): void;
  /** The slot's own random numbers, from 0 to 1. */
  random(slot: SimSlot): number;
}

/** A place in which programs run one after the other. */
export class SimSlot {
  plan: SlotPlan;
  program: SimProgram | undefined;
  /** When its program was last started, ended or affected by a fault. */
  touchedAt: Instant = 0;
  /** Whether the electors of its programs hang while their candidates still answer pings. */
  isHanging = false;
  /** When the electors last went on after they had hung. */
  hungUntil: Instant = Number.NEGATIVE_INFINITY;
  readonly #world: SimSlotWorld;
  #generation = 0;
  /** The name of the next program, if it keeps a name. */
  #nextName: string | undefined;

  constructor(plan: SlotPlan, world: SimSlotWorld) {
    this.plan = plan;
    this.#world = world;
  }

  get key(): string {
    return `${this.plan.lease.namespace}/${this.plan.lease.name}`;
  }

  /** The program that runs in the slot and takes part in elections. */
  get candidate(): SimContender | undefined {
    const { actor } = this.program ?? {};
    const isContender = actor instanceof SimCandidate || actor instanceof SimParticipant;
    return isContender && actor.isRunning ? actor : undefined;
  }

  start(): void {
    if (this.program) return;
    this.#touch();
    const { name, keepsName } = this.plan;
    this.#generation++;
    const own = keepsName ? name : `${name}-${this.#generation}`;
    this.program = this.#world.startProgram(this, this.#nextName ?? own);
    this.#nextName = undefined;
  }

  /** The program exited by itself, and is started again. */
  ended(program: SimProgram['actor']): void {
    if (this.program?.actor !== program) return;
    this.#startAgainIn(1000 + 5000 * this.#world.random(this));
  }

  pause(ms: number): boolean {
    const { program } = this;
    if (!program || program.process.isPaused) return false;
    this.#touch();
    this.#world.note(() => `${program.name} sleeps for ${ms} ms`);
    program.process.pause(ms);
    this.#world.after(ms, () => this.#touch());
    return true;
  }

  resume(): void {
    this.program?.process.resume();
  }

  crash(startAgainMs: number): boolean {
    const { program } = this;
    if (!program) return false;
    this.#world.note(() => `${program.name} crashes`);
    this.#startAgainIn(startAgainMs);
    program.actor.crash();
    return true;
  }

  stop(startAgainMs: number): boolean {
    const { program } = this;
    const { candidate } = this;
    if (!program || !candidate) return false;
    this.#world.note(() => `${program.name} stops`);
    this.program = undefined;
    this.#touch();
    // Two programs with one name at the same time would be a user's error.
    void candidate.stop().then(() => this.#startAgainIn(startAgainMs));
    return true;
  }

  replace(startAgainMs: number, versions: Pick<SlotPlan, 'binaryVersion' | 'emulationVersion'>): boolean {
    if (!this.stop(startAgainMs)) return false;
    this.plan = { ...this.plan, ...versions };
    return true;
  }

  /** Its program crashes, and comes back under its name with a LeaseCandidate of the other group. */
  changeGroup(startAgainMs: number): boolean {
    const { program } = this;
    if (!program || this.plan.isPlain || !this.crash(startAgainMs)) return false;
    this.plan = { ...this.plan, source: this.plan.source === 'native' ? 'custom' : 'native' };
    this.#nextName = program.name;
    return true;
  }

  hang(isHanging: boolean): void {
    this.#touch();
    this.#world.note(() => `the elector of ${this.plan.name} ${isHanging ? 'hangs' : 'goes on'}`);
    this.isHanging = isHanging;
    if (!isHanging) this.hungUntil = this.#world.now();
  }

  jumpWallClock(byMs: number): boolean {
    this.#touch();
    this.program?.process.jumpWallClock(byMs);
    return this.program !== undefined;
  }

  #touch(): void {
    this.touchedAt = this.#world.now();
  }

  #startAgainIn(ms: number): void {
    this.#touch();
    this.program = undefined;
    this.#world.after(ms, () => this.start());
  }
}
