import { setTimeout as sleep } from 'node:timers/promises';
import { debuglog } from 'node:util';
import { type RunbookName, runbookPath } from '../../../src/inspection/findings.ts';
import type { ControlPlane } from '../../control-plane/control-plane.ts';
import type { Procedure } from '../../support/procedures.ts';
import { eventually } from '../coordinator.ts';
import { type PodCluster, startPodCluster } from '../pod-cluster.ts';
import { ourImage } from '../process-kubelet.ts';
import { type Prometheus, shippedRules, startPrometheus } from '../prometheus.ts';
import { storedAsJson } from './backdated.ts';
import { componentImage, zoneLabel } from './deployed-component.ts';
import { openRunbook, type Runbook } from './runbook.ts';
import { openShell, type Shell } from './shell.ts';

/** How much shorter than in a cluster the durations in the alerts are. */
const pace = Number(process.env['RUNBOOKS_PACE'] || 10);

const debug = debuglog('runbooks');

const release = { name: 'coordinated-leader-election', namespace: 'kube-system' };

/** Long enough for any alert to come or go, in milliseconds, on a machine much slower than most. */
export const PATIENCE_MS = 240_000 + 1_800_000 / pace;

/** A cluster of two zones, of a node each, with the release that the runbooks are about, somebody on call, and a Prometheus that watches it. */
export interface Site {
  readonly cluster: PodCluster;
  /** A runbook: the same one, whoever asks. */
  runbook(name: RunbookName | Procedure): Promise<Runbook>;
  /** Has the release run with other values, and waits until it does. */
  configure(...values: readonly string[]): Promise<void>;
  /** Installs another release. */
  install(name: string, namespace: string, ...values: readonly string[]): Promise<void>;
  /** Waits until the alert fires, and sees that it sends people to its runbook. */
  untilFiring(name: RunbookName): Promise<void>;
  /** Waits until the alert has cleared. */
  untilClear(name: RunbookName): Promise<void>;
  stop(): Promise<void>;
}

/** Installs the chart into a cluster of its own, as docs/how-to/install.md does. */
export async function startSite(): Promise<Site> {
  // First, as it is the one that may be missing.
  const prometheus = await startPrometheus({ rules: shippedRules, pace });
  const findImage = (name: string) => componentImage(name) ?? ourImage(name);
  const zones = ['a', 'b'];
  const cluster = await startPodCluster({
    plane: { extraApiServerArgs: [storedAsJson] },
    nodes: zones.map((zone) => ({
      nodeName: `node-${zone}`,
      nodeLabels: { [zoneLabel]: zone },
      findImage,
    })),
  });
  const { plane } = cluster;
  const shell = await openShell(plane.kubeconfig);
  const pods = followPods(plane, prometheus);
  const site = assemble(cluster, shell, prometheus, pods);
  try {
    await helm(shell, 'install');
    await eventually(
      async () => (await prometheus.query('leader_election_master_status == 1')).length > 0 || undefined,
      'a replica coordinates, and Prometheus knows',
      120_000,
      500,
    );
    return site;
  } catch (error) {
    await site.stop();
    throw error;
  }
}

async function helm(shell: Shell, verb: string, { name, namespace } = release): Promise<void> {
  const { code, output } = await shell.run(
    `helm ${verb} ${name} charts/coordinated-leader-election --namespace ${namespace} --wait`,
  );
  if (code !== 0) throw new Error(output);
}

function set(values: readonly string[]): string {
  return values.map((value) => `--set ${value}`).join(' ');
}

function assemble(cluster: PodCluster, shell: Shell, prometheus: Prometheus, pods: { stop(): void }): Site {
  const runbooks = new Map<RunbookName | Procedure, Promise<Runbook>>();

  return {
    cluster,
    runbook(name) {
      const opened = runbooks.get(name) ?? openRunbook(name, shell);
      runbooks.set(name, opened);
      return opened;
    },
    configure: (...values) => helm(shell, `upgrade --reset-then-reuse-values ${set(values)}`),
    install: (name, namespace, ...values) =>
      helm(shell, `install --set crds.install=false ${set(values)}`, { name, namespace }),
    async untilFiring(name) {
      const { annotations } = await prometheus.untilAlert(name, 'firing', PATIENCE_MS);
      debug('%s fires', name);
      const url = annotations['runbook_url'] ?? '';
      if (!url.endsWith(runbookPath(name))) throw new Error(`${name} sends people to "${url}"`);
    },
    async untilClear(name) {
      await prometheus.untilNoAlert(name, PATIENCE_MS);
      debug('%s has cleared', name);
    },
    async stop() {
      pods.stop();
      await prometheus.stop();
      await cluster.stop();
      await shell.remove();
    },
  };
}

/**
 * Has Prometheus scrape the release's pods, as they come and go. Debian's Prometheus cannot find them by itself: it is
 * built without what it takes to ask Kubernetes.
 */
function followPods(plane: ControlPlane, prometheus: Prometheus): { stop(): void } {
  const stopping = new AbortController();
  const { signal } = stopping;
  const selector = 'labelSelector=app.kubernetes.io/name=coordinated-leader-election';
  let known = '';

  async function look(): Promise<void> {
    const { items } = await plane.request<{ items: readonly Pod[] }>('GET', `/api/v1/pods?${selector}`);
    const targets = items.flatMap(({ metadata: { name: pod }, status: { podIP } }) =>
      podIP === undefined ? [] : [{ address: `${podIP}:8080`, labels: { pod } }],
    );
    const found = JSON.stringify(targets);
    if (found === known) return;
    await prometheus.setTargets(targets);
    known = found;
  }

  void (async () => {
    while (!signal.aborted) {
      await look().catch(() => {}); // the API server does not answer: they are as they were
      await sleep(500, undefined, { signal }).catch(() => {});
    }
  })();
  return { stop: () => stopping.abort() };
}

interface Pod {
  readonly metadata: { readonly name: string };
  readonly status: { readonly podIP?: string };
}
