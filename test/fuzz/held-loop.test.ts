import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { holdingNobody } from './held-loop.ts';

const LONG_MS = 120;

/** Spends processor time, and does not give way. */
function work(ms: number): void {
  const before = process.threadCpuUsage();
  for (;;) {
    const { user, system } = process.threadCpuUsage(before);
    if (user + system >= ms * 1000) return;
  }
}

function found(act: () => void | Promise<void>): Promise<unknown> {
  const property = holdingNobody(fc.asyncProperty(fc.constant(0), async () => act()));
  return Promise.resolve(property.run([0]));
}

describe('an input that holds the event loop', () => {
  test('fails, wherever it does so', async () => {
    const error = { message: expect.stringMatching(/^the event loop is held for \d+ ms/) };
    expect(await found(() => work(LONG_MS))).toMatchObject({ error });
    const later = async () => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      work(LONG_MS);
      await new Promise((resolve) => setTimeout(resolve, 5));
    };
    expect(await found(later)).toMatchObject({ error });
  });

  test('is right if it does so once only: something else did that', async () => {
    let times = 0;
    const onceLong = () => {
      times += 1;
      work(times === 1 ? LONG_MS : 1);
    };
    expect(await found(onceLong)).toBeNull();
    expect(times).toBe(2);
  });

  test('is none that merely waits', async () => {
    expect(await found(() => new Promise((resolve) => setTimeout(resolve, LONG_MS)))).toBeNull();
  });

  test('is told as what it is if it fails otherwise', async () => {
    const wrong = new Error('wrong');
    const failing = () => {
      work(LONG_MS);
      throw wrong;
    };
    expect(await found(failing)).toMatchObject({ error: wrong });
  });
});
