import { Session } from 'node:inspector';

/**
 * Built-ins that visit all elements of a collection in native code, which block coverage does not count. Their
 * elements are counted instead.
 */
const WHOLE = ['concat', 'includes', 'indexOf', 'join', 'slice', 'sort'] as const;
const ITERATORS: readonly { next: () => IteratorResult<unknown> }[] = [
  [].values(),
  new Map().values(),
  new Set().values(),
].map((iterator) => Object.getPrototypeOf(iterator));

/** Factor by which a step may exceed n log n, because implementations differ. */
const SLACK = 1.25;

/** Each size is ten times the previous one. */
const SIZES = [1, 10, 100, 1000, 10_000];

// Call this before any import of src/: V8 counts blocks only of functions that it compiles afterwards.
const session = new Session();
session.connect();
session.post('Profiler.enable');
session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });

/**
 * Returns the number of steps of `work`: the executed blocks of src/, as V8 counts them, and the elements that
 * arrays, Maps and Sets return or visit natively. Ignores time, and work inside of strings, numbers and hash tables.
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
 * Returns a line such as `100 to 1000: 9000 to 900000 steps` if ten times the size takes more than ten times the
 * steps, with the tolerance of n log n; empty if none does.
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

/** Returns the executed blocks since the last call. */
function blocksRun(): number {
  let count = 0;
  // It calls its callback before it returns.
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
