/** Exit codes of the program, as `--help` documents them. */
export const exitCode = {
  /** Done, or stopped by a signal. */
  ok: 0,
  /** The command failed. The error output says why. */
  failure: 1,
  /** The command line or the environment cannot be used as given. */
  usage: 2,
  /** doctor or audit found an error: something prevents elections, or nothing leads. */
  errorsFound: 3,
  /** doctor or audit found warnings, but no error. */
  warningsFound: 4,
  /** transfer or drain: a leader has not moved. The output says which one and why. */
  leaderStays: 5,
  /** The reader has closed the output. A shell reports the same code for a program that SIGPIPE has ended. */
  outputClosed: 141,
} as const;
