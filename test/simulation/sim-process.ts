import type { Clock } from '../../src/support/clock.ts';
import type { VirtualClock } from '../support/virtual-clock.ts';

/** Offset of a process's clocks from the world's, in milliseconds, and their rate. */
export interface SimSkew {
  readonly monotonicMs?: number;
  readonly wallMs?: number;
  /** Default: 1. */
  readonly rate?: number;
}

/** A process with its own clocks. It can be paused or killed while time goes on. */
export class SimProcess implements Clock {
  readonly world: VirtualClock;
  onKilled: () => void = () => {};
  readonly rate: number;
  readonly #monotonicSkewMs: number;
  #wallSkewMs: number;
  #lowestSkewMs: number;
  #highestSkewMs: number;
  #pausedUntil = Number.NEGATIVE_INFINITY;
  /** Timers that became due while it was paused. */
  readonly #overdue: (() => void)[] = [];
  #isAlive = true;

  readonly #random: (() => number) | undefined;

  /** @param random the process's own random numbers, so that other actors do not change them; default: the world's */
  constructor(
    world: VirtualClock,
    { monotonicMs = 0, wallMs = 0, rate = 1 }: SimSkew = {},
    random?: () => number,
  ) {
    this.world = world;
    this.rate = rate;
    this.#random = random;
    this.#monotonicSkewMs = monotonicMs;
    this.#wallSkewMs = wallMs;
    this.#lowestSkewMs = wallMs;
    this.#highestSkewMs = wallMs;
  }

  /** False after it was killed. */
  get isAlive(): boolean {
    return this.#isAlive;
  }

  get isPaused(): boolean {
    return this.world.now() < this.#pausedUntil;
  }

  get wallSkewMs(): number {
    return this.#wallSkewMs;
  }

  /** The furthest that its wall clock has ever been behind. */
  get lowestSkewMs(): number {
    return this.#lowestSkewMs;
  }

  /** The furthest that its wall clock has ever been ahead. */
  get highestSkewMs(): number {
    return this.#highestSkewMs;
  }

  /** Sets the wall clock, as an administrator or NTP does. */
  jumpWallClock(byMs: number): void {
    this.#wallSkewMs += byMs;
    this.#lowestSkewMs = Math.min(this.#lowestSkewMs, this.#wallSkewMs);
    this.#highestSkewMs = Math.max(this.#highestSkewMs, this.#wallSkewMs);
  }

  now(): number {
    return this.world.now() * this.rate + this.#monotonicSkewMs;
  }

  wallTime(): bigint {
    const driftMs = this.world.now() * (this.rate - 1);
    return this.world.wallTime() + BigInt(Math.round((this.#wallSkewMs + driftMs) * 1000));
  }

  random(): number {
    return this.#random ? this.#random() : this.world.random();
  }

  setTimer(callback: () => void, delayMs: number): () => void {
    let cancel = () => {};
    let isCancelled = false;
    const arm = (ms: number) => {
      if (isCancelled) return;
      cancel = this.world.setTimer(() => {
        if (!this.#isAlive) return;
        if (this.isPaused) this.#overdue.push(() => arm(0));
        else callback();
      }, ms);
    };
    arm(delayMs / this.rate);
    return () => {
      isCancelled = true;
      cancel();
    };
  }

  pause(ms: number): void {
    this.#pausedUntil = this.world.now() + ms;
    this.world.setTimer(() => this.#wake(), ms);
  }

  resume(): void {
    this.#pausedUntil = Number.NEGATIVE_INFINITY;
    this.#wake();
  }

  /** Stops all of its timers. Requests in flight may still arrive. */
  kill(): void {
    if (!this.#isAlive) return;
    this.#isAlive = false;
    this.onKilled();
  }

  /** Fires all timers that became due in the meantime, in their original order. */
  #wake(): void {
    if (this.isPaused) return;
    for (const arm of this.#overdue.splice(0)) arm();
  }
}
