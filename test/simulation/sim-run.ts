import type { Instant } from '../../src/support/clock.ts';
import type { HistoryEvent } from '../invariants/history.ts';
import { AbleCheck } from './able-check.ts';
import { ConflictCheck } from './conflict-check.ts';
import { FAULTS } from './faults/faults.ts';
import { PreferenceCheck } from './preference-check.ts';
import { LeaseStories, SettledCheck } from './settled-check.ts';
import type { FaultPlan, SimPlan } from './sim-plan.ts';
import { SimWorld } from './sim-world.ts';

/** How long a run continues after the last fault, in milliseconds. */
const AFTER_TROUBLE_MS = 230_000;
const LOOK_EVERY_MS = 2000;
/** Number of retries of a fault that cannot strike at its time. */
const TRIES = 20;
/** A coordinator pings a preferredHolder about every two seconds while its preemption is pending (rule 7). */
const MAX_PINGS_A_MINUTE = 45;
const MINUTE_MS = 60_000;

/** The result of a run. */
export interface SimReport {
  /** The violations; empty if the run is clean. */
  readonly problems: readonly string[];
  readonly counts: ReadonlyMap<string, number>;
  readonly simulatedMs: number;
  /** The events, for people; empty unless requested. */
  readonly trace: string;
}

/** Runs a plan: minutes with faults, then a calm period. */
export async function runPlan(plan: SimPlan, isTracing = false): Promise<SimReport> {
  const world = new SimWorld(plan, { isTracing });
  const run = new SimRun(world);
  await run.run();
  world.network.close();
  return {
    problems: world.violations,
    counts: world.tally.counts,
    simulatedMs: world.clock.now(),
    trace: world.trace,
  };
}

class SimRun {
  readonly #world: SimWorld;
  readonly #stories = new LeaseStories();
  readonly #pings = new Map<string, Instant[]>();
  readonly #able: AbleCheck;
  #settled: SettledCheck | undefined;

  constructor(world: SimWorld) {
    this.#world = world;
    this.#able = new AbleCheck(world);
    const checks = [new ConflictCheck(world, this.#stories), new PreferenceCheck(world, this.#stories)];
    world.onEvent = (event) => {
      this.#stories.observe(event);
      this.#countPings(event);
      for (const check of checks) for (const problem of check.observe(event)) world.violated(problem);
      for (const problem of this.#settled?.observe(event) ?? []) world.violated(problem);
    };
  }

  async run(): Promise<void> {
    const { plan } = this.#world;
    if (plan.hasBuiltIn) this.#world.coordinators.startBuiltIn();
    for (const replica of plan.replicas) this.#world.addReplica(replica);
    for (const slot of plan.slots) this.#world.addSlot(slot);
    for (const fault of plan.faults) this.#world.after(fault.atMs, () => this.#strike(fault, TRIES));
    await this.#runUntil(plan.troubleEndsMs);
    if (this.#world.violations.length > 0) return;
    this.#world.endTrouble();
    this.#settled = new SettledCheck(this.#world, this.#stories);
    await this.#runUntil(this.#world.clock.now() + AFTER_TROUBLE_MS);
  }

  async #runUntil(until: Instant): Promise<void> {
    while (this.#world.clock.now() < until && this.#world.violations.length === 0) {
      await this.#world.run(Math.min(LOOK_EVERY_MS, until - this.#world.clock.now()));
      for (const problem of this.#settled?.look() ?? []) this.#world.violated(problem);
      for (const problem of this.#able.look()) this.#world.violated(problem);
    }
  }

  #strike(fault: FaultPlan, tries: number): void {
    const world = this.#world;
    if (world.clock.now() >= world.plan.troubleEndsMs) return;
    const outcome = FAULTS[fault.kind].strike(world, fault.args);
    if (outcome === false) {
      if (tries > 0) world.after(1000, () => this.#strike(fault, tries - 1));
      return;
    }
    world.note(() => `fault ${fault.id}: ${fault.kind} ${JSON.stringify(fault.args)}`);
    if (outcome) world.struck(fault.kind);
  }

  #countPings(event: HistoryEvent): void {
    if (event.kind !== 'candidate' || event.writer.kind !== 'coordinator' || !event.after) return;
    const { key, at } = event;
    const { uid } = event.after;
    const recent = (this.#pings.get(uid) ?? []).filter((earlier) => at - earlier < MINUTE_MS);
    recent.push(at);
    this.#pings.set(uid, recent);
    if (recent.length > MAX_PINGS_A_MINUTE)
      this.#world.violated(`${key} is pinged ${recent.length} times in a minute`);
  }
}
