/** A series in promtool's format. */
export interface InputSeries {
  readonly series: string;
  readonly values: string;
}

/** The scraped samples of some metrics, on which promtool evaluates rules. */
export class ScrapedSeries {
  readonly #metrics: ReadonlySet<string>;
  readonly #values = new Map<string, string[]>();
  #scrapes = 0;

  constructor(metrics: ReadonlySet<string>) {
    this.#metrics = metrics;
  }

  /** One scrape of all targets: the text of each by pod. A series that a pod no longer exports is stale. */
  add(texts: ReadonlyMap<string, string>): void {
    for (const [pod, text] of texts) {
      for (const line of text.split('\n')) this.#addLine(pod, line);
    }
    this.#scrapes++;
    for (const values of this.#values.values()) {
      if (values.length === this.#scrapes) continue;
      values.push(values.at(-1) === 'stale' || values.at(-1) === '_' ? '_' : 'stale');
    }
  }

  get series(): readonly InputSeries[] {
    return [...this.#values].map(([series, values]) => ({ series, values: values.join(' ') }));
  }

  #addLine(pod: string, line: string): void {
    const [, metric = '', labels, value = ''] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    if (!this.#metrics.has(metric)) return;
    const target = `job="coordinator",instance="${pod}:8080",pod="${pod}"`;
    const series = `${metric}{${labels ? `${labels},` : ''}${target}}`;
    const values = this.#values.get(series) ?? Array<string>(this.#scrapes).fill('_');
    values.push(value);
    this.#values.set(series, values);
  }
}
