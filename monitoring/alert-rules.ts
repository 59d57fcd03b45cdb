import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';

/** The file that the chart ships, and from which all else about alerts is made. */
export const alertsFile = new URL('../charts/coordinated-leader-election/files/alerts.yaml', import.meta.url);

/** An alerting rule as Prometheus reads it. */
export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  /** A duration like `5m`; at once where there is none. */
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** All alerts, in the order of the file. */
export async function alertRules(): Promise<readonly AlertRule[]> {
  const { groups } = parse(await readFile(alertsFile, 'utf8')) as { groups: { rules: AlertRule[] }[] };
  return groups.flatMap(({ rules }) => rules);
}
