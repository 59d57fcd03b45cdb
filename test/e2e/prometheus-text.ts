/** One series of a metric. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Returns the series of the metric called `name` in Prometheus's text format. */
export function samplesOf(text: string, name: string): readonly Sample[] {
  return text.split('\n').flatMap((line) => {
    const [, metric, labels = '', value] = /^([a-zA-Z_:]\w*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    if (metric !== name) return [];
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key = '', text = '']) => [
      key,
      text,
    ]);
    return [{ labels: Object.fromEntries(pairs) as Record<string, string>, value: Number(value) }];
  });
}

/** The sum of the series of `name` that have all of `labels`. */
export function sumOf(text: string, name: string, labels: Readonly<Record<string, string>> = {}): number {
  return samplesOf(text, name)
    .filter((sample) => Object.entries(labels).every(([key, value]) => sample.labels[key] === value))
    .reduce((sum, { value }) => sum + value, 0);
}
