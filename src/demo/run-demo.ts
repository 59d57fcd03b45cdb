import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { platform, tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateCertificate } from '../apiserver/access/certificates.ts';
import { generateToken, kubeconfigText } from '../apiserver/access/client-credentials.ts';
import { startApiServer } from '../apiserver/api-server.ts';
import { createClient } from '../kubernetes/client.ts';
import { loadKubeConfig } from '../kubernetes/kubeconfig.ts';
import { type HttpServer, isReading, pathOf, serveAnswers } from '../processes/http-server.ts';
import type { DemoSettings } from '../settings/demo-settings.ts';
import { runSettings } from '../settings/run-settings.ts';
import { resolveSettings } from '../settings/settings-table.ts';
import { createStatusPage, type StatusPage } from '../status-page/status-page.ts';
import { hostAndPort, type ListenAddress, listenOn } from '../support/address.ts';
import type { Clock } from '../support/clock.ts';
import { withContext } from '../support/files.ts';
import { type Environment, type Host, untilAborted, version } from '../support/host.ts';
import { printable, shortened } from '../support/text.ts';
import { type DemoEvent, timeOfDay } from './demo-state.ts';
import { createDemoWorld, type DemoWorld } from './demo-world.ts';
import { showLive } from './live-screen.ts';
import type { SampleTiming } from './sample-candidate.ts';
import { runTour, tourScript } from './tour.ts';

/** The timing of the sample candidates. Shorter than usual, so that a failover takes only a few seconds. */
const TIMING: SampleTiming = {
  leaseDurationMs: 4000,
  renewDeadlineMs: 2000,
  retryPeriodMs: 500,
  stoppingMs: 1000,
};

const HOST = '127.0.0.1';
const MAX_LINE_LENGTH = 1000;

/**
 * Runs the demo: an API server, the coordinator and sample candidates. With `once`, runs the tour, and ends after it.
 * Otherwise, ends when the user quits or this process gets a signal.
 * @throws {TourError} if the tour fails, or if a signal aborts it.
 */
export async function runDemo(settings: DemoSettings, host: Host): Promise<void> {
  const { clock, env, stdout } = host;
  const stop = host.stopOn('SIGTERM', 'SIGINT', 'SIGHUP');
  const say = (line: string) => stdout.write(`${line}\n`);
  let world: DemoWorld | undefined;
  const tellError = (who: string) => (error: unknown) => {
    world?.tell(who, `has an internal error: ${String(error)}`, true);
  };
  const server = await startDemoServer(clock, tellError('server'));
  let page: HttpServer | undefined;
  try {
    const kubeconfig = storeKubeconfig(server.kubeconfig, host);
    const parts = worldParts(kubeconfig, clock);
    if (settings.once) {
      say(`The API server of the demo listens at ${server.url}.`);
      world = createDemoWorld({ ...parts, onEvent: (event) => say(`    ${lineOf(event)}`) });
      const steps = tourScript(world.start);
      await runTour({ world, clock, steps, leaseDurationMs: TIMING.leaseDurationMs, say, signal: stop });
      return;
    }
    const statusPage = createStatusPage({
      clock,
      version,
      namespaces: [],
      notServedAdvice: 'The server of the demo should serve LeaseCandidates.',
      onError: tellError('status page'),
    });
    page = await servePage(statusPage, settings.listen, clock);
    const url = `http://${hostAndPort(page.address.host, page.address.port)}/`;
    const hints = [
      `kubectl --kubeconfig ${kubeconfig} get leases,leasecandidates`,
      'On your own cluster: npm start -- run --kubeconfig ~/.kube/config --dry-run',
    ];
    if (host.stdin.isTTY && stdout.isTTY && env['TERM'] !== 'dumb') {
      world = createDemoWorld({ ...parts, statusPage });
      if (settings.open) openBrowser(url, env);
      await showLive(world, host, { address: url, hints }, stop);
      return;
    }
    say(`The API server of the demo listens at ${server.url}.`);
    say(`Watch it in a browser: ${url}`);
    for (const hint of hints) say(hint);
    say('In a terminal, the demo has a live view with keys, for example to kill the leader.');
    world = createDemoWorld({ ...parts, statusPage, onEvent: (event) => say(lineOf(event)) });
    await world.start();
    await untilAborted(stop);
  } finally {
    await world?.stop();
    await page?.close();
    await server.close();
  }
}

