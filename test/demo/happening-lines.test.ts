import { expect, test } from 'vitest';
import { openLines } from '../../src/demo/happening-lines.ts';
import { makeHappening } from './make-state.ts';

const decision = makeHappening(250, {
  who: 'coordinator',
  reason: 'StrategyConflict',
  text: 'some want A, others B',
  isTrouble: true,
});

test('what happens is told line by line, for people to read', async () => {
  let text = '';
  const lines = await openLines('text', { write: (more) => (text += more) }, '  ');
  lines.say('The demo begins.');
  lines.happened(decision);
  lines.happened(makeHappening(1000));
  expect(text).toBe(
    'The demo begins.\n' +
      '  13:24:05.373Z coordinator StrategyConflict: some want A, others B\n' +
      '  13:24:06.123Z sample-3 leads\n',
  );
});

test('what happens is told as JSON where that is wanted', async () => {
  let text = '';
  const lines = await openLines('json', { write: (more) => (text += more) });
  lines.say('The demo begins.');
  lines.happened(decision);
  lines.happened(makeHappening(1000));
  const logged = text
    .trim()
    .split('\n')
    .map((line): unknown => JSON.parse(line));
  expect(logged).toMatchObject([
    { level: 'info', msg: 'The demo says', text: 'The demo begins.' },
    {
      level: 'warn',
      msg: 'Happened',
      who: 'coordinator',
      reason: 'StrategyConflict',
      text: 'some want A, others B',
    },
    { level: 'info', msg: 'Happened', who: 'sample-3', text: 'leads' },
  ]);
});
