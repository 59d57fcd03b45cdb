import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';

/** The alert rules of the chart. All other files about alerts are generated from this one. */
export const alertsFile = new URL('../charts/coordinated-leader-election/files/alerts.yaml', import.meta.url);

/** An alerting rule as Prometheus reads it. */
export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  /** A duration like `5m`; undefined for an alert without delay. */
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** All alerts, in the order of the file. */
export async function alertRules(): Promise<readonly AlertRule[]> {
  const { groups } = parse(await readFile(alertsFile, 'utf8')) as { groups: { rules: AlertRule[] }[] };
  return groups.flatMap(({ rules }) => rules);
}
