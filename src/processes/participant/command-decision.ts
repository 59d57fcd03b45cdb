import { constants } from 'node:os';

/**
 * The state of the command, of its term and of this process.
 * - `waiting`: no command runs. There is no term, or it has ended.
 * - `running`: the command runs in the current term.
 * - `ending`: the term has ended, and the wrapper has asked the command to end.
 * - `clearing`: the command has ended. Other processes of its group may still run.
 */
export type CommandState =
  | { readonly phase: 'waiting' | 'running' | 'ending'; readonly isStopping: boolean }
  | {
      readonly phase: 'clearing';
      readonly isStopping: boolean;
      readonly end: CommandEnd;
      /** Whether the command ended before the wrapper asked it to. Then this process ends, too. */
      readonly byItself: boolean;
    };

/** An event of the command or its term. */
export type CommandEvent =
  | { readonly kind: 'termBegan' }
  | { readonly kind: 'termOver' }
  | { readonly kind: 'ended'; readonly end: CommandEnd }
  /** The process group of the command has no more processes. */
  | { readonly kind: 'cleared' }
  /** The Lease is about to expire, or the grace period of the process group is over. */
  | { readonly kind: 'outOfTime' }
  | { readonly kind: 'signalled'; readonly signal: NodeJS.Signals };

/** An action. The actions of a decision are applied in order. */
export type CommandAction =
  | { readonly kind: 'start' }
  /** Forward a signal to the command. */
  | { readonly kind: 'signal'; readonly signal: NodeJS.Signals }
  /** Kill the command at a deadline before the Lease expires. */
  | { readonly kind: 'setDeadline' }
  /** Terminate the remaining processes of the group, then kill them. */
  | { readonly kind: 'clear' }
  /** Kill the process group. */
  | { readonly kind: 'kill' }
  /** End the term and release the Lease. All processes have ended. */
  | { readonly kind: 'endTerm' }
  /** Stop taking part and end this process. */
  | { readonly kind: 'stop'; readonly exitCode: number };

/** The next state, and the actions. */
interface CommandDecision {
  readonly next: CommandState;
  readonly actions: readonly CommandAction[];
}

/** Signals that end this process. The wrapper only forwards all other signals to the command. */
const ENDING_SIGNALS: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT'];

export const initialCommandState: CommandState = { phase: 'waiting', isStopping: false };

/**
 * Decides what to do with the command. While this process ends, no command starts. A term ends only after the process
 * group of its command is empty.
 */
export function decideCommand(state: CommandState, event: CommandEvent): CommandDecision {
  switch (event.kind) {
    case 'termBegan':
      return state.phase !== 'waiting' || state.isStopping
        ? { next: state, actions: [{ kind: 'endTerm' }] }
        : { next: { phase: 'running', isStopping: false }, actions: [{ kind: 'start' }] };
    case 'termOver':
      return onTermOver(state);
    case 'ended':
      return onEnd(state, event.end);
    case 'cleared':
      return state.phase === 'clearing' ? afterwards(state) : nothing(state);
    case 'outOfTime':
      return {
        next: state,
        actions: state.phase === 'ending' || state.phase === 'clearing' ? [{ kind: 'kill' }] : [],
      };
    case 'signalled':
      return onSignal(state, event.signal);
  }
}

/** How a command ended, or why it did not start. */
export type CommandEnd =
  | { readonly kind: 'exited'; readonly code: number }
  | { readonly kind: 'killed'; readonly signal: NodeJS.Signals }
  /** `code` is an errno code such as `ENOENT`. */
  | { readonly kind: 'notStarted'; readonly code: string };

const NOT_FOUND = 127;
const NOT_EXECUTABLE = 126;

/** Returns the exit code that a shell would return. */
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

/** Explains why a command could not start, with advice. */
export function startProblem(file: string, code: string): string {
  if (code === 'ENOENT')
    return `${file}: no such command; name one that is in the PATH of this container, or its path`;
  if (code === 'EACCES') return `${file}: not executable; chmod +x it, or name the interpreter before it`;
  return `${file}: cannot be started (${code})`;
}

function nothing(next: CommandState): CommandDecision {
  return { next, actions: [] };
}

function onTermOver(state: CommandState): CommandDecision {
  switch (state.phase) {
    case 'running':
      return {
        next: { phase: 'ending', isStopping: state.isStopping },
        actions: [{ kind: 'setDeadline' }, { kind: 'signal', signal: 'SIGTERM' }],
      };
    case 'clearing':
      return { next: state, actions: [{ kind: 'setDeadline' }] };
    case 'waiting':
    case 'ending':
      return nothing(state);
  }
}

function onEnd(state: CommandState, end: CommandEnd): CommandDecision {
  const { isStopping, phase } = state;
  if (phase !== 'running' && phase !== 'ending') return nothing(state);
  return {
    next: { phase: 'clearing', isStopping, end, byItself: phase === 'running' },
    actions: [{ kind: 'clear' }],
  };
}

function onSignal(state: CommandState, signal: NodeJS.Signals): CommandDecision {
  const isFirst = !state.isStopping && ENDING_SIGNALS.includes(signal);
  const next = isFirst ? { ...state, isStopping: true } : state;
  switch (state.phase) {
    case 'running':
    case 'ending':
      return { next, actions: [{ kind: 'signal', signal }] };
    // Without a command, no other signal has an effect.
    case 'waiting':
      return { next, actions: isFirst ? [{ kind: 'stop', exitCode: 0 }] : [] };
    case 'clearing':
      return nothing(next);
  }
}

function afterwards({
  isStopping,
  end,
  byItself,
}: Extract<CommandState, { phase: 'clearing' }>): CommandDecision {
  if (!isStopping && !byItself)
    return { next: { phase: 'waiting', isStopping }, actions: [{ kind: 'endTerm' }] };
  // Treat this like a stop: if another term begins in the meantime, no command starts in it.
  return {
    next: { phase: 'waiting', isStopping: true },
    actions: [{ kind: 'stop', exitCode: exitCodeOf(end) }, { kind: 'endTerm' }],
  };
}
