import { decideElection } from '../src/election/decide.ts';
import { crowds, makeCrowd } from '../test/support/crowds.ts';

// What a decision takes: `npm run bench:decisions [-- PART_OF_A_NAME [SIZES]]`. For each crowd of test/support/crowds.ts, with 1 to
// 100,000 candidates: milliseconds of CPU time on average, and how long the quickest one took. Versions are known by then, as the
// coordinator reads those of each candidate when it sees it.

const SIZES = [1, 5, 100, 10_000, 100_000];
const MOST_RUNS = 2000;
const MOST_MS = 400;

function measure(decide: () => void): { readonly cpuMs: number; readonly quickestMs: number } {
  for (let run = 0; run < 2; run++) decide();
  let runs = 0;
  let quickestMs = Number.POSITIVE_INFINITY;
  const before = process.threadCpuUsage();
  const until = performance.now() + MOST_MS;
  while (runs < 3 || (runs < MOST_RUNS && performance.now() < until)) {
    const startedAt = performance.now();
    decide();
    quickestMs = Math.min(quickestMs, performance.now() - startedAt);
    runs++;
  }
  const { user, system } = process.threadCpuUsage(before);
  return { cpuMs: (user + system) / 1000 / runs, quickestMs };
}

const [, , only = '', sizesText] = process.argv;
const sizes = sizesText?.split(',').map(Number) ?? SIZES;

process.stdout.write(
  `${'ms a decision'.padEnd(52)}${sizes.map((size) => `${size}`.padStart(20)).join('')}\n`,
);
for (const [name, crowd] of Object.entries(crowds)) {
  if (!name.includes(only)) continue;
  const cells = sizes.map((size) => {
    const input = makeCrowd(crowd, size);
    const { cpuMs, quickestMs } = measure(() => decideElection(input, crowd.now));
    return `${cpuMs.toFixed(4)} ${quickestMs.toFixed(4).padStart(9)}`.padStart(20);
  });
  process.stdout.write(`${name.padEnd(52)}${cells.join('')}\n`);
}
