import { describe, expect, test } from 'vitest';
import { watchReadiness } from '../../../src/processes/participant/sidecar.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

describe('a program', () => {
  test.each<{ name: string; answers: boolean[]; want: boolean[] }>([
    { name: 'is not well before it has said so', answers: [false, false], want: [false, false] },
    { name: 'is healthy as soon as it reports that', answers: [false, true], want: [false, true] },
    {
      name: 'is well after a failure or two',
      answers: [true, false, false, true],
      want: [true, true, true, true],
    },
    {
      name: 'is not well after three failures in a row',
      answers: [true, false, false, false],
      want: [true, true, true, false],
    },
    {
      name: 'is not well again before an answer',
      answers: [true, false, false, false, false, true],
      want: [true, true, true, false, false, true],
    },
  ])('$name', async ({ answers, want }) => {
    const clock = new VirtualClock();
    const end = new AbortController();
    let isReady = false;
    let asked = 0;
    const watching = watchReadiness(async () => answers[asked++] ?? false, {
      clock,
      signal: end.signal,
      onChange: (isNowReady) => {
        isReady = isNowReady;
      },
    });
    const seen: boolean[] = [];
    while (seen.length < answers.length) {
      await clock.advance(0);
      seen.push(isReady);
      await clock.advance(2000);
    }
    expect(seen).toEqual(want);
    end.abort();
    await watching;
    expect(clock.pendingTimers).toBe(0);
  });
});
