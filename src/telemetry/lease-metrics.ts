import { Gauge, type Registry } from 'prom-client';
import type { SurveyedElection } from '../controller/elections-survey.ts';

/**
 * Registers, in `registry`, gauges with series for each single Lease; only for those who ask for them, as their number
 * grows with the cluster. A Lease without candidates has none.
 */
export function registerLeaseMetrics(registry: Registry, elections: () => Iterable<SurveyedElection>): void {
  const registers = [registry];
  new Gauge({
    name: 'cle_lease_info',
    help: 'Always 1; its labels tell how a Lease stands. Only with --lease-metrics',
    labelNames: ['lease_namespace', 'lease', 'holder', 'preferred_holder', 'strategy', 'reason'],
    registers,
    collect() {
      this.reset();
      for (const { input, tenure, reason = '' } of elections()) {
        const { lease } = input;
        this.set(
          {
            ...nameOf(input),
            holder: tenure.kind === 'held' ? tenure.holder : '',
            preferred_holder: lease?.preferredHolder ?? '',
            strategy: lease?.strategy ?? '',
            reason,
          },
          1,
        );
      }
    },
  });
  new Gauge({
    name: 'cle_lease_has_leader',
    help: 'Whether a Lease has a valid holder (1) or not (0). Only with --lease-metrics',
    labelNames: ['lease_namespace', 'lease'],
    registers,
    collect() {
      this.reset();
      for (const { input, tenure } of elections()) this.set(nameOf(input), tenure.kind === 'held' ? 1 : 0);
    },
  });
  new Gauge({
    name: 'cle_lease_candidates',
    help: 'The candidates of a Lease by what they count for right now; states without any are left out. Only with --lease-metrics',
    labelNames: ['lease_namespace', 'lease', 'state'],
    registers,
    collect() {
      this.reset();
      for (const { input, standings } of elections()) {
        for (const { state } of standings) this.inc({ ...nameOf(input), state });
      }
    },
  });
}

/** Not `namespace`: that is a label of scraped pods, and Prometheus would rename ours. */
function nameOf({ namespace, name }: SurveyedElection['input']) {
  return { lease_namespace: namespace, lease: name };
}
