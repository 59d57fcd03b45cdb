import fc from 'fast-check';
import { describe, onTestFinished, test } from 'vitest';
import { holdingNobody } from './held-loop.ts';
import { fuzzTargets } from './targets.ts';

/** Always the same inputs. `npm run fuzz` tries others. */
const seed = 20_261_122;

describe('untrusted input', () => {
  test.each(fuzzTargets)('$name takes it', async ({ runs, start }) => {
    const { property, stop } = await start();
    onTestFinished(stop);
    await fc.assert(holdingNobody(property) as fc.IAsyncProperty<unknown>, { seed, numRuns: runs });
  });
});
