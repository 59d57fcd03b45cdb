import { constants } from 'node:os';

/** How a command ended, or why it never began. */
export type CommandEnd =
  | { readonly kind: 'exited'; readonly code: number }
  | { readonly kind: 'killed'; readonly signal: NodeJS.Signals }
  /** `code` is the system's, like `ENOENT`. */
  | { readonly kind: 'notStarted'; readonly code: string };

const NOT_FOUND = 127;
const NOT_EXECUTABLE = 126;

/** The exit code that tells it, as shells have them. */
export function exitCodeOf(end: CommandEnd): number {
  switch (end.kind) {
    case 'exited':
      return end.code;
    case 'killed':
      return 128 + constants.signals[end.signal];
    case 'notStarted':
      return end.code === 'ENOENT' ? NOT_FOUND : NOT_EXECUTABLE;
  }
}

/** The system's codes for having too much to do at present. */
const PASSING = ['EAGAIN', 'EMFILE', 'ENFILE', 'ENOMEM'];

/** Whether another attempt would end the same way. */
export function isHopeless(end: CommandEnd): boolean {
  return end.kind === 'notStarted' && !PASSING.includes(end.code);
}

/** Why a command could not be started, and what to do. */
export function startProblem(file: string, code: string): string {
  if (code === 'ENOENT')
    return `${file}: no such command; name one that is in the PATH of this container, or its path`;
  if (code === 'EACCES') return `${file}: not executable; chmod +x it, or name the interpreter before it`;
  return `${file}: cannot be started (${code})`;
}
