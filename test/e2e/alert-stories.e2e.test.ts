import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { stringify } from 'yaml';
import { alertRules } from '../../monitoring/alert-rules.ts';
import { readPromql } from '../monitoring/promql.ts';
import { alertStories } from '../monitoring/stories/alert-stories.ts';
import { SCRAPE_MS, SimCluster } from '../monitoring/stories/sim-cluster.ts';
import { shippedRules } from './prometheus.ts';
import { runPromtool } from './promtool.ts';

const rules = await alertRules();
const metrics = new Set(rules.flatMap(({ expr }) => readPromql(expr).selectors.map(({ metric }) => metric)));

/** Every alert that has ever fired, one line each, as promtool shows them. */
const fired = 'group by (alertname) (max_over_time(ALERTS{alertstate="firing"}[1d]))';

describe('alerts fire only for problems that need a user’s action', () => {
  test.for(alertStories.map((story) => [story.name, story] as const))('%s', async ([, { tell, want }]) => {
    const cluster = new SimCluster(metrics);
    await tell(cluster);
    const folder = await mkdtemp(join(tmpdir(), 'alert-story-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const wanted = {
      expr: fired,
      eval_time: `${cluster.clock.now() / 1000}s`,
      exp_samples: [...want].sort().map((alertname) => ({ labels: `{alertname="${alertname}"}`, value: 1 })),
    };
    const story = {
      interval: `${SCRAPE_MS / 1000}s`,
      input_series: cluster.scraped.series,
      promql_expr_test: [wanted],
    };
    const file = { rule_files: [shippedRules], evaluation_interval: '30s', tests: [story] };
    await writeFile(join(folder, 'story.yaml'), stringify(file, { aliasDuplicateObjects: false }));
    const { code, output } = await runPromtool(['test', 'rules', join(folder, 'story.yaml')]);
    expect(output).toContain('SUCCESS');
    expect(code).toBe(0);
  });
});
