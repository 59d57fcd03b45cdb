/** Patterns of values that differ in each output, and their placeholders. The first match counts. */
const variable: readonly (readonly [RegExp, string])[] = [
  // RFC 3339 and Go's notation.
  [/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?Z?/g, 'TIME'],
  [/\w{3} \w{3} +\d{1,2} \d\d:\d\d:\d\d \d{4}/g, 'TIME'],
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'UUID'],
  // The random parts of participants' identities, and the uids of their pods.
  [/-[0-9bcdf]{7,10}-[0-9b-df-hj-np-tv-z]{5}-[0-9a-f]{8}\b/g, '-HASH'],
  // Names of pods and ReplicaSets: kubectl's alphabet has no vowels.
  [/-[0-9bcdf]{7,10}(?:-[0-9b-df-hj-np-tv-z]{5})?(?![\w-])/g, '-HASH'],
  [/-[0-9bcdf]{7,10}-[0-9b-df-hj-np-tv-z]{5}(?=_)/g, '-HASH'],
  [/\b\d+\.\d+\.\d+\.\d+\b/g, 'ADDRESS'],
  [/[+-]?\b\d+(?:\.\d+)?(?:ms|[smhd])(?:\d+(?:ms|[smhd]))*\b/g, 'DURATION'],
  [/(?<=Resource Version: +)\d+/g, 'NUMBER'],
];

/** Replaces the values that differ in each output, and collapses spaces. */
function maskedLines(text: string): string[] {
  return text
    .split('\n')
    .map((line) => {
      let masked = line;
      for (const [pattern, word] of variable) masked = masked.replace(pattern, word);
      return masked.replace(/\s+/g, ' ').trim();
    })
    .filter((line) => line !== '');
}

/**
 * Returns the first line of a documented output that the real output lacks. All documented lines must occur in the
 * same order, but the documentation may omit lines. Undefined if none is missing.
 */
export function missingLine(documented: string, real: string): string | undefined {
  const lines = maskedLines(real);
  let from = 0;
  for (const line of maskedLines(documented)) {
    if (line === '...') continue;
    const found = lines.indexOf(line, from);
    if (found < 0) return line;
    from = found + 1;
  }
  return undefined;
}
