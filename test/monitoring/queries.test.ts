import { beforeAll, describe, expect, test } from 'vitest';
import { type AlertRule, alertRules } from '../../monitoring/alert-rules.ts';
import { makeDashboard } from '../../monitoring/dashboard/dashboard.ts';
import { dashboardQueries, panelsOf } from '../../monitoring/dashboard/dashboard-queries.ts';
import { knownSeries, unknownIn } from './known-series.ts';
import { readPromql } from './promql.ts';

const rules = await alertRules();
const dashboard = makeDashboard(rules.map(({ alert }) => alert));
let known: Awaited<ReturnType<typeof knownSeries>>;
beforeAll(async () => {
  known = await knownSeries();
});

const unknown = (expression: string) => unknownIn(readPromql(expression), known);

describe('an alert reads only series that coordinators export', () => {
  test.for<AlertRule>([...rules])('$alert', ({ expr }) => {
    expect(unknown(expr)).toEqual([]);
  });
});

describe('the dashboard reads only series that coordinators export', () => {
  /** An expression as Prometheus gets it, without irrelevant differences. */
  const plain = (expression: string) => expression.replaceAll('$__rate_interval', '1m');

  test.for(dashboardQueries(dashboard).filter(({ expression }) => !expression.startsWith('label_values')))(
    '$of: $expression',
    ({ expression }) => {
      expect(unknown(plain(expression))).toEqual([]);
    },
  );

  test('in its variables', () => {
    const asked = dashboardQueries(dashboard).flatMap(
      ({ expression }) => /^label_values\((.*), \w+\)$/.exec(expression)?.[1] ?? [],
    );
    expect(asked.flatMap(unknown)).toEqual([]);
    expect(asked).toHaveLength(2);
  });

  test('of the coordinators that are chosen at its top', () => {
    const others = dashboardQueries(dashboard)
      .filter(({ expression }) => !expression.startsWith('label_values'))
      .flatMap(({ of, expression }) =>
        readPromql(plain(expression)).selectors.map((each) => ({ of, ...each })),
      )
      .filter(({ metric }) => metric !== 'ALERTS')
      .filter(
        ({ matchers }) => !['cluster', 'job'].every((label) => matchers.some((each) => each.label === label)),
      );
    expect(others).toEqual([]);
  });

  test('and names series by labels that still exist', () => {
    const lost = panelsOf(dashboard).flatMap(({ title, targets = [] }) =>
      targets.flatMap((target) => {
        const { expr = '', legendFormat = '' } = target as { expr?: string; legendFormat?: string };
        const named = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label);
        const { selectors, groupingLabels } = readPromql(plain(expr));
        const isGrouped = /\bby \(/.test(expr);
        const left = isGrouped
          ? groupingLabels
          : [
              ...selectors.flatMap(({ metric }) => [...(known.get(metric)?.keys() ?? [])]),
              'instance',
              'cluster',
            ];
        return named.filter((label) => !left.includes(label)).map((label) => `${title}: ${label}`);
      }),
    );
    expect(lost).toEqual([]);
  });
});
