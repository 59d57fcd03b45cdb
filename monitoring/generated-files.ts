import { readFile, writeFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { alertRules, alertsFile } from './alert-rules.ts';
import { withAlertsTable } from './alerts-table.ts';
import { makeDashboard, RUNBOOKS } from './dashboard/dashboard.ts';

/** A generated file. */
export interface GeneratedFile {
  /** Relative to the root of the repository. */
  readonly path: string;
  readonly content: string;
}

const repository = new URL('../', import.meta.url);
const chartValues = new URL('charts/coordinated-leader-election/values.yaml', repository);

/** Returns all files that are generated from the chart's alerts and the dashboard's code. */
export async function generatedFiles(): Promise<readonly GeneratedFile[]> {
  const rules = await alertRules();
  const alerts = await readFile(alertsFile, 'utf8');
  const dashboard = `${JSON.stringify(makeDashboard(rules.map(({ alert }) => alert)), undefined, 2)}\n`;
  const page = 'docs/how-to/monitoring.md';
  const { runbookBaseUrl } = parse(await readFile(chartValues, 'utf8')) as { runbookBaseUrl: string };
  // Changes links, and not the comment that names the folder.
  const links = new RegExp(`(?<=runbook_url: |")${RUNBOOKS}`, 'g');
  const published = (text: string) => text.replaceAll(links, runbookBaseUrl);
  return [
    { path: 'charts/coordinated-leader-election/files/dashboard.json', content: dashboard },
    { path: 'deploy/monitoring/dashboard.json', content: published(dashboard) },
    { path: 'deploy/monitoring/alerts.yaml', content: published(alerts) },
    { path: page, content: withAlertsTable(await readFile(new URL(page, repository), 'utf8'), rules) },
  ];
}

/** Returns the current content of the file; empty if the file is missing. */
export async function currentContent({ path }: GeneratedFile): Promise<string> {
  return readFile(new URL(path, repository), 'utf8').catch(() => '');
}

if (import.meta.main) {
  for (const { path, content } of await generatedFiles()) {
    await writeFile(new URL(path, repository), content);
  }
}
