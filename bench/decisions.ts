import { ElectionRecords } from '../src/controller/election-records.ts';
import { FairKeys } from '../src/controller/order-and-limit.ts';
import { decideElection } from '../src/election/decide.ts';
import { crowds, makeCrowd } from '../test/support/crowds.ts';
import { defaultSettings, makeCandidate, makeNow } from '../test/support/election-builders.ts';

// The cost of a decision, `npm run bench -- decisions [PART_OF_A_NAME [SIZES]]`, for each crowd of
// test/support/crowds.ts; also of gathering a crowd, and of the order of Leases. Cells are nanoseconds of CPU time
// per candidate, or key. The last two columns are ratios of this run: the cost at the largest size relative to that
// at a hundred, and the exponent of the total cost in the size: 1 is linear, 2 quadratic. A crowd's versions are
// cached, because the coordinator parses those of each candidate when it sees it.

const SIZES = [1, 3, 10, 30, 100, 300, 1000, 3000, 10_000];
/** With fewer, the fixed cost of each decision dominates. */
const GROWTH_FROM = 100;
const LEAST_RUNS = 5;
const MAX_MS = 150;

/** Returns the nanoseconds of CPU time of `work`. */
function measure(work: () => void): number {
  const warmUntil = performance.now() + MAX_MS / 3;
  do work();
  while (performance.now() < warmUntil);
  let runs = 0;
  const until = performance.now() + MAX_MS;
  const before = process.threadCpuUsage();
  while (runs < LEAST_RUNS || performance.now() < until) {
    work();
    runs++;
  }
  const { user, system } = process.threadCpuUsage(before);
  return ((user + system) * 1000) / runs;
}

/** The slope of the best-fitting line through the logarithms of the measurements. */
function growthExponent(measured: readonly Measured[]): number {
  const points = measured.map(({ size, ns }) => ({ x: Math.log(size), y: Math.log(ns) }));
  const mean = (of: (point: { x: number; y: number }) => number) =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const [meanX, meanY] = [mean(({ x }) => x), mean(({ y }) => y)];
  return mean(({ x, y }) => (x - meanX) * (y - meanY)) / mean(({ x }) => (x - meanX) ** 2);
}

interface Measured {
  readonly size: number;
  readonly ns: number;
}

/** Creates work of this size. */
type MakeWork = (size: number) => () => void;

function gathering(size: number): () => void {
  const records = new ElectionRecords(defaultSettings);
  for (let index = 0; index < size; index++)
    records.seeCandidate(makeCandidate(`candidate-${index}`).build(), makeNow(0));
  return () => records.gather('kube-system/scheduler');
}

/** Each Lease of a namespace, or of as many namespaces, has one turn. */
function turns(namespaceOf: (name: string) => string): MakeWork {
  return (size) => {
    const keys = Array.from({ length: size }, (_, index) => `lease-${index}`);
    return () => {
      const order = new FairKeys();
      for (const [index, key] of keys.entries()) order.set(key, namespaceOf(key), 0, (index * 7919) % size);
      while (order.shift() !== undefined);
    };
  };
}

const deciding = Object.entries(crowds).map(([name, crowd]): [string, MakeWork] => [
  name,
  (size) => {
    const input = makeCrowd(crowd, size);
    return () => decideElection(input, crowd.now);
  },
]);
const rows: readonly [string, MakeWork][] = [
  ...deciding,
  ['gathering', gathering],
  ['turns of Leases in one namespace', turns(() => 'default')],
  ['turns of Leases in as many namespaces', turns((name) => name)],
];

const [, , only = '', sizesText] = process.argv;
const sizes = sizesText?.split(',').map(Number) ?? SIZES;

const columns = [...sizes.map(String), 'x', 'exponent'];
process.stdout.write(
  `${'ns of CPU time for each candidate'.padEnd(52)}${columns.map((column) => column.padStart(9)).join('')}\n`,
);
for (const [name, makeWork] of rows) {
  if (!name.includes(only)) continue;
  const measured = sizes.map((size): Measured => ({ size, ns: measure(makeWork(size)) }));
  const large = measured.filter(({ size }) => size >= GROWTH_FROM);
  const [first, last] = [large[0], large.at(-1)];
  const each = (one: Measured | undefined) => (one ? one.ns / one.size : Number.NaN);
  const cells = [
    ...measured.map((one) => each(one).toFixed(0)),
    (each(last) / each(first)).toFixed(2),
    growthExponent(large).toFixed(2),
  ];
  process.stdout.write(`${name.padEnd(52)}${cells.map((cell) => cell.padStart(9)).join('')}\n`);
}
