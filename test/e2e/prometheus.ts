import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rename, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parse, stringify } from 'yaml';
import { freePorts } from '../control-plane/free-port.ts';
import { NotReadyError, untilReady } from '../control-plane/ready.ts';
import { type Reaper, startReaper } from '../control-plane/reaper.ts';
import { type ServerProcess, startServer } from '../control-plane/server-process.ts';
import { eventually } from './coordinator.ts';

/** The shipped rules. */
export const shippedRules = new URL(
  '../../charts/coordinated-leader-election/files/alerts.yaml',
  import.meta.url,
).pathname;

/** A target to scrape. */
export interface ScrapeTarget {
  /** `127.0.0.1:8080` */
  readonly address: string;
  /** Its label `job`; default `coordinated-leader-election`. */
  readonly job?: string;
  /** More labels, like `pod`. */
  readonly labels?: Readonly<Record<string, string>>;
}

/** A series in an answer, at the time of the query. */
export interface QueryResult {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A pending or firing alert. */
export interface ActiveAlert {
  readonly name: string;
  readonly state: 'pending' | 'firing';
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** A real Prometheus that scrapes and evaluates its rules several times as often as one in a cluster would. */
export interface Prometheus {
  readonly url: string;
  readonly server: ServerProcess;
  /** Scrapes only these targets from now on. */
  setTargets(targets: readonly ScrapeTarget[]): Promise<void>;
  /**
   * Runs an instant query.
   * @throws Error with Prometheus' message for an invalid expression
   */
  query(expression: string): Promise<readonly QueryResult[]>;
  /** All pending and firing alerts. */
  alerts(): Promise<readonly ActiveAlert[]>;
  /**
   * Waits until the alert has this state, and resolves to it.
   * @throws Error after `timeoutMs`, default two minutes
   */
  untilAlert(name: string, state: ActiveAlert['state'], timeoutMs?: number): Promise<ActiveAlert>;
  /**
   * Waits until no series of the alert is pending or firing.
   * @throws Error as `untilAlert` does
   */
  untilNoAlert(name: string, timeoutMs?: number): Promise<void>;
  stop(): Promise<void>;
}

export interface PrometheusOptions {
  /** Path of a file with rules; default: none. */
  readonly rules?: string;
  readonly targets?: readonly ScrapeTarget[];
  /** Every duration of the rules is divided by this; default 1. Comparisons with seconds are unchanged. */
  readonly pace?: number;
}

/** Like a scrape every 15 s at a pace of 15: often enough for every window in the rules. */
const INTERVAL = '1s';

/**
 * Starts the Prometheus on the PATH, or the one in the environment variable PROMETHEUS. It ends with this process,
 * even if that is killed.
 * @throws Error with what to install if there is none, or with the end of its log
 */
export async function startPrometheus(options: PrometheusOptions = {}): Promise<Prometheus> {
  const path = await prometheusPath();
  const directory = await mkdtemp(join(tmpdir(), 'prometheus-'));
  const reaper = startReaper(process.env['CLE_KEEP'] ? undefined : directory);
  try {
    await writeConfiguration(directory, options);
    await writeTargets(directory, options.targets ?? []);
    return await startOnFreePort(path, directory, reaper);
  } catch (error) {
    await reaper.end();
    throw error;
  }
}

/** Divides `for` and the windows in the expressions of a file of rules by `pace`. */
function pacedRules(text: string, pace: number): string {
  const paced = (duration: string) => `${(milliseconds(duration) / pace).toFixed()}ms`;
  const { groups } = parse(text) as { groups: { rules: { expr: string; for?: string }[] }[] };
  for (const rule of groups.flatMap(({ rules }) => rules)) {
    rule.expr = rule.expr.replaceAll(/\[(\w+)\]/g, (_, duration: string) => `[${paced(duration)}]`);
    if (rule.for !== undefined) rule.for = paced(rule.for);
  }
  return stringify({ groups });
}

function milliseconds(duration: string): number {
  const [, count, unit = ''] = /^(\d+)(ms|s|m|h|d)$/.exec(duration) ?? [];
  const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
  const inUnit = units[unit];
  if (inUnit === undefined) throw new Error(`${duration} is no duration of one unit`);
  return Number(count) * inUnit;
}

async function prometheusPath(): Promise<string> {
  const path = process.env['PROMETHEUS'] || 'prometheus';
  try {
    await promisify(execFile)(path, ['--version']);
    return path;
  } catch (cause) {
    const remedy = 'install the Debian package prometheus, or set PROMETHEUS to the path of its program';
    throw new Error(`${path} cannot be run: ${remedy}`, { cause });
  }
}

async function writeConfiguration(directory: string, options: PrometheusOptions): Promise<void> {
  const { rules, pace = 1 } = options;
  if (rules !== undefined) {
    await writeFile(join(directory, 'rules.yaml'), pacedRules(await readFile(rules, 'utf8'), pace));
  }
  const configuration = {
    global: { scrape_interval: INTERVAL, scrape_timeout: INTERVAL, evaluation_interval: INTERVAL },
    rule_files: [join(directory, 'rules.yaml')],
    scrape_configs: [
      {
        job_name: 'coordinated-leader-election',
        file_sd_configs: [{ files: [join(directory, 'targets.json')], refresh_interval: INTERVAL }],
      },
    ],
  };
  await writeFile(join(directory, 'prometheus.yaml'), stringify(configuration));
}

async function writeTargets(directory: string, targets: readonly ScrapeTarget[]): Promise<void> {
  const groups = targets.map(({ address, job, labels }) => ({
    targets: [address],
    labels: { ...labels, ...(job !== undefined && { job }) },
  }));
  // Prometheus watches the file, so it must never see a partial one.
  await writeFile(join(directory, 'targets.new'), JSON.stringify(groups));
  await rename(join(directory, 'targets.new'), join(directory, 'targets.json'));
}

async function startOnFreePort(path: string, directory: string, reaper: Reaper): Promise<Prometheus> {
  for (let attempt = 1; ; attempt += 1) {
    const [port = 0] = await freePorts(1);
    const url = `http://127.0.0.1:${port}`;
    const args = [
      `--config.file=${join(directory, 'prometheus.yaml')}`,
      `--storage.tsdb.path=${join(directory, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=warn',
    ];
    const logFile = join(directory, 'prometheus.log');
    const server = startServer({ name: 'prometheus', path, args, logFile }, reaper);
    try {
      const isReady = async () =>
        (await fetch(`${url}/-/ready`, { signal: AbortSignal.timeout(2_000) })).status === 200;
      await untilReady(server, isReady, 60_000);
      return assemble(url, server, directory, reaper);
    } catch (error) {
      const wasTaken = error instanceof NotReadyError && server.logs().includes('address already in use');
      if (!wasTaken || attempt === 5) throw error;
      await killed(server);
    }
  }
}

function assemble(url: string, server: ServerProcess, directory: string, reaper: Reaper): Prometheus {
  async function ask<T>(path: string): Promise<T> {
    const response = await fetch(`${url}/api/v1/${path}`, { signal: AbortSignal.timeout(30_000) });
    const answer = (await response.json()) as { status: string; data: T; error?: string };
    if (answer.status !== 'success') throw new Error(`Prometheus: ${answer.error}`);
    return answer.data;
  }

  async function alerts(): Promise<readonly ActiveAlert[]> {
    const data = await ask<{ alerts: { state: string; labels: Labels; annotations: Labels }[] }>('alerts');
    return data.alerts.map(({ state, labels, annotations }) => ({
      name: labels['alertname'] ?? '',
      state: state as ActiveAlert['state'],
      labels,
      annotations,
    }));
  }

  async function untilAlerts<T>(
    find: (active: readonly ActiveAlert[]) => T | undefined,
    describe: string,
    timeoutMs = 120_000,
  ): Promise<T> {
    let seen: readonly ActiveAlert[] = [];
    const look = async () => {
      seen = await alerts();
      return find(seen);
    };
    try {
      return await eventually(look, describe, timeoutMs, 250);
    } catch (error) {
      const active = seen.map(({ name, state }) => `${name} ${state}`).join(', ') || 'none';
      throw new Error(`${error instanceof Error ? error.message : error}; alerts: ${active}`, {
        cause: error,
      });
    }
  }

  return {
    url,
    server,
    setTargets: (targets) => writeTargets(directory, targets),
    async query(expression) {
      const path = `query?query=${encodeURIComponent(expression)}`;
      const { result } = await ask<{ result: { metric: Labels; value: [number, string] }[] }>(path);
      return result.map(({ metric, value: [, value] }) => ({ labels: metric, value: Number(value) }));
    },
    alerts,
    untilAlert: (name, state, timeoutMs) =>
      untilAlerts(
        (active) => active.find((alert) => alert.name === name && alert.state === state),
        `${name} is ${state}`,
        timeoutMs,
      ),
    async untilNoAlert(name, timeoutMs) {
      const isGone = (active: readonly ActiveAlert[]) => !active.some((alert) => alert.name === name);
      await untilAlerts((active) => isGone(active) || undefined, `${name} is inactive`, timeoutMs);
    },
    async stop() {
      await killed(server);
      await reaper.end();
    },
  };
}

type Labels = Readonly<Record<string, string>>;

async function killed(server: ServerProcess): Promise<void> {
  server.kill('SIGKILL');
  await server.exited;
}
