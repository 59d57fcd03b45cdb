/** Selects the coordinators that the user chooses by the dashboard's variables. `cle_build_info` lists their jobs. */
export const chosen = 'cluster=~"$cluster", job=~"$job"';

/** The window of latencies, as in the alert LeaseElectionsSlow. It is long because elections are rare. */
const QUANTILE_WINDOW = '15m';

/** Returns the series of a metric of the chosen coordinators. `matchers`: as in PromQL, like `result="ok"`. */
export function series(metric: string, matchers = ''): string {
  return `${metric}{${matchers === '' ? chosen : `${matchers}, ${chosen}`}}`;
}

/**
 * Returns a gauge that describes the whole cluster, and that each replica exports: the active replica's value, or the
 * largest one if no replica is active.
 */
export function asTheActiveSees(metric: string): string {
  const active = `${series('leader_election_master_status')} == 1`;
  return `max without (instance, pod) (${series(metric)} and on (cluster, job, instance) ${active}) or max without (instance, pod) (${series(metric)})`;
}

/** Returns a gauge that is 0 on all replicas except the active one. */
export function ofTheActive(metric: string, matchers = ''): string {
  return `max without (instance, pod) (${series(metric, matchers)})`;
}

/** Returns the rate of a counter per minute, summed over all replicas. `by`: labels to keep. */
export function perMinute(metric: string, { by = '', matchers = '' } = {}): string {
  return `60 * ${perSecond(metric, { by, matchers })}`;
}

/** Returns the rate of a counter per second. */
export function perSecond(metric: string, { by = '', matchers = '' } = {}): string {
  return `sum${by === '' ? '' : ` by (${by})`} (rate(${series(metric, matchers)}[$__rate_interval]))`;
}

/** Returns a quantile of a histogram. `by`: labels to keep. */
export function quantile(q: number, histogram: string, by = ''): string {
  const labels = by === '' ? 'le' : `le, ${by}`;
  return `histogram_quantile(${q}, sum by (${labels}) (rate(${series(`${histogram}_bucket`)}[${QUANTILE_WINDOW}])))`;
}

/** Returns the increase of each bucket of a histogram, for a heatmap. */
export function buckets(histogram: string): string {
  return `sum by (le) (increase(${series(`${histogram}_bucket`)}[$__rate_interval]))`;
}
