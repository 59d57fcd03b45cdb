import { PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** Both halves of it, in bytes. It doubles: this is what it has once it has come to half of that. */
const MOST_BYTES = 8 * 1024 * 1024;

/**
 * Keeps V8's space for new objects from growing beyond 8 MiB, in which it is as fast: left to itself it grows to 134 MB
 * while thousands of objects are listed, and stays so large. `--max-semi-space-size=4` does the same, but only on the
 * command line; by how much that space grows V8 looks up whenever it does.
 */
export function boundYoungGeneration(): void {
  let isBound = false;
  new PerformanceObserver(() => {
    const space = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space');
    const isLarge = (space?.space_size ?? 0) >= MOST_BYTES;
    if (isLarge === isBound) return;
    isBound = isLarge;
    setFlagsFromString(`--semi-space-growth-factor=${isBound ? 1 : 2}`);
  }).observe({ entryTypes: ['gc'] });
}
