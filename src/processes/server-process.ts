import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TokenGrant } from '../apiserver/access/access.ts';
import { kubeconfigText } from '../apiserver/access/client-credentials.ts';
import { type ApiServer, startApiServer } from '../apiserver/api-server.ts';
import type { ServeSettings } from '../settings/serve-settings.ts';
import { hostAndPort, listenError } from '../support/address.ts';
import { withContext, writePrivateFile } from '../support/files.ts';
import { type Host, untilAborted, version } from '../support/host.ts';
import { createLogger, type Logger } from '../telemetry/logger.ts';
import { obtainCredentials, type ServerCredentials } from './server-credentials.ts';

const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|::1)$/;
/** How a kubeconfig of ours begins, by which it is told from one that must not be overwritten. */
const KUBECONFIG_HEADER = '# Written anew by each start of: coordinated-leader-election serve\n';

/** The kubeconfigs that were written, by what they allow. */
interface Kubeconfigs {
  readonly admin: string | undefined;
  readonly readOnly: string | undefined;
}

/**
 * Serves the coordination API until the process is asked to stop. What it says to people goes to the standard output, its
 * log to the error output.
 *
 * @throws {Error} that says what to do, when something that was given cannot be used.
 */
export async function runServer(settings: ServeSettings, host: Host): Promise<void> {
  const stop = host.stopOn('SIGTERM', 'SIGINT');
  const { clock, stdout, stderr } = host;
  const logger = createLogger({ level: settings.logLevel, clock, destination: stderr });
  if (settings.kubeconfigOut !== undefined) refuseToOverwrite(settings.kubeconfigOut);
  const credentials = await obtainCredentials(settings, clock);
  const place = openPlace(settings, host);
  let server: ApiServer | undefined;
  try {
    server = await start(settings, credentials, host, logger);
    const kubeconfigs = writeKubeconfigs(settings, place.directory, credentials, server);
    logger.info({ version, url: server.url, dataDirectory: settings.dataDirectory }, 'Serving');
    if (!LOOPBACK.test(settings.listen.host)) {
      stderr.write(
        `warning: ${settings.listen.host} is more than this machine's loopback: others can reach the server, and only its tokens keep them out\n`,
      );
    }
    stdout.write(usageOf(server, settings, kubeconfigs));
    await untilAborted(stop);
    logger.info({ signal: stop.reason }, 'Stopping');
  } finally {
    await server?.close();
    place.remove();
    logger.end();
  }
  logger.info('Stopped');
}

async function start(
  { listen, dataDirectory, leaseCandidateVersions }: ServeSettings,
  { tls, tokens }: ServerCredentials,
  { clock }: Host,
  logger: Logger,
): Promise<ApiServer> {
  try {
    return await startApiServer({
      clock,
      listen,
      tls,
      tokens,
      leaseCandidateVersions,
      ...(dataDirectory !== undefined && { dataDirectory }),
      onRequest: (line) => logger.debug(line, 'Answered'),
      onError: (error) => logger.error({ err: error }, 'What should never happen'),
    });
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined;
    const call = cause instanceof Error && 'syscall' in cause ? cause.syscall : undefined;
    if (cause instanceof Error && (call === 'listen' || call === 'getaddrinfo'))
      throw listenError(cause, listen);
    throw error;
  }
}

/** Where kubeconfigs go: the data directory or, without one, a private directory that is removed at the end. */
function openPlace({ dataDirectory }: ServeSettings, host: Host) {
  if (dataDirectory !== undefined) return { directory: dataDirectory, remove: () => {} };
  const directory = mkdtempSync(join(tmpdir(), 'cle-serve-'));
  const remove = () => rmSync(directory, { recursive: true, force: true });
  const forgetExit = host.beforeExit(remove);
  return {
    directory,
    remove() {
      remove();
      forgetExit();
    },
  };
}

/** Before anything else is done: a kubeconfig of other clusters may be the only one of its kind. */
function refuseToOverwrite(file: string): void {
  if (!existsSync(file) || readFileSync(file, 'utf8').startsWith(KUBECONFIG_HEADER)) return;
  throw new Error(
    `--kubeconfig-out ${file}: there is a file that serve has not written; choose another path`,
  );
}

function writeKubeconfigs(
  { kubeconfigOut, listen }: ServeSettings,
  directory: string,
  { ca, tokens }: ServerCredentials,
  { address }: ApiServer,
): Kubeconfigs {
  const server = `https://${hostAndPort(reachable(listen.host), address.port)}`;
  const write = (access: TokenGrant['rules'], file: string): string | undefined => {
    const token = tokens.find(({ rules }) => rules === access)?.token;
    if (token === undefined) return undefined;
    const text = kubeconfigText({ server, token, ...(ca !== undefined && { ca }) });
    withContext(`The kubeconfig ${file}`, () => writePrivateFile(file, `${KUBECONFIG_HEADER}${text}`));
    return file;
  };
  return {
    admin: write('admin', kubeconfigOut ?? join(directory, 'kubeconfig')),
    readOnly: write('read-only', join(directory, 'kubeconfig-read-only')),
  };
}

/** An address at which this machine reaches what listens on `host`. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host === '::' ? '::1' : host;
}

function usageOf(
  { url }: ApiServer,
  { dataDirectory, leaseCandidateVersions }: ServeSettings,
  { admin, readOnly }: Kubeconfigs,
): string {
  const versions = leaseCandidateVersions.join(', ');
  const uses =
    admin === undefined
      ? ['None of its tokens may do everything, so that no kubeconfig was written.']
      : [
          `kubectl --kubeconfig ${admin} get leases --all-namespaces`,
          `npm start -- run --kubeconfig ${admin}    # elects leaders on it`,
        ];
  return [
    `The coordination API is served at ${url}`,
    `  LeaseCandidates: ${versions || 'not served'}`,
    `  kept in: ${dataDirectory ?? 'memory, until it ends'}`,
    ...(readOnly === undefined ? [] : [`  kubeconfig that may only read: ${readOnly}`]),
    '',
    ...uses.map((line) => `  ${line}`),
    '',
    'Ctrl-C ends it.',
    '',
  ].join('\n');
}
