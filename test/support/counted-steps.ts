import { Session } from 'node:inspector';

/** What goes through all of something by itself, and is in no count of blocks: the elements are counted in its place. */
const WHOLE = ['concat', 'includes', 'indexOf', 'join', 'slice', 'sort'] as const;
const ITERATORS: readonly { next: () => IteratorResult<unknown> }[] = [
  [].values(),
  new Map().values(),
  new Set().values(),
].map((iterator) => Object.getPrototypeOf(iterator));

/** How much more than n log n a step from one way of doing something to another may look like. */
const SLACK = 1.25;

/** From one to the next is ten times as many. */
const SIZES = [1, 10, 100, 1000, 10_000];

// Before anything of src/ has run: blocks are counted only of functions that are compiled from now on.
const session = new Session();
session.connect();
session.post('Profiler.enable');
session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });

/**
 * How many steps `work` takes: how often each block of src/ is run, as V8 counts it, and how many elements arrays, Maps and
 * Sets hand out or go through by themselves. It takes no time into account, and counts nothing inside of strings, numbers,
 * and the tables of a Map.
 */
export function countedSteps(work: () => void): number {
  blocksRun();
  const elements = { count: 0 };
  const restore = [
    ...ITERATORS.map((one) => countNext(one, elements)),
    ...WHOLE.map((name) => countWhole(name, elements)),
  ];
  try {
    work();
  } finally {
    for (const each of restore) each();
  }
  return blocksRun() + elements.count;
}

/**
 * Where ten times as many take more than ten times as many steps, but for what n log n allows, as lines such as
 * `100 to 1000: 9000 to 900000 steps`; none where all is well.
 */
export function tooFastGrowth(workOn: (count: number) => () => void): readonly string[] {
  const counts = SIZES.map((count) => ({ count, steps: countedSteps(workOn(count)) }));
  return counts.slice(1).flatMap(({ count, steps }, index) => {
    const less = counts[index];
    if (!less) return [];
    const most = SLACK * 10 * less.steps * (Math.log2(count + 1) / Math.log2(less.count + 1));
    return steps > most ? [`${less.count} to ${count}: ${less.steps} to ${steps} steps`] : [];
  });
}

/** How often blocks were run since it was last asked. */
function blocksRun(): number {
  let count = 0;
  // Its callback is called before it returns.
  session.post('Profiler.takePreciseCoverage', (error, { result }) => {
    if (error) throw error;
    const ours = result.filter(({ url }) => url.includes('/src/'));
    for (const { functions } of ours)
      for (const { ranges } of functions) for (const range of ranges) count += range.count;
  });
  return count;
}

function countNext(iterator: (typeof ITERATORS)[number], elements: { count: number }): () => void {
  const { next } = iterator;
  iterator.next = function (this: unknown) {
    elements.count++;
    return next.call(this);
  };
  return () => {
    iterator.next = next;
  };
}

function countWhole(name: (typeof WHOLE)[number], elements: { count: number }): () => void {
  const original = Object.getOwnPropertyDescriptor(Array.prototype, name);
  if (!original) throw new Error(`arrays have no ${name}()`);
  const value = function (this: readonly unknown[], ...args: unknown[]) {
    elements.count += this.length;
    return original.value.apply(this, args);
  };
  Object.defineProperty(Array.prototype, name, { ...original, value });
  return () => void Object.defineProperty(Array.prototype, name, original);
}
