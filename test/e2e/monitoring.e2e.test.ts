import { copyFile, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { alertRules } from '../../monitoring/alert-rules.ts';
import { makeDashboard } from '../../monitoring/dashboard/dashboard.ts';
import { type DashboardQuery, dashboardQueries } from '../../monitoring/dashboard/dashboard-queries.ts';
import { type EmbeddedPlane, startEmbeddedPlane } from '../control-plane/embedded-plane.ts';
import { type SimCandidates, startSimCandidates } from '../control-plane/sim-candidate.ts';
import { type Coordinator, eventually, startCoordinator, untilActive } from './coordinator.ts';
import { type Prometheus, shippedRules, startPrometheus } from './prometheus.ts';
import { runPromtool } from './promtool.ts';

const repository = new URL('../../', import.meta.url).pathname;
const casesFolder = join(repository, 'test/monitoring/alerts');
const cases = (await readdir(casesFolder)).sort();

/** What is a query without an answer when all is well, and why. */
const silent: Readonly<Record<string, string>> = {
  'max without (instance, pod) (cle_lock_holder{holder="foreign", cluster=~".*", job=~"coordinated-leader-election"}) == 1':
    'the embedded server has no built-in coordinator',
};

describe('promtool', () => {
  test.for(['charts/coordinated-leader-election/files/alerts.yaml', 'deploy/monitoring/alerts.yaml'])(
    'has nothing to object to %s',
    async (path) => {
      const { code, output } = await runPromtool(['check', 'rules', '--lint-fatal', join(repository, path)]);
      expect(output).toContain(`${(await alertRules()).length} rules found`);
      expect(code).toBe(0);
    },
  );

  test.for(cases)('finds the alerts to fire when they should, and only then: %s', async (file) => {
    const { code, output } = await runPromtool(['test', 'rules', join(casesFolder, file)]);
    expect(output).toContain('SUCCESS');
    expect(output).not.toContain('FAILED');
    expect(code).toBe(0);
  });

  test('tells an alert that fires when it must not', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'promtool-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const text = await readFile(join(casesFolder, 'LeaseWithoutLeader.yaml'), 'utf8');
    const rules = (await readFile(shippedRules, 'utf8')).replace(') > 30', ') > 10');
    await writeFile(join(folder, 'alerts.yaml'), rules);
    await writeFile(join(folder, 'cases.yaml'), text.replace(/^rule_files: .*/, 'rule_files: [alerts.yaml]'));
    const { code, output } = await runPromtool(['test', 'rules', join(folder, 'cases.yaml')]);
    expect(output).toContain('is silent about an election that takes 45 s');
    expect(code).toBe(1);
  });

  test('takes the configuration that docs/how-to/monitoring.md gives', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'promtool-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const page = await readFile(join(repository, 'docs/how-to/monitoring.md'), 'utf8');
    const [, configuration = ''] = /```yaml\n([^`]+)```/.exec(page) ?? [];
    // Debian's promtool is built without what finds pods.
    const checkable = configuration.replace(/kubernetes_sd_configs: .*/, 'static_configs: []');
    expect(checkable).not.toBe(configuration);
    await writeFile(join(folder, 'prometheus.yaml'), checkable);
    await copyFile(join(repository, 'deploy/monitoring/alerts.yaml'), join(folder, 'alerts.yaml'));
    const { code, output } = await runPromtool(['check', 'config', join(folder, 'prometheus.yaml')]);
    expect(output).toContain('1 rule files found');
    expect(code).toBe(0);
  });
});

describe('a Prometheus that scrapes two replicas, while Leases expire and candidates fall silent and disagree', () => {
  let plane: EmbeddedPlane;
  let candidates: SimCandidates;
  let prometheus: Prometheus;
  const coordinators: Coordinator[] = [];

  beforeAll(async () => {
    plane = await startEmbeddedPlane();
    for (const _ of ['active', 'standby']) coordinators.push(await start());
    const [active, standby] = coordinators as [Coordinator, Coordinator];
    candidates = await startSimCandidates(plane);
    await untilActive(active);
    prometheus = await startPrometheus({
      rules: shippedRules,
      targets: [await targetOf(active), await targetOf(standby)],
    });
    const namespace = 'default';
    // Nobody renews these: they are granted, expire, and are granted again.
    await candidates.start({ namespace, lease: 'expiring', name: 'one', binaryVersion: '1.35.0' });
    await candidates.start({ namespace, lease: 'expiring', name: 'other', binaryVersion: '1.36.0' });
    await candidates.start({
      namespace,
      lease: 'silent',
      name: 'mute',
      answers: false,
      renewedAgoMs: 60_000,
    });
    await candidates.start({ namespace, lease: 'torn', name: 'left', strategy: 'OldestEmulationVersion' });
    await candidates.start({ namespace, lease: 'torn', name: 'right', strategy: 'example.com/other' });
    await seen('max(increase(cle_expiry_to_holder_seconds_count[30s])) >= 2');
    await active.stop();
    await seen('leader_election_master_status{pod="standby"} == 1');
    await seen(
      'increase(cle_elections_total{pod="standby", reason="LeaseExpired", result="granted"}[10s]) >= 1',
    );
    await seen('ALERTS{alertname="LeaseStrategyConflict"}');
    await eventually(hasCollectedGarbage, 'garbage was collected', 60_000, 10);
  });

  afterAll(async () => {
    await prometheus?.stop();
    candidates?.stop();
    await Promise.all(coordinators.map((each) => each.stop()));
    await plane?.stop();
  });

  function start(): Promise<Coordinator> {
    const args = ['--lease-duration=3s', '--election-duration=1s'];
    return startCoordinator(plane.coordinatorKubeconfig, args);
  }

  async function targetOf(coordinator: Coordinator) {
    const { listen } = await coordinator.waitForLog(({ msg }) => msg === 'Started');
    const pod = coordinators.indexOf(coordinator) === 0 ? 'active' : 'standby';
    return { address: `127.0.0.1:${(listen as { port: number }).port}`, labels: { cluster: 'test', pod } };
  }

  async function seen(expression: string): Promise<void> {
    const isSeen = async () => (await prometheus.query(expression)).length > 0 || undefined;
    await eventually(isSeen, expression, 60_000, 250);
  }

  /** Nothing is told of it before the first time, and little is left to collect but what answers are made of. */
  async function hasCollectedGarbage(): Promise<true | undefined> {
    await (coordinators[1] as Coordinator).get('/metrics');
    return (await prometheus.query('rate(nodejs_gc_duration_seconds_sum[5s])')).length > 0 || undefined;
  }

  test('gets metrics that promtool has nothing to object to', async () => {
    const { body } = await (coordinators[1] as Coordinator).get('/metrics');
    const { code, output } = await runPromtool(['check', 'metrics'], body);
    expect(output).toBe('');
    expect(code).toBe(0);
  });

  /** What Prometheus says to a query as Grafana would send it: whether it is content, and how many series it has. */
  async function answerTo({ expression, isInstant }: DashboardQuery) {
    const [, of, label] = /^label_values\((.*), (\w+)\)$/.exec(expression) ?? [];
    const end = Date.now() / 1000;
    const parameters: Record<string, string> = of
      ? { 'match[]': of }
      : { query: expression, ...(isInstant ? {} : { start: `${end - 60}`, end: `${end}`, step: '1' }) };
    const path = of ? `label/${label}/values` : isInstant ? 'query' : 'query_range';
    const response = await fetch(`${prometheus.url}/api/v1/${path}?${new URLSearchParams(parameters)}`);
    const { status, error, warnings, data } = (await response.json()) as {
      status: string;
      error?: string;
      warnings?: readonly string[];
      data?: readonly unknown[] | { readonly result: readonly unknown[] };
    };
    return { status, error, warnings, series: (data && ('result' in data ? data.result : data))?.length };
  }

  test('has an answer to everything that the dashboard asks', async () => {
    const alerts = (await alertRules()).map(({ alert }) => alert);
    // With `All` chosen at the top.
    const asked = dashboardQueries(makeDashboard(alerts)).map(({ expression, ...rest }) => ({
      ...rest,
      expression: expression
        .replaceAll('$__rate_interval', '5s')
        .replaceAll('$cluster', '.*')
        .replaceAll('$job', 'coordinated-leader-election'),
    }));
    const answers = await Promise.all(asked.map(async (query) => ({ ...query, ...(await answerTo(query)) })));
    const unwell = answers.filter(({ status, warnings, series = 0, expression }) => {
      const isEmpty = series === 0;
      return status !== 'success' || warnings !== undefined || isEmpty !== expression in silent;
    });
    expect(unwell).toEqual([]);
    expect(answers.length).toBeGreaterThan(50);
  });
});
