/** The options of a long run on real servers. */
export interface JudgedRunOptions {
  readonly minutes: number;
  /** The seed. It determines the faults and their targets. */
  readonly seed: number;
  /** An existing, empty folder for the record of the run. */
  readonly directory: string;
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
}

/** The judgement of a run or its record. */
export interface Judgement {
  /** The violations, one per line; empty if there are none. */
  readonly problems: readonly string[];
  readonly summary: string;
}

/**
 * Runs, prints the judgement, and exits: with 0 without violations, 1 with violations, 130 after SIGINT or SIGTERM,
 * which abort the signal.
 * @param run if it returns undefined, nothing is judged
 */
export async function runAsProcess(
  run: (signal: AbortSignal) => Promise<Judgement | undefined>,
): Promise<void> {
  const stopping = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopping.abort());
  try {
    const judgement = await run(stopping.signal);
    if (judgement) {
      console.log(`\n${judgement.summary}`);
      for (const problem of judgement.problems) console.error(`WRONG: ${problem}`);
      process.exitCode = judgement.problems.length > 0 ? 1 : 0;
    }
  } catch (error) {
    const wasStopped = error instanceof Error && error.name === 'AbortError';
    console.error(wasStopped ? 'stopped' : error instanceof Error ? error.message : error);
    process.exitCode = wasStopped ? 130 : 1;
  }
  // Node does not close a connection whose reset has failed, and would wait for it for ever.
  process.exit();
}
