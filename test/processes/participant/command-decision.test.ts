import { describe, expect, test } from 'vitest';
import {
  type CommandAction,
  type CommandEvent,
  type CommandState,
  decideCommand,
  initialCommandState,
} from '../../../src/processes/participant/command-decision.ts';

const began: CommandEvent = { kind: 'termBegan' };
const over: CommandEvent = { kind: 'termOver' };
const cleared: CommandEvent = { kind: 'cleared' };
const outOfTime: CommandEvent = { kind: 'outOfTime' };
const ended = (code: number): CommandEvent => ({ kind: 'ended', end: { kind: 'exited', code } });
const killed: CommandEvent = { kind: 'ended', end: { kind: 'killed', signal: 'SIGTERM' } };
const missing: CommandEvent = { kind: 'ended', end: { kind: 'notStarted', code: 'ENOENT' } };
const locked: CommandEvent = { kind: 'ended', end: { kind: 'notStarted', code: 'EACCES' } };
const signalled = (signal: NodeJS.Signals): CommandEvent => ({ kind: 'signalled', signal });
const term = signalled('SIGTERM');

/** What is done about a story's events, a list for each. */
function actionsOf(events: readonly CommandEvent[]): readonly string[] {
  let state: CommandState = initialCommandState;
  return events.map((event) => {
    const { next, actions } = decideCommand(state, event);
    state = next;
    return actions.map(nameOf).join(' ');
  });
}

function nameOf(action: CommandAction): string {
  if (action.kind === 'signal') return action.signal;
  return action.kind === 'stop' ? `stop:${action.exitCode}` : action.kind;
}

const toEnd = 'setDeadline SIGTERM';

describe('a command that runs while its candidate leads (rule 15)', () => {
  test.each<{ story: string; events: CommandEvent[]; want: string[] }>([
    {
      story: 'ends by itself: only then does the term, and with its exit code this process',
      events: [began, ended(3), cleared, over],
      want: ['start', 'clear', 'stop:3 endTerm', ''],
    },
    {
      story: 'is told to end when the term is over, and runs again in the next one',
      events: [began, over, killed, cleared, began],
      want: ['start', toEnd, 'clear', 'endTerm', 'start'],
    },
    {
      story: 'is killed when it has not ended in time',
      events: [began, over, outOfTime, killed, cleared],
      want: ['start', toEnd, 'kill', 'clear', 'endTerm'],
    },
    {
      story: 'is not killed while the term lasts',
      events: [began, outOfTime],
      want: ['start', ''],
    },
    {
      story: 'leaves processes behind: they are killed before the term ends',
      events: [began, ended(0), outOfTime, cleared],
      want: ['start', 'clear', 'kill', 'stop:0 endTerm'],
    },
    {
      story: 'leaves processes behind while the term ends: they have until its deadline',
      events: [began, ended(4), over, outOfTime, cleared],
      want: ['start', 'clear', 'setDeadline', 'kill', 'stop:4 endTerm'],
    },
    {
      story: 'gets every signal that this process gets',
      events: [began, signalled('SIGHUP'), signalled('SIGUSR1'), signalled('SIGINT'), signalled('SIGINT')],
      want: ['start', 'SIGHUP', 'SIGUSR1', 'SIGINT', 'SIGINT'],
    },
    {
      story: 'goes on in its term after SIGTERM until it has ended, and ends this process with its own code',
      events: [began, term, ended(0), cleared],
      want: ['start', 'SIGTERM', 'clear', 'stop:0 endTerm'],
    },
    {
      story: 'is told to stop while it ends as the term is over: nothing follows',
      events: [began, over, term, killed, cleared],
      want: ['start', toEnd, 'SIGTERM', 'clear', 'stop:143 endTerm'],
    },
    {
      story: 'has ended when SIGTERM comes: what it left is cleared first',
      events: [began, over, killed, term, cleared],
      want: ['start', toEnd, 'clear', '', 'stop:143 endTerm'],
    },
    {
      story: 'has not begun when SIGTERM comes: it never does',
      events: [term, began],
      want: ['stop:0', 'endTerm'],
    },
    { story: 'has not begun when SIGINT comes', events: [signalled('SIGINT')], want: ['stop:0'] },
    {
      story: 'has not begun when signals come that are for it alone',
      events: [signalled('SIGHUP'), signalled('SIGUSR2'), began],
      want: ['', '', 'start'],
    },
    { story: 'is stopped once only', events: [term, term], want: ['stop:0', ''] },
    {
      story: 'does not exist',
      events: [began, missing, cleared],
      want: ['start', 'clear', 'stop:127 endTerm'],
    },
    {
      story: 'cannot be executed',
      events: [began, locked, cleared],
      want: ['start', 'clear', 'stop:126 endTerm'],
    },
    {
      story: 'ends by itself, and the term is over before all is cleared',
      events: [began, ended(1), over, cleared, began],
      want: ['start', 'clear', 'setDeadline', 'stop:1 endTerm', 'endTerm'],
    },
  ])('$story', ({ events, want }) => {
    expect(actionsOf(events)).toEqual(want);
  });
});
