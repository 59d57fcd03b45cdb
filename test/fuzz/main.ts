import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import fc from 'fast-check';
import { shortened } from '../../src/support/text.ts';
import type { FuzzTarget } from './fuzz-target.ts';
import { holdingNobody } from './held-loop.ts';
import { fuzzTargets } from './targets.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '1' },
    seed: { type: 'string' },
    path: { type: 'string' },
    target: { type: 'string' },
  },
});

const RUNS_EACH = 100;
/** Maximum printed characters of an input. The whole input is in a file. */
const MAX_TOLD = 4000;
const first = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
const targets = fuzzTargets.filter(({ name }) => values.target === undefined || name === values.target);
if (targets.length === 0) {
  throw new Error(`there is no such target: ${fuzzTargets.map(({ name }) => name).join(', ')}`);
}
const until = performance.now() + Number(values.minutes) * 60_000;
process.on('unhandledRejection', (error) => {
  console.error('an unhandled rejection:', error);
  process.exit(1);
});

let failures = 0;
for (const target of targets) failures += (await fuzz(target, until)) ? 0 : 1;
process.exit(failures === 0 ? 0 : 1);

/**
 * Tries inputs of one target for its share of the time, or the single input in a file. Prints failures, and how to
 * repeat them.
 */
async function fuzz(target: FuzzTarget, end: number): Promise<boolean> {
  const share = (end - performance.now()) / (targets.length - targets.indexOf(target));
  const own = performance.now() + share;
  const { property, stop } = await target.start();
  let tried = 0;
  try {
    for (let seed = first; ; seed += 1) {
      const result = await fc.check(holdingNobody(property) as fc.IAsyncProperty<unknown>, {
        seed,
        numRuns: RUNS_EACH,
        ...(values.path !== undefined && { path: values.path }),
      });
      tried += result.numRuns;
      if (result.failed) {
        console.error(result.errorInstance);
        console.error(shortened(fc.stringify(result.counterexample), MAX_TOLD));
        const file = join(tmpdir(), `fuzz-${target.name.replaceAll(' ', '-')}-${seed}.txt`);
        writeFileSync(file, fc.stringify(result.counterexample));
        console.error(`\nThe input is in ${file}`);
        console.error(
          `Again: npm run fuzz -- --target '${target.name}' --seed ${seed} --path '${result.counterexamplePath}'`,
        );
        return false;
      }
      if (performance.now() > own || values.path !== undefined) break;
    }
  } finally {
    await stop();
  }
  console.log(`${target.name}: nothing found in ${tried} inputs, from seed ${first} on`);
  return true;
}
