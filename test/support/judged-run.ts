/** What every long run on real servers is told. */
export interface JudgedRunOptions {
  readonly minutes: number;
  /** What happens to whom follows from it. */
  readonly seed: number;
  /** An existing, empty folder for the record of the run. */
  readonly directory: string;
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
}

/** How a run, or the record of one, was judged. */
export interface Judgement {
  /** What is wrong, one thing a line; nothing if all is well. */
  readonly problems: readonly string[];
  readonly summary: string;
}

/**
 * Carries out a run, prints its judgement, and ends the process: with 0 if all is well, 1 if something is wrong, 130 if
 * SIGINT or SIGTERM, which abort the signal, ended it.
 *
 * @param run nothing is judged if it returns undefined.
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
  // Node does not close a connection whose reset has failed, and would wait for that for ever.
  process.exit();
}
