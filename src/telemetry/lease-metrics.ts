import { Gauge, type Registry } from 'prom-client';
import type { SurveyedElection } from '../controller/elections-survey.ts';

/**
 * Registers, in `registry`, gauges with series for each single Lease; only for those who ask for them, as their number
 * grows with the cluster. A Lease without candidates has none.
 */
export function registerLeaseMetrics(
  registry: Registry,
  elections: () => Iterable<SurveyedElection> | AsyncIterable<SurveyedElection>,
): void {
  const registers = [registry];
  let looking: Promise<void> | undefined;
  // All three gauges are set by one look at all Leases, and so are those of scrapes that come while it is under way.
  const collect = (): Promise<void> => {
    looking ??= lookAtAll().finally(() => {
      looking = undefined;
    });
    return looking;
  };
  const labelNames = ['lease_namespace', 'lease'] as const;
  const infos = new Gauge({
    name: 'cle_lease_info',
    help: 'Always 1; its labels tell how a Lease stands. Only with --lease-metrics',
    labelNames: [...labelNames, 'holder', 'preferred_holder', 'strategy', 'reason'],
    registers,
    collect,
  });
  async function lookAtAll(): Promise<void> {
    for (const gauge of [infos, leaders, candidates]) gauge.reset();
    for await (const { input, tenure, standings, reason = '' } of elections()) {
      const { lease } = input;
      const name = nameOf(input);
      const holder = tenure.kind === 'held' ? tenure.holder : '';
      const preferred_holder = lease?.preferredHolder ?? '';
      infos.set({ ...name, holder, preferred_holder, strategy: lease?.strategy ?? '', reason }, 1);
      leaders.set(name, tenure.kind === 'held' ? 1 : 0);
      for (const { state } of standings) candidates.inc({ ...name, state });
    }
  }
  const leaders = new Gauge({
    name: 'cle_lease_has_leader',
    help: 'Whether a Lease has a valid holder (1) or not (0). Only with --lease-metrics',
    labelNames,
    registers,
    collect,
  });
  const candidates = new Gauge({
    name: 'cle_lease_candidates',
    help: 'The candidates of a Lease by what they count for right now; states without any are left out. Only with --lease-metrics',
    labelNames: [...labelNames, 'state'],
    registers,
    collect,
  });
}

/** Not `namespace`: that is a label of scraped pods, and Prometheus would rename ours. */
function nameOf({ namespace, name }: SurveyedElection['input']) {
  return { lease_namespace: namespace, lease: name };
}
