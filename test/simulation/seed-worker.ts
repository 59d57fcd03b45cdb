import { parentPort } from 'node:worker_threads';
import { makePlan } from './sim-plan.ts';
import { runPlan, type SimReport } from './sim-run.ts';

/** The result of one seed. */
export interface SeedOutcome extends Omit<SimReport, 'trace'> {
  readonly seed: number;
  /** The seed timed out. */
  readonly isHanging?: boolean;
}

// Every run creates many errors, and their stacks are not used.
Error.stackTraceLimit = 0;

parentPort?.on('message', (seed: number) => {
  void runSeed(seed).then((outcome) => parentPort?.postMessage(outcome));
});

async function runSeed(seed: number): Promise<SeedOutcome> {
  try {
    const { trace: _, ...report } = await runPlan(makePlan(seed));
    return { seed, ...report };
  } catch (error) {
    return {
      seed,
      problems: [`the simulation itself failed: ${String(error)}`],
      counts: new Map(),
      simulatedMs: 0,
    };
  }
}
