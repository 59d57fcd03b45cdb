import { decideElection } from '../src/election/decide.ts';
import { crowds, makeCrowd } from '../test/support/crowds.ts';

// What a decision takes: `npm run bench:decisions`. Milliseconds for each crowd of test/support/crowds.ts, median and longest,
// with 1 to 100,000 candidates; a part of a crowd's name shows only those.

const SIZES = [1, 5, 100, 10_000, 100_000];
const MOST_RUNS = 2000;
const MOST_MS = Number(process.env['MS'] ?? 400);

/** CPU time of all runs together, as others may use the machine too, and how long the longest one took. */
function measure(run: () => void) {
  let [runs, longest] = [0, 0];
  const before = process.threadCpuUsage();
  const until = performance.now() + MOST_MS;
  while (runs < 3 || (runs < MOST_RUNS && performance.now() < until)) {
    const startedAt = performance.now();
    run();
    longest = Math.max(longest, performance.now() - startedAt);
    runs++;
  }
  const { user, system } = process.threadCpuUsage(before);
  return { runs, longest, total: (user + system) / 1000 };
}

const only = process.argv[2] ?? '';
const sizes = process.argv[3]?.split(',').map(Number) ?? SIZES;

process.stdout.write(
  `${'ms a decision'.padEnd(42)}${sizes.map((size) => `${size}`.padStart(18)).join('')}\n`,
);
for (const [name, crowd] of Object.entries(crowds)) {
  if (!name.includes(only)) continue;
  const cells = sizes.map((size) => {
    const input = makeCrowd(crowd, size);
    const { total, longest, runs } = measure(() => decideElection(input, crowd.now));
    return `${(total / runs).toFixed(4)} ${longest.toFixed(1).padStart(7)}`.padStart(18);
  });
  process.stdout.write(`${name.padEnd(42)}${cells.join('')}\n`);
}
