import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '../kubernetes/client.ts';
import { loadKubeConfig } from '../kubernetes/kubeconfig.ts';
import type { DemoSettings } from '../settings/demo-settings.ts';
import { runSettings } from '../settings/run-settings.ts';
import { resolveSettings } from '../settings/settings-table.ts';
import { StatusPage } from '../status-page/status-page.ts';
import { type Host, untilAborted, version } from '../support/host.ts';
import { type DemoPage, servePage } from './demo-page.ts';
import { type DemoServer, startDemoServer } from './demo-server.ts';
import { DemoWorld } from './demo-world.ts';
import { openLines } from './happening-lines.ts';
import { openBrowser } from './open-browser.ts';
import type { SampleTiming } from './sample-identity.ts';
import { showLive } from './show-live.ts';
import { runTour } from './tour.ts';
import { tourScript } from './tour-script.ts';

/** Quicker than any real one, so that a failover takes seconds; about in the proportions of the real ones. */
const LEASE_SECONDS = 4;
const ELECTION_MS = 1000;
const TIMING: SampleTiming = {
  leaseDurationMs: LEASE_SECONDS * 1000,
  renewDeadlineMs: 2000,
  retryPeriodMs: 500,
  stoppingMs: 1000,
};

/**
 * Shows elections: a server of its own, the coordinator and sample candidates, until told to stop; or the tour.
 *
 * @throws {TourError} when the tour does not come out as it should.
 */
export async function runDemo(settings: DemoSettings, host: Host): Promise<void> {
  const stop = host.stopOn('SIGTERM', 'SIGINT', 'SIGHUP');
  let world: DemoWorld | undefined;
  const tellError = (who: string) => (error: unknown) => {
    world?.tell({ who, text: `should never have: ${String(error)}`, isTrouble: true });
  };
  const server = await startDemoServer(host, tellError('server'));
  let page: DemoPage | undefined;
  try {
    if (settings.once) {
      world = createWorld(server, host, undefined);
      await playTour(world, server, settings, host, stop);
    } else {
      const statusPage = createPage(host, tellError('status page'));
      page = await servePage(statusPage, settings.listen);
      world = createWorld(server, host, statusPage);
      await showWorld(world, { server, page }, settings, host, stop);
    }
  } finally {
    await world?.stop();
    await page?.close();
    await server.close();
  }
}

function createPage({ clock }: Host, onError: (error: unknown) => void): StatusPage {
  const notServedAdvice = 'The server of the demo should serve LeaseCandidates.';
  return new StatusPage({ clock, version, namespaces: [], notServedAdvice, onError });
}

/** Live where that can be, else line by line. */
async function showWorld(
  world: DemoWorld,
  { server, page }: { readonly server: DemoServer; readonly page: DemoPage },
  settings: DemoSettings,
  host: Host,
  stop: AbortSignal,
): Promise<void> {
  const hints = hintsFor(server, host);
  if (!canShowLive(settings, host)) {
    await tellLines(world, { server, page }, hints, settings, host, stop);
    return;
  }
  if (settings.open) openBrowser(page.url, host.env);
  await showLive({ world, host, stop, surroundings: { address: page.url, hints } });
}

function canShowLive({ logFormat }: DemoSettings, { stdin, stdout, env }: Host): boolean {
  return stdin.isTTY && stdout.isTTY && env['TERM'] !== 'dumb' && logFormat === 'text';
}

function createWorld(server: DemoServer, { clock }: Host, statusPage: StatusPage | undefined): DemoWorld {
  const kubeConfig = loadKubeConfig({ kubeconfig: server.kubeconfig, env: {} });
  const given = {
    leaseDurationSeconds: `${LEASE_SECONDS}s`,
    electionDurationMs: `${ELECTION_MS}ms`,
    listen: 'off',
  };
  return new DemoWorld({
    clock,
    statusPage,
    timing: TIMING,
    settings: resolveSettings(runSettings, given, {}),
    connect: (connections) =>
      createClient({
        kubeConfig,
        clock,
        userAgent: `coordinated-leader-election-demo/${version}`,
        connections,
      }),
  });
}

async function playTour(
  world: DemoWorld,
  server: DemoServer,
  settings: DemoSettings,
  { clock, stdout }: Host,
  signal: AbortSignal,
): Promise<void> {
  const lines = await openLines(settings.logFormat, stdout, '    ');
  lines.say(`A coordination API server of the demo's own listens at ${server.url}.`);
  world.onHappening(lines.happened);
  const steps = tourScript(() => world.start(), LEASE_SECONDS * 1000);
  await runTour({ world, clock, steps, say: lines.say, signal });
}

async function tellLines(
  world: DemoWorld,
  { server, page }: { readonly server: DemoServer; readonly page: DemoPage },
  hints: readonly string[],
  settings: DemoSettings,
  { stdout }: Host,
  stop: AbortSignal,
): Promise<void> {
  const lines = await openLines(settings.logFormat, stdout);
  lines.say(`A coordination API server of the demo's own listens at ${server.url}.`);
  lines.say(`Watch it in a browser: ${page.url}`);
  for (const hint of hints) lines.say(hint);
  lines.say('In a terminal this is a live view, with keys to kill the leader and the like.');
  world.onHappening(lines.happened);
  await world.start();
  await untilAborted(stop);
}

function hintsFor({ kubeconfig }: DemoServer, { env }: Host): readonly string[] {
  const ownFile = join('.kube', 'config');
  const hasOwn = existsSync(join(env['HOME'] || homedir(), ownFile));
  const found = env['KUBECONFIG'] ? 'KUBECONFIG' : hasOwn ? `~/${ownFile}` : undefined;
  return [
    `kubectl --kubeconfig ${kubeconfig} get leases,leasecandidates`,
    found === undefined
      ? 'On a cluster of yours: npm start -- run --kubeconfig FILE --dry-run'
      : `On a cluster of yours, the one of ${found}: npm start -- run --dry-run`,
  ];
}
