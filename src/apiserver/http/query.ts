/** The parameters that mean anything to this server. */
const KNOWN: ReadonlySet<string> = new Set([
  'allowWatchBookmarks',
  'continue',
  'dryRun',
  'exclude',
  'fieldManager',
  'fieldSelector',
  'fieldValidation',
  'force',
  'gracePeriodSeconds',
  'hash',
  'ignoreStoreReadErrorWithClusterBreakingPotential',
  'includeObject',
  'labelSelector',
  'limit',
  'orphanDependents',
  'pretty',
  'propagationPolicy',
  'resourceVersion',
  'resourceVersionMatch',
  'sendInitialEvents',
  'timeout',
  'timeoutSeconds',
  'verbose',
  'watch',
]);
const SHORTEST = Math.min(...[...KNOWN].map((name) => name.length));
/** Of most parameters the first value counts, of some all of them: nobody means as many as this. */
const MOST_OF_ONE_NAME = 100;

/**
 * The parameters of a query that this server knows. A request line may have hundreds of thousands of others, which would take
 * seconds to read.
 */
export function parseQuery(text: string): URLSearchParams {
  const kept: string[] = [];
  const counts = new Map<string, number>();
  for (let start = 0; start < text.length; ) {
    const mark = text.indexOf('&', start);
    const end = mark === -1 ? text.length : mark;
    const name = end - start < SHORTEST ? undefined : knownName(text.slice(start, end));
    const count = (name !== undefined && counts.get(name)) || 0;
    if (name !== undefined && count < MOST_OF_ONE_NAME) {
      counts.set(name, count + 1);
      kept.push(text.slice(start, end));
    }
    start = end + 1;
  }
  return new URLSearchParams(kept.join('&'));
}

function knownName(pair: string): string | undefined {
  const mark = pair.indexOf('=');
  const written = mark === -1 ? pair : pair.slice(0, mark);
  const name = /[%+]/.test(written) ? [...new URLSearchParams(written).keys()][0] : written;
  return name !== undefined && KNOWN.has(name) ? name : undefined;
}
