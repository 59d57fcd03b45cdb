import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { homedir, platform, tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateCertificate } from '../apiserver/access/certificates.ts';
import { generateToken, kubeconfigText } from '../apiserver/access/client-credentials.ts';
import { startApiServer } from '../apiserver/api-server.ts';
import { createClient } from '../kubernetes/client.ts';
import { loadKubeConfig } from '../kubernetes/kubeconfig.ts';
import type { DemoSettings } from '../settings/demo-settings.ts';
import { runSettings } from '../settings/run-settings.ts';
import { resolveSettings } from '../settings/settings-table.ts';
import { StatusPage } from '../status-page/status-page.ts';
import { hostAndPort, type ListenAddress, listenOn } from '../support/address.ts';
import { withContext } from '../support/files.ts';
import { type Environment, type Host, untilAborted, version } from '../support/host.ts';
import { printable, shortened } from '../support/text.ts';
import { describeHappening, type Happening, timeOfDay } from './demo-state.ts';
import { DemoWorld } from './demo-world.ts';
import { showLive } from './live-screen.ts';
import type { SampleTiming } from './sample-candidate.ts';
import { runTour, tourScript } from './tour.ts';

/** Lease duration, shorter than usual, so that a failover takes seconds. The other durations are in proportion. */
const LEASE_SECONDS = 4;
const ELECTION_MS = 1000;

const TIMING: SampleTiming = {
  leaseDurationMs: LEASE_SECONDS * 1000,
  renewDeadlineMs: 2000,
  retryPeriodMs: 500,
  stoppingMs: 1000,
};

/**
 * Runs the demo: an API server, the coordinator and sample candidates, until a signal; or the tour.
 *
 * @throws {TourError} if the tour fails.
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

/** The command that opens a URL, by platform. */
const OPENERS: Partial<Readonly<Record<NodeJS.Platform, readonly [command: string, ...args: string[]]>>> = {
  darwin: ['open'],
  // The empty argument is the title of a window.
  win32: ['cmd', '/c', 'start', ''],
  linux: ['xdg-open'],
};

/** Returns the command that opens `url`; undefined if there is no desktop. */
export function openerFor(
  url: string,
  env: Environment,
  system: NodeJS.Platform = platform(),
): readonly [command: string, ...args: string[]] | undefined {
  const isElsewhere = env['CI'] || env['SSH_CONNECTION'] || env['SSH_TTY'] || env['BROWSER'] === 'none';
  const hasScreen = system !== 'linux' || env['DISPLAY'] || env['WAYLAND_DISPLAY'];
  const opener = OPENERS[system];
  return isElsewhere || !hasScreen || !opener ? undefined : [...opener, url];
}

const LONGEST = 1000;

/** Prints events line by line. */
interface HappeningLines {
  /** Prints a message of the demo itself. */
  say(text: string): void;
  happened(happening: Happening): void;
}

/**
 * Prints events as text, or as JSON like the logs of `run`.
 *
 * @param indent precedes each event.
 */
export async function openLines(
  format: DemoSettings['logFormat'],
  output: { write(text: string): unknown },
  indent = '',
): Promise<HappeningLines> {
  if (format === 'text') {
    return {
      say: (text) => output.write(`${text}\n`),
      happened: (happening) =>
        output.write(
          `${indent}${timeOfDay(happening.at)}Z ${shortened(printable(describeHappening(happening)), LONGEST)}\n`,
        ),
    };
  }
  // Imported here, because the import is slow.
  const { createLogger } = await import('../telemetry/logger.ts');
  const logger = createLogger({ level: 'debug', destination: output });
  return {
    say: (text) => logger.info({ text }, 'The demo says'),
    happened: ({ who, reason, text, isTrouble }) =>
      logger[isTrouble ? 'warn' : 'info']({ who, reason, text }, 'Happened'),
  };
}

function createPage({ clock }: Host, onError: (error: unknown) => void): StatusPage {
  const notServedAdvice = 'The server of the demo should serve LeaseCandidates.';
  return new StatusPage({ clock, version, namespaces: [], notServedAdvice, onError });
}

/** Shows the world live in a terminal, else line by line. */
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

interface DemoServer {
  readonly url: string;
  /** Path of the administrator's kubeconfig. */
  readonly kubeconfig: string;
  /** Stops the server and removes its files. */
  close(): Promise<void>;
}

const HOST = '127.0.0.1';

/**
 * Starts a coordination API server on a free port. Its files are removed when it is closed or the process ends.
 *
 * @param onError called for internal errors.
 * @throws {Error} that names the temporary directory, if it cannot be used.
 */
async function startDemoServer(host: Host, onError: (error: unknown) => void): Promise<DemoServer> {
  const { clock } = host;
  // mkdtemp makes the directory private.
  const directory = withContext(`The temporary directory ${tmpdir()}`, () =>
    mkdtempSync(join(tmpdir(), 'cle-demo-')),
  );
  const remove = () => rmSync(directory, { recursive: true, force: true });
  const forgetExit = host.beforeExit(remove);
  const { ca, cert, key } = await generateCertificate([HOST], clock);
  const token = generateToken(randomBytes(16));
  const server = await startApiServer({
    clock,
    listen: { host: HOST, port: 0 },
    tls: { cert, key },
    tokens: [{ token, user: { name: 'demo', groups: [] }, rules: 'admin' }],
    onError,
  });
  const close = async () => {
    await server.close();
    remove();
    forgetExit();
  };
  const kubeconfig = join(directory, 'kubeconfig');
  try {
    const text = kubeconfigText({ server: server.url, ca, token });
    withContext(kubeconfig, () => writeFileSync(kubeconfig, text, { mode: 0o600 }));
  } catch (error) {
    // A server that still listens would keep the process alive.
    await close();
    throw error;
  }
  return { url: server.url, kubeconfig, close };
}

/** The server of the status page. */
interface DemoPage {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Serves the status page.
 *
 * @throws {Error} with the address and advice, if the server cannot listen on it.
 */
async function servePage(page: StatusPage, listen: ListenAddress): Promise<DemoPage> {
  const server = createServer((request, response) => {
    const [path = ''] = (request.url ?? '').split('?', 1);
    if ((request.method === 'GET' || request.method === 'HEAD') && page.has(path)) {
      page.answer(request, response);
    } else {
      response.writeHead(404, { 'Content-Type': 'text/plain; charset=utf-8' }).end('not found; there is /\n');
    }
  });
  const port = await listenOn(server, listen);
  return {
    url: `http://${hostAndPort(listen.host, port)}/`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        page.close();
        server.closeAllConnections();
      }),
  };
}

/** Opens `url` in a browser if there is a desktop. Errors do not matter: the URL is on the screen too. */
function openBrowser(url: string, env: Environment): void {
  const [command, ...args] = openerFor(url, env) ?? [];
  if (command === undefined) return;
  const child = spawn(command, args, { stdio: 'ignore', detached: true });
  child.on('error', () => {});
  child.unref();
}
