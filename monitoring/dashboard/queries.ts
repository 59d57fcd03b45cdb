/** The coordinators that the variables of the dashboard choose; `cle_build_info` tells which jobs are some. */
export const chosen = 'cluster=~"$cluster", job=~"$job"';

/** The window of latencies, the one that the alert LeaseElectionsSlow has: elections are rare. */
const QUANTILE_WINDOW = '15m';

/** The series of a metric of the chosen coordinators; `matchers` as in PromQL, like `result="ok"`. */
export function series(metric: string, matchers = ''): string {
  return `${metric}{${matchers === '' ? chosen : `${matchers}, ${chosen}`}}`;
}

/**
 * A gauge over the whole cluster, of which each replica has a view of its own: the active replica's, or the largest one
 * where none is active.
 */
export function asTheActiveSees(metric: string): string {
  const active = `${series('leader_election_master_status')} == 1`;
  return `max without (instance, pod) (${series(metric)} and on (cluster, job, instance) ${active}) or max without (instance, pod) (${series(metric)})`;
}

/** A gauge that is 0 on all replicas but the active one. */
export function ofTheActive(metric: string, matchers = ''): string {
  return `max without (instance, pod) (${series(metric, matchers)})`;
}

/** How often something happened per minute, in all replicas together; `by` names labels, none of them by default. */
export function perMinute(metric: string, { by = '', matchers = '' } = {}): string {
  return `60 * ${perSecond(metric, { by, matchers })}`;
}

/** The same per second. */
export function perSecond(metric: string, { by = '', matchers = '' } = {}): string {
  return `sum${by === '' ? '' : ` by (${by})`} (rate(${series(metric, matchers)}[$__rate_interval]))`;
}

/** A quantile of a histogram; `by` names labels to tell apart. */
export function quantile(q: number, histogram: string, by = ''): string {
  const labels = by === '' ? 'le' : `le, ${by}`;
  return `histogram_quantile(${q}, sum by (${labels}) (rate(${series(`${histogram}_bucket`)}[${QUANTILE_WINDOW}])))`;
}

/** What fell into each bucket of a histogram, for a heatmap. */
export function buckets(histogram: string): string {
  return `sum by (le) (increase(${series(`${histogram}_bucket`)}[$__rate_interval]))`;
}
