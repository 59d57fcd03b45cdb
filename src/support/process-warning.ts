/** Warns on the error output, as Node itself does: for a library that has no other way to tell. */
export function warnProcess(message: string): void {
  process.emitWarning(message, 'CoordinatedLeaderElectionWarning');
}
