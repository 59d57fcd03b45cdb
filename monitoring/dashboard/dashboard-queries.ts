import type { Dashboard, Panel, RowPanel } from '@grafana/grafana-foundation-sdk/dashboard';

/** A query of a dashboard to Prometheus. */
export interface DashboardQuery {
  /** The title of its panel, or the name of its variable or annotation. */
  readonly of: string;
  /** A PromQL expression with Grafana's variables, or `label_values(...)` of a variable. */
  readonly expression: string;
  /** An instant query, not a range query. */
  readonly isInstant: boolean;
}

/** Returns all panels, including those within rows, but not the rows. */
export function panelsOf({ panels = [] }: Dashboard): readonly Panel[] {
  return panels.flatMap((each): readonly Panel[] => (isRow(each) ? each.panels : [each]));
}

/** Returns all queries of a dashboard. */
export function dashboardQueries(dashboard: Dashboard): readonly DashboardQuery[] {
  const ofPanels = panelsOf(dashboard).flatMap(({ title = '', targets = [] }) =>
    targets.map((target) => {
      const { expr = '', instant = false } = target as { expr?: string; instant?: boolean };
      return { of: title, expression: expr, isInstant: instant };
    }),
  );
  const ofVariables = (dashboard.templating.list ?? [])
    .filter(({ type }) => String(type) === 'query')
    .map(({ name, query }) => ({ of: name, expression: String(query), isInstant: true }));
  const ofAnnotations = (dashboard.annotations.list ?? []).map(({ name, expr }) => ({
    of: name,
    expression: expr ?? '',
    isInstant: false,
  }));
  return [...ofVariables, ...ofAnnotations, ...ofPanels];
}

function isRow(panel: Panel | RowPanel): panel is RowPanel {
  return panel.type === 'row';
}
