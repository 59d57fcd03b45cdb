import type { AlertRule } from './alert-rules.ts';

const BEGIN = '<!-- The table is generated from the alerts, by `npm run docs`. -->\n';
const END = '<!-- End of the table. -->\n';

/** Returns the page with a table of all alerts between its two marks. */
export function withAlertsTable(page: string, rules: readonly AlertRule[]): string {
  const [before, rest = ''] = page.split(BEGIN);
  return `${before}${BEGIN}\n${alertsTable(rules)}\n${END}${rest.split(END)[1] ?? ''}`;
}

function alertsTable(rules: readonly AlertRule[]): string {
  const rows = rules.map(({ alert, labels, annotations, for: duration = 'at once' }) => [
    `[${alert}](../runbooks/${alert}.md)`,
    labels['severity'] ?? '',
    annotations['summary'] ?? '',
    duration,
  ]);
  const lines = [['alert', 'severity', 'what it says', 'after'], ['---', '---', '---', '---'], ...rows];
  return lines.map((cells) => `| ${cells.join(' | ')} |\n`).join('');
}
