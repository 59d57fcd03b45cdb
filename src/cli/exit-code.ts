import type { Severity } from '../inspection/findings.ts';

/** Exit codes of the program. {@link EXIT_CODES} says what they mean. */
export const exitCode = {
  ok: 0,
  failure: 1,
  usage: 2,
  errorsFound: 3,
  warningsFound: 4,
  leaderStays: 5,
  /** The reader has closed the output. Shells also report 141 (128 + SIGPIPE) when SIGPIPE kills a program. */
  outputClosed: 141,
} as const;

export const EXIT_CODES = `
Exit codes:
  0  done, or stopped when asked to
  1  failed; the error output says why
  2  the command line or the environment is invalid
  3  doctor, audit: errors were found
  4  doctor, audit: warnings were found, but no errors
  5  transfer, drain: a leader has not moved; the output says which one and why
  participate with a command: the exit codes of the command
  141  the reader has closed the output`;

/** Returns the exit code of the most severe finding; 0 without findings. */
export function exitCodeOf(findings: readonly { readonly severity: Severity }[]): number {
  if (findings.some(({ severity }) => severity === 'error')) return exitCode.errorsFound;
  return findings.some(({ severity }) => severity === 'warning') ? exitCode.warningsFound : exitCode.ok;
}
