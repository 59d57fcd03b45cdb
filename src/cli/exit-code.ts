/** What the process's exit tells scripts; documented in `--help`. */
export const exitCode = {
  /** Done, or stopped when asked to. */
  ok: 0,
  /** The command failed; what it said on the error output tells why. */
  failure: 1,
  /** The command line or the environment cannot be used as given. */
  usage: 2,
  /** doctor found something that keeps elections from working. */
  errorsFound: 3,
  /** doctor found something amiss, but no error. */
  warningsFound: 4,
  /** transfer or drain: a leader stays where it is; what was said tells which and why. */
  leaderStays: 5,
  /** Nobody reads the output any more: as a shell shows that SIGPIPE has ended a program. */
  outputClosed: 141,
} as const;
