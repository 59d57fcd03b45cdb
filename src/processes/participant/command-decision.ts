import { constants } from 'node:os';

/** What is known of the command, of the term that it runs in, and of what was asked of this process. */
export type CommandState =
  /** Nothing runs: there is no term, or one that is over. */
  | { readonly phase: 'waiting'; readonly isStopping: boolean }
  /** The command runs, in a term that lasts. */
  | { readonly phase: 'running'; readonly isStopping: boolean }
  /** The term is over, and the command has been told to end. */
  | { readonly phase: 'ending'; readonly isStopping: boolean }
  /** The command has ended; what it has left behind in its process group may not have. */
  | {
      readonly phase: 'clearing';
      readonly isStopping: boolean;
      readonly end: CommandEnd;
      /** Nobody had told it to: its end ends the term, not the other way round. */
      readonly byItself: boolean;
      readonly isTermOver: boolean;
    }
  /** Nothing runs; the term is about to be over, as was asked. */
  | { readonly phase: 'withdrawing'; readonly isStopping: boolean; readonly end: CommandEnd };

/** What happens to it. */
export type CommandEvent =
  | { readonly kind: 'termBegan' }
  | { readonly kind: 'termOver' }
  | { readonly kind: 'ended'; readonly end: CommandEnd }
  /** Nobody is left in its process group. */
  | { readonly kind: 'cleared' }
  /** The Lease is about to run out, or what is left has had its time. */
  | { readonly kind: 'outOfTime' }
  | { readonly kind: 'signalled'; readonly signal: NodeJS.Signals };

/** What is to be done about it, in the order given. */
export type CommandAction =
  | { readonly kind: 'start' }
  /** Forward a signal to the command itself, as a kubelet would send it. */
  | { readonly kind: 'signal'; readonly signal: NodeJS.Signals }
  /** Kill the command when the time of the Lease has come. */
  | { readonly kind: 'setDeadline' }
  /** Tell what is left in its process group to end, and see to it that it does. */
  | { readonly kind: 'clear' }
  /** Kill all of its process group. */
  | { readonly kind: 'kill' }
  /** Be no candidate for a while, so that another one is elected, if there is any. */
  | { readonly kind: 'withdraw' }
  /** Nothing runs any more: the term may end, and the Lease be released. */
  | { readonly kind: 'endTerm' }
  /** Take part no more, and end this process. */
  | { readonly kind: 'stop'; readonly exitCode: number };

/** What comes next, and what is to be done now. */
interface CommandDecision {
  readonly next: CommandState;
  readonly actions: readonly CommandAction[];
}

/** Signals that ask this process to end; all others are the command's alone. */
const ENDING_SIGNALS: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT'];

/** Before anything was elected. */
export const noCommandYet: CommandState = { phase: 'waiting', isStopping: false };

/**
 * Decides over a command that runs while its candidate leads: nothing is started while this process is to end, and no
 * term ends before the command's whole process group is gone.
 */
export function decideCommand(
  state: CommandState,
  event: CommandEvent,
  { restart }: { readonly restart: boolean },
): CommandDecision {
  switch (event.kind) {
    case 'termBegan':
      return state.phase !== 'waiting' || state.isStopping
        ? { next: state, actions: [{ kind: 'endTerm' }] }
        : { next: { ...state, phase: 'running' }, actions: [{ kind: 'start' }] };
    case 'termOver':
      return onTermOver(state);
    case 'ended':
      return onEnd(state, event.end);
    case 'cleared':
      return state.phase === 'clearing' ? afterwards(state, restart) : nothing(state);
    case 'outOfTime':
      return {
        next: state,
        actions: state.phase === 'ending' || state.phase === 'clearing' ? [{ kind: 'kill' }] : [],
      };
    case 'signalled':
      return onSignal(state, event.signal);
  }
}

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

/** Why a command could not be started, and what to do. */
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
  const { isStopping } = state;
  switch (state.phase) {
    case 'running':
      return {
        next: { phase: 'ending', isStopping },
        actions: [{ kind: 'setDeadline' }, { kind: 'signal', signal: 'SIGTERM' }],
      };
    case 'clearing':
      return { next: { ...state, isTermOver: true }, actions: [{ kind: 'setDeadline' }] };
    case 'withdrawing':
      return { next: { phase: 'waiting', isStopping }, actions: [{ kind: 'endTerm' }] };
    case 'waiting':
    case 'ending':
      return nothing(state);
  }
}

function onEnd(state: CommandState, end: CommandEnd): CommandDecision {
  const { isStopping, phase } = state;
  if (phase !== 'running' && phase !== 'ending') return nothing(state);
  const byItself = phase === 'running';
  return {
    next: { phase: 'clearing', isStopping, end, byItself, isTermOver: !byItself },
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
    // What the command would make of any other signal cannot be told while there is none.
    case 'waiting':
      return { next, actions: isFirst ? [{ kind: 'stop', exitCode: 0 }] : [] };
    case 'withdrawing':
      return { next, actions: isFirst ? [{ kind: 'stop', exitCode: exitCodeOf(state.end) }] : [] };
    case 'clearing':
      return nothing(next);
  }
}

function afterwards(
  { isStopping, end, byItself, isTermOver }: Extract<CommandState, { phase: 'clearing' }>,
  restart: boolean,
): CommandDecision {
  if (isStopping || (byItself && (!restart || isHopeless(end)))) {
    // As if it had been told to stop: nothing is started in a term that begins meanwhile.
    return {
      next: { phase: 'waiting', isStopping: true },
      actions: [{ kind: 'stop', exitCode: exitCodeOf(end) }, { kind: 'endTerm' }],
    };
  }
  if (isTermOver) return { next: { phase: 'waiting', isStopping }, actions: [{ kind: 'endTerm' }] };
  return { next: { phase: 'withdrawing', isStopping, end }, actions: [{ kind: 'withdraw' }] };
}

/** Whether another attempt would end the same way. */
function isHopeless(end: CommandEnd): boolean {
  return end.kind === 'notStarted' && !PASSING.includes(end.code);
}
