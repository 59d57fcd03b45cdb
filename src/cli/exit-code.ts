import type { Severity } from '../inspection/findings.ts';

/** Exit codes of the program, as `--help` documents them. */
export const exitCode = {
  /** Done, or stopped by a signal. */
  ok: 0,
  /** The command failed. The error output says why. */
  failure: 1,
  /** The command line or the environment is invalid. */
  usage: 2,
  /** doctor or audit found an error: elections are blocked, or a Lease has no leader. */
  errorsFound: 3,
  /** doctor or audit found warnings, but no error. */
  warningsFound: 4,
  /** transfer or drain: a leader has not moved. The output says which one and why. */
  leaderStays: 5,
  /** The reader has closed the output. Shells report the same code for a program that SIGPIPE ended. */
  outputClosed: 141,
} as const;

/** Returns the exit code of the most severe finding. */
export function exitCodeOf(findings: readonly { readonly severity: Severity }[]): number {
  if (findings.some(({ severity }) => severity === 'error')) return exitCode.errorsFound;
  return findings.some(({ severity }) => severity === 'warning') ? exitCode.warningsFound : exitCode.ok;
}
