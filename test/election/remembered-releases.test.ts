import { expect, test } from 'vitest';
import { noMemory } from '../../src/election/lease-memory.ts';
import { observeLease } from '../../src/election/observe-lease.ts';
import { defaultSettings, makeLease, makeNow, wallAt } from '../support/election-builders.ts';

test('a Lease that is taken and released under a new name all the time remembers the last hundred names', () => {
  let memory = noMemory;
  let at = 0;
  for (let index = 0; index < 1000; index++) {
    const held = makeLease(`holder-${index}`).with({ renewTime: wallAt(at), leaseDurationSeconds: 15 });
    memory = observeLease(memory, held.build(), makeNow(at), defaultSettings);
    const released = makeLease().releasedAt(at + 1);
    memory = observeLease(memory, released.build(), makeNow(at + 1), defaultSettings);
    at += 2;
  }
  expect(memory.withdrawals.size).toBe(100);
  expect([...memory.withdrawals.keys()].at(0)).toBe('holder-900');
  expect([...memory.withdrawals.keys()].at(-1)).toBe('holder-999');
});
