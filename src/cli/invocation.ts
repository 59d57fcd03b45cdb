import type { Environment } from '../support/host.ts';

/** One execution of the program: what its commands read from, and where they leave their exit code. */
export interface Invocation {
  readonly env: Environment;
  exitCode: number;
}