/** Starts the API server of the demo on a free port. `onError` gets the internal errors of this server. */
async function startDemoServer(clock: Clock, onError: (error: unknown) => void) {
  const { ca, cert, key } = await generateCertificate([HOST], clock);
  const token = generateToken(randomBytes(16));
  const { url, close } = await startApiServer({
    clock,
    listen: { host: HOST, port: 0 },
    tls: { cert, key },
    tokens: [{ token, user: { name: 'demo', groups: [] }, rules: 'admin' }],
    onError,
  });
  return { url, close, kubeconfig: kubeconfigText({ server: url, ca, token }) };
}

/**
 * Stores a kubeconfig until the process ends. Returns its path.
 * @throws {Error} that names the temporary directory, if this directory cannot be used.
 */
function storeKubeconfig(text: string, { beforeExit }: Host): string {
  // Only this user can access the directory that mkdtemp creates.
  const directory = withContext(`The temporary directory ${tmpdir()}`, () =>
    mkdtempSync(join(tmpdir(), 'cle-demo-')),
  );
  beforeExit(() => rmSync(directory, { recursive: true, force: true }));
  const kubeconfig = join(directory, 'kubeconfig');
  withContext(kubeconfig, () => writeFileSync(kubeconfig, text, { mode: 0o600 }));
  return kubeconfig;
}

function worldParts(kubeconfig: string, clock: Clock) {
  const kubeConfig = loadKubeConfig({ kubeconfig, env: {} });
  const userAgent = `coordinated-leader-election-demo/${version}`;
  const leaseDurationSeconds = `${TIMING.leaseDurationMs}ms`;
  const given = { leaseDurationSeconds, electionDurationMs: '1s', listen: 'off' };
  return {
    clock,
    timing: TIMING,
    settings: resolveSettings(runSettings, given, {}),
    connect: (connections: number) => createClient({ kubeConfig, clock, userAgent, connections }),
  };
}

function lineOf({ at, who, text }: DemoEvent): string {
  return `${timeOfDay(at)}Z ${shortened(printable(`${who} ${text}`), MAX_LINE_LENGTH)}`;
}

/** Serves the status page. @throws {Error} with the address, if the server cannot listen on this address. */
function servePage(page: StatusPage, listen: ListenAddress, clock: Clock): Promise<HttpServer> {
  return serveAnswers((server) => listenOn(server, listen), {
    clock,
    async answer(request, response) {
      if (!page.has(pathOf(request)) || !isReading(request))
        return { status: 404, body: 'not found; there is /\n' };
      page.answer(request, response);
      return undefined;
    },
    onClose: () => page.close(),
  });
}

const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  darwin: ['open'],
  // The empty argument is the window title, which `start` expects first.
  win32: ['cmd', '/c', 'start', ''],
  linux: ['xdg-open'],
};

/** Returns the command that opens `url` in a browser; undefined if no browser can or should open. */
export function openerFor(url: string, env: Environment, system = platform()): readonly string[] | undefined {
  const isElsewhere = env['CI'] || env['SSH_CONNECTION'] || env['SSH_TTY'] || env['BROWSER'] === 'none';
  const hasScreen = system !== 'linux' || env['DISPLAY'] || env['WAYLAND_DISPLAY'];
  const opener = OPENERS[system];
  return isElsewhere || !hasScreen || !opener ? undefined : [...opener, url];
}

/** Opens `url` in a browser, if {@link openerFor} finds a command. Ignores errors: the URL is also on the screen. */
function openBrowser(url: string, env: Environment): void {
  const [command, ...args] = openerFor(url, env) ?? [];
  if (command === undefined) return;
  const child = spawn(command, args, { stdio: 'ignore', detached: true });
  child.on('error', () => {});
  child.unref();
}
