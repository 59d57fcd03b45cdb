import { parentPort } from 'node:worker_threads';
import { makePlan } from './sim-plan.ts';
import { runPlan, type SimReport } from './sim-run.ts';

/** What came of one seed. */
export interface SeedOutcome extends Omit<SimReport, 'trace'> {
  readonly seed: number;
  /** It was given up. */
  readonly isHanging?: boolean;
}

// Errors are part of every run; nobody looks at where they were made.
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
