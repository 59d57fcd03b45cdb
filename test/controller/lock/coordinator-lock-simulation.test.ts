import { expect, test } from 'vitest';
import { CoordinatorLock } from '../../../src/controller/lock/coordinator-lock.ts';
import { LONGEST_WRITE_MS } from '../../../src/controller/lock/lock-settings.ts';
import type { Clock } from '../../../src/support/clock.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { SimBuiltIn } from './sim-built-in.ts';
import { type SimFate, SimLockServer } from './sim-lock-server.ts';

/** A process with its own clocks that can be suspended: its timers stop, but time goes on. */
class SimProcess implements Clock {
  readonly #world: VirtualClock;
  readonly #skewMs: number;
  #pausedUntil = 0;

  constructor(world: VirtualClock, skewMs: number) {
    this.#world = world;
    this.#skewMs = skewMs;
  }

  now(): number {
    return this.#world.now() + this.#skewMs;
  }

  wallTime(): bigint {
    return this.#world.wallTime() + BigInt(this.#skewMs) * 1000n;
  }

  random(): number {
    return this.#world.random();
  }

  setTimer(callback: () => void, delayMs: number): () => void {
    let cancel = () => {};
    const arm = (ms: number) => {
      cancel = this.#world.setTimer(() => {
        const pauseLeft = this.#pausedUntil - this.#world.now();
        if (pauseLeft > 0) arm(pauseLeft);
        else callback();
      }, ms);
    };
    arm(delayMs);
    return () => cancel();
  }

  pause(ms: number): void {
    this.#pausedUntil = this.#world.now() + ms;
  }
}

interface Coordinator {
  readonly name: string;
  isActive(): boolean;
  /**
   * Whether it ends its write before it releases. Otherwise a write from its active time continues until its
   * deadline.
   */
  drained?: boolean;
}

/** Checks that no process acts while another acts or may have a write in flight. */
class OverlapCheck {
  readonly #clock: VirtualClock;
  #active: Coordinator | undefined;
  #lastActiveAt = Number.NEGATIVE_INFINITY;
  changes = 0;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  check(coordinators: readonly Coordinator[]): void {
    const now = this.#clock.now();
    const [active, ...others] = coordinators.filter((coordinator) => coordinator.isActive());
    expect(
      others.map(({ name }) => name),
      `active at ${now} beside ${active?.name}`,
    ).toEqual([]);
    if (active === undefined) return;
    if (active !== this.#active) {
      const quietMs = this.#active === undefined || this.#active.drained ? 0 : LONGEST_WRITE_MS;
      expect(now - this.#lastActiveAt, `${active.name} at ${now}`).toBeGreaterThanOrEqual(quietMs);
      this.changes++;
    }
    this.#active = active;
    this.#lastActiveAt = now;
  }

  get silenceMs(): number {
    return this.#clock.now() - this.#lastActiveAt;
  }
}

function makeFates(clock: VirtualClock, trouble: () => boolean): () => SimFate {
  const upTo = (ms: number) => Math.floor(clock.random() * ms);
  return () => {
    if (!trouble()) return { requestMs: upTo(20), answerMs: upTo(20) };
    const chance = clock.random();
    const slow = clock.random() < 0.2 ? 6000 : 300;
    const times = { requestMs: upTo(slow), answerMs: upTo(slow) };
    if (chance < 0.15) return { ...times, outcome: 'refused' };
    if (chance < 0.25) return { ...times, outcome: 'lost' };
    return chance < 0.4 ? { ...times, outcome: 'dropped' } : times;
  };
}

const seeds = Array.from({ length: 40 }, (_, index) => index + 1);

test.each(seeds)(
  'two replicas and the built-in never act at once, and somebody does once the trouble is over (rule 10, seed %i)',
  async (seed) => {
    const clock = new VirtualClock({ seed });
    const server = new SimLockServer();
    let trouble = true;
    let outageUntil = 0;
    const fate = makeFates(clock, () => trouble);
    const chance = (probability: number) => clock.random() < probability;
    const processes: SimProcess[] = [];
    const startProcess = () => {
      const process = new SimProcess(clock, Math.floor(clock.random() * 1_000_000));
      processes.push(process);
      const storage = server.connect({
        clock: process,
        fate: () => (clock.now() < outageUntil ? { outcome: 'dropped' } : fate()),
        watchDelayMs: chance(0.5) ? 10 : 3000,
      });
      return { process, storage };
    };
    let runs = 0;
    const startReplica = () => {
      const { process, storage } = startProcess();
      const identity = `coordinated-leader-election_host_${++runs}`;
      const able = { from: 0 };
      const lock = new CoordinatorLock({
        clock: process,
        storage,
        identity,
        takeOver: seed % 4 !== 0,
        canCoordinate: () => clock.now() >= able.from,
      });
      lock.start();
      const coordinator: Coordinator = { name: identity, isActive: () => lock.isActive() };
      const stop = () => {
        coordinator.drained = true;
        return lock.stop();
      };
      return { coordinator, able, stop };
    };
    const startBuiltIn = () => {
      const { process, storage } = startProcess();
      const name = `apiserver-${++runs}`;
      const builtIn = new SimBuiltIn(process, storage, name);
      void builtIn.run();
      // Its writes have no known deadline. It leaves 3 s between its last write and the end of its Lease.
      const coordinator: Coordinator = { name, isActive: () => builtIn.isActive(), drained: true };
      return { coordinator, crash: () => builtIn.crash() };
    };

    let builtIn = startBuiltIn();
    const replicas = [startReplica(), startReplica()];
    const overlap = new OverlapCheck(clock);
    const coordinators: Coordinator[] = [builtIn, ...replicas].map(({ coordinator }) => coordinator);
    const runUntil = async (until: number) => {
      while ((clock.nextTimerAt ?? until) < until) {
        await clock.advanceToNextTimer();
        overlap.check(coordinators);
      }
      await clock.advance(until - clock.now());
    };

    for (let step = 1; step <= 100; step++) {
      await runUntil(step * 5000);
      trouble = chance(0.4);
      if (chance(0.05)) outageUntil = clock.now() + Math.floor(clock.random() * 40_000);
      for (const process of processes) if (chance(0.03)) process.pause(Math.floor(clock.random() * 40_000));
      for (const { able } of replicas) if (chance(0.05)) able.from = clock.now() + clock.random() * 60_000;
      const index = chance(0.5) ? 0 : 1;
      if (chance(0.06)) {
        // A clean restart: the old process is checked until it has stopped.
        void replicas[index]?.stop();
        const replica = startReplica();
        replicas[index] = replica;
        coordinators.push(replica.coordinator);
      }
      if (chance(0.06)) {
        builtIn.crash();
        builtIn = startBuiltIn();
        coordinators.push(builtIn.coordinator);
      }
    }
    expect(overlap.changes).toBeGreaterThan(1);

    trouble = false;
    await runUntil(clock.now() + 120_000);
    expect(overlap.silenceMs).toBeLessThan(LONGEST_WRITE_MS);
  },
);
