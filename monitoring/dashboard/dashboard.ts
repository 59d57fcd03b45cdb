import * as dashboard from '@grafana/grafana-foundation-sdk/dashboard';
import { DataqueryBuilder } from '@grafana/grafana-foundation-sdk/prometheus';
import { apiServer } from './api-server.ts';
import { candidates } from './candidates.ts';
import { coordinator } from './coordinator.ts';
import { elections } from './elections.ts';
import { overview } from './overview.ts';
import { type Row, source } from './panels.ts';
import { processes } from './process.ts';
import { perSecond } from './queries.ts';

/** The base of runbook links in the chart's files. The chart replaces it with `runbookBaseUrl`. */
export const RUNBOOKS = 'docs/runbooks';

/** Returns the dashboard for a cluster with these alerts. */
export function makeDashboard(alerts: readonly string[]): dashboard.Dashboard {
  const builder = new dashboard.DashboardBuilder('Coordinated leader election')
    .uid('coordinated-leader-election')
    .description('Who elects the leaders of Leases, how long that takes, and what is in its way.')
    .tags(['kubernetes', 'leader-election'])
    .timezone('browser')
    .time({ from: 'now-1h', to: 'now' })
    .refresh('30s')
    .tooltip(dashboard.DashboardCursorSync.Crosshair)
    .variables(variables())
    .annotation(takeovers());
  for (const row of [overview(alerts), elections, candidates, coordinator, apiServer, processes])
    add(row, builder);
  return numbered(builder.build());
}

function add({ title, collapsed, panels }: Row, builder: dashboard.DashboardBuilder): void {
  const row = new dashboard.RowBuilder(title);
  if (collapsed) {
    for (const panel of panels) row.withPanel(panel);
    builder.withRow(row);
    return;
  }
  builder.withRow(row);
  for (const panel of panels) builder.withPanel(panel);
}

function variables() {
  const choice = (name: string, label: string, query: string) =>
    new dashboard.QueryVariableBuilder(name)
      .label(label)
      .datasource(source)
      .query(query)
      .refresh(dashboard.VariableRefresh.OnTimeRangeChanged)
      .sort(dashboard.VariableSort.AlphabeticalAsc)
      .includeAll(true)
      .current({ text: 'All', value: '$__all' });
  return [
    new dashboard.DatasourceVariableBuilder('datasource').label('Data source').type('prometheus'),
    // Without the label `cluster`, all series count as one cluster.
    choice('cluster', 'Cluster', 'label_values(cle_build_info, cluster)').allValue('.*'),
    choice('job', 'Job', 'label_values(cle_build_info{cluster=~"$cluster"}, job)'),
    new dashboard.ConstantVariableBuilder('runbooks')
      .description('Where the runbooks are: the links of panels and alerts begin with it.')
      .value(RUNBOOKS),
  ];
}

/** Marks when another replica starts to coordinate. */
function takeovers(): dashboard.AnnotationQueryBuilder {
  const expression = `${perSecond('cle_lock_state_changes_total', { by: 'instance', matchers: 'state="active"' })} > 0`;
  return new dashboard.AnnotationQueryBuilder()
    .name('Takeovers')
    .datasource(source)
    .enable(true)
    .iconColor('blue')
    .expr(expression)
    .titleFormat('{{instance}} coordinates')
    .target(new DataqueryBuilder().refId('Takeovers').datasource(source).expr(expression));
}

/** Numbers all panels and rows. Links name panels by number. */
function numbered(made: dashboard.Dashboard): dashboard.Dashboard {
  let last = 0;
  const next = () => {
    last += 1;
    return last;
  };
  for (const panel of made.panels ?? []) {
    panel.id = next();
    if ('panels' in panel) for (const inner of panel.panels) inner.id = next();
  }
  return made;
}
