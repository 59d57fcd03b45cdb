import { describe, expect, test } from 'vitest';
import { practise } from '../../../src/processes/practice/practise.ts';
import { runSettings } from '../../../src/settings/run-settings.ts';
import { resolveSettings } from '../../../src/settings/settings-table.ts';
import { systemClock } from '../../../src/support/system-clock.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const settings = resolveSettings(runSettings, {}, {});
const forEver = new AbortController().signal;

describe('practice', () => {
  test('has two leaders elected for each Lease, one after the other', async () => {
    const ended = await practise(settings, { clock: systemClock, version: '0', signal: forEver });
    expect(ended).toBe(40);
  });

  test('comes to an end where time stands still between two timers, and leaves no timer behind', async () => {
    const clock = new VirtualClock();
    let ended: number | undefined;
    void practise(settings, { clock, version: '0', signal: forEver }).then((count) => {
      ended = count;
    });
    await clock.advance(30_000);
    expect(ended).toBe(40);
    expect(clock.pendingTimers).toBe(0);
  });

  test('ends with the program', async () => {
    const stopping = new AbortController();
    const practice = practise(settings, { clock: systemClock, version: '0', signal: stopping.signal });
    stopping.abort();
    expect(await practice).toBeLessThanOrEqual(1);
  });
});
