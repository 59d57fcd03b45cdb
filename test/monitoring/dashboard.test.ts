import type { Panel } from '@grafana/grafana-foundation-sdk/dashboard';
import { describe, expect, test } from 'vitest';
import { alertRules } from '../../monitoring/alert-rules.ts';
import { makeDashboard } from '../../monitoring/dashboard/dashboard.ts';
import { panelsOf } from '../../monitoring/dashboard/dashboard-queries.ts';

const alerts = (await alertRules()).map(({ alert }) => alert);
const dashboard = makeDashboard(alerts);
const panels = panelsOf(dashboard);

describe.for<Panel>([...panels])(
  'the panel $title',
  ({ description, fieldConfig, targets = [], datasource }) => {
    test('has a description, a unit and thresholds', () => {
      expect(description).toMatch(/^[A-Z].{10,}\.$/);
      expect(fieldConfig?.defaults.unit).toMatch(/^\w+$/);
      const steps = fieldConfig?.defaults.thresholds?.steps ?? [];
      expect(steps[0]).toEqual({ value: null, color: 'green' });
      const limits = steps.slice(1).map(({ value }) => Number(value));
      expect(limits).toEqual([...limits].sort((a, b) => a - b));
    });

    test('queries the chosen data source, with unique names', () => {
      const asked = targets as { refId?: string; datasource?: unknown }[];
      const source = { type: 'prometheus', uid: `\${datasource}` };
      expect([datasource, ...asked.map((each) => each.datasource)]).toEqual([
        source,
        ...asked.map(() => source),
      ]);
      expect(new Set(asked.map(({ refId }) => refId)).size).toBe(asked.length);
      expect(asked.length).toBeGreaterThan(0);
    });
  },
);

describe('the dashboard', () => {
  test('has a title for each panel, and a number for each panel and row', () => {
    const titles = panels.map(({ title }) => title);
    expect(new Set(titles).size).toBe(titles.length);
    const ids = [...panels, ...(dashboard.panels ?? []).filter(({ type }) => type === 'row')].map(
      ({ id }) => id,
    );
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).not.toContain(0);
    expect(ids).not.toContain(undefined);
  });

  test('has no overlapping panels, and none outside of the page', () => {
    const taken = panels.flatMap(({ gridPos: { x, y, w, h } = { x: 0, y: 0, w: 0, h: 0 } }) =>
      Array.from({ length: w * h }, (_, at) => `${x + (at % w)} ${y + Math.floor(at / w)}`),
    );
    expect(new Set(taken).size).toBe(taken.length);
    expect(taken.filter((place) => Number(place.split(' ')[0]) >= 24)).toEqual([]);
  });

  test('links to every runbook, and to no missing one', () => {
    const linked = panels.flatMap(({ links = [] }) => links.map(({ url }) => url));
    const want = alerts.map((alert) => `\${runbooks}/${alert}.md`);
    expect([...new Set(linked)].sort()).toEqual(want.sort());
  });

  test('shows all alerts', () => {
    const [table] = panels.filter(({ title }) => title === 'Alerts');
    expect(JSON.stringify(table?.targets)).toContain(alerts.join('|'));
  });
});
