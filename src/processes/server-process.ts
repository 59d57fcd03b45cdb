import { randomBytes, X509Certificate } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TokenGrant } from '../apiserver/access/access.ts';
import { checkCertificate, generateCertificate, needsRenewal } from '../apiserver/access/certificates.ts';
import { generateToken, kubeconfigText, parseTokenFile } from '../apiserver/access/client-credentials.ts';
import { type ApiServer, startApiServer } from '../apiserver/api-server.ts';
import type { ServeSettings } from '../settings/serve-settings.ts';
import { hostAndPort, listenError } from '../support/address.ts';
import type { Clock } from '../support/clock.ts';
import { makePrivateDirectory, withContext, writePrivateFile } from '../support/files.ts';
import { type Host, untilAborted, version } from '../support/host.ts';
import { createLogger, type Logger } from '../telemetry/logger.ts';

const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|::1)$/;

/** First line of each kubeconfig that `serve` writes. `--kubeconfig-out` overwrites only files with this first line. */
const KUBECONFIG_HEADER = '# Written at each start of: coordinated-leader-election serve\n';

/**
 * Runs the embedded API server, which serves the coordination API, until a signal stops it. Writes the instructions for
 * users to the standard output. Writes warnings and the log to the error output.
 * @throws {Error} if a setting cannot be used.
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
        `warning: ${settings.listen.host} is not a loopback address: other machines can reach the server, and only its tokens protect it\n`,
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
  { certificate: { cert, key }, tokens }: Credentials,
  { clock }: Host,
  logger: Logger,
): Promise<ApiServer> {
  try {
    return await startApiServer({
      clock,
      listen,
      tls: { cert, key },
      tokens,
      leaseCandidateVersions,
      ...(dataDirectory !== undefined && { dataDirectory }),
      onRequest: (line) => logger.debug(line, 'Answered'),
      onError: (error) => logger.error({ err: error }, 'Internal error'),
    });
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined;
    const call = cause instanceof Error && 'syscall' in cause ? cause.syscall : undefined;
    if (cause instanceof Error && (call === 'listen' || call === 'getaddrinfo'))
      throw listenError(cause, listen);
    throw error;
  }
}

/**
 * Returns the directory for the kubeconfigs: the data directory, or a new private temporary directory. `remove` deletes
 * only a temporary directory.
 */
function openPlace({ dataDirectory }: ServeSettings, host: Host) {
  if (dataDirectory !== undefined) return { directory: dataDirectory, remove: () => {} };
  const directory = mkdtempSync(join(tmpdir(), 'cle-serve-'));
  const remove = () => {
    forgetExit();
    rmSync(directory, { recursive: true, force: true });
  };
  const forgetExit = host.beforeExit(remove);
  return { directory, remove };
}

/** Throws if the file exists and `serve` has not written it. */
function refuseToOverwrite(file: string): void {
  if (!existsSync(file) || readFileSync(file, 'utf8').startsWith(KUBECONFIG_HEADER)) return;
  throw new Error(
    `--kubeconfig-out ${file}: there is a file that serve has not written; choose another path`,
  );
}

/** Writes an admin and a read-only kubeconfig, each only if a token has that access. Returns the paths of these files. */
function writeKubeconfigs(
  { kubeconfigOut, listen }: ServeSettings,
  directory: string,
  { certificate: { ca }, tokens }: Credentials,
  { address }: ApiServer,
) {
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

/** Returns an address at which this machine can reach a server that listens on `host`. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host === '::' ? '::1' : host;
}

function usageOf(
  { url }: ApiServer,
  { dataDirectory, leaseCandidateVersions }: ServeSettings,
  { admin, readOnly }: ReturnType<typeof writeKubeconfigs>,
): string {
  const versions = leaseCandidateVersions.join(', ');
  const uses =
    admin === undefined
      ? ['No token allows all requests, so no kubeconfig for writes was written.']
      : [
          `kubectl --kubeconfig ${admin} get leases --all-namespaces`,
          `npm start -- run --kubeconfig ${admin}    # elects leaders on it`,
        ];
  return [
    `The coordination API is served at ${url}`,
    `  LeaseCandidates: ${versions || 'not served'}`,
    `  kept in: ${dataDirectory ?? 'memory, until the server ends'}`,
    ...(readOnly === undefined ? [] : [`  kubeconfig for reads: ${readOnly}`]),
    '',
    ...uses.map((line) => `  ${line}`),
    '',
    'Ctrl-C ends the server.',
    '',
  ].join('\n');
}

type Credentials = Awaited<ReturnType<typeof obtainCredentials>>;

/**
 * Reads the certificate and the tokens from the files that the settings name, or generates them. With a data directory,
 * generated files are kept there, so that kubeconfigs remain valid after a restart, until the certificate is renewed.
 * @throws {Error} that names the file or flag that cannot be used.
 */
async function obtainCredentials(settings: ServeSettings, clock: Clock) {
  const { dataDirectory, tlsCertificate, tlsKey, tokens, listen } = settings;
  if (dataDirectory !== undefined)
    withContext(`--data-dir ${dataDirectory}`, () => makePrivateDirectory(dataDirectory));
  const certificate =
    tlsCertificate !== undefined && tlsKey !== undefined
      ? readCertificate(tlsCertificate, tlsKey, clock)
      : await ownCertificate(dataDirectory, [listen.host], clock);
  const grants =
    tokens === undefined ? ownTokens(dataDirectory) : readTokenFile(`--tokens ${tokens}`, tokens);
  return { certificate, tokens: grants };
}

/**
 * Reads and checks the certificate and the key. `ca` is the root certificate for the kubeconfigs, in PEM; undefined if
 * the last certificate in the file is not a root certificate.
 */
function readCertificate(certFile: string, keyFile: string, clock: Clock) {
  const cert = withContext(`--tls-cert ${certFile}`, () => readFileSync(certFile, 'utf8'));
  const key = withContext(`--tls-key ${keyFile}`, () => readFileSync(keyFile, 'utf8'));
  withContext(`--tls-cert ${certFile}, --tls-key ${keyFile}`, () => checkCertificate({ cert, key }, clock));
  return { cert, key, ca: rootIn(cert) };
}

/**
 * Returns the last certificate of a chain; undefined if that certificate is not a root certificate. Chains of public
 * CAs usually do not contain the root certificate.
 */
function rootIn(chain: string): string | undefined {
  const last = chain.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g)?.at(-1);
  if (last === undefined) return undefined;
  const certificate = new X509Certificate(last);
  return certificate.checkIssued(certificate) ? last : undefined;
}

async function ownCertificate(directory: string | undefined, hosts: readonly string[], clock: Clock) {
  if (directory === undefined) return await generateCertificate(hosts, clock);
  const caFile = join(directory, 'ca.crt');
  const keyFile = join(directory, 'tls.key');
  const certFile = join(directory, 'tls.crt');
  const read = (file: string) => withContext(file, () => readFileSync(file, 'utf8'));
  if (existsSync(certFile)) {
    const kept = { ca: read(caFile), key: read(keyFile), cert: read(certFile) };
    if (!withContext(certFile, () => needsRenewal(kept, hosts, clock))) return kept;
  }
  const made = await generateCertificate(hosts, clock);
  writePrivateFile(caFile, made.ca);
  writePrivateFile(keyFile, made.key);
  // Write the certificate last. If this start is interrupted, the certificate is missing or does not belong to the new
  // CA, so the next start generates all three files again.
  writePrivateFile(certFile, made.cert);
  return made;
}

function ownTokens(directory: string | undefined): readonly TokenGrant[] {
  const file = directory === undefined ? undefined : join(directory, 'tokens.json');
  if (file !== undefined && existsSync(file)) return readTokenFile(file, file);
  const tokens = ['admin', 'read-only'].map((access) => ({
    name: access,
    token: generateToken(randomBytes(24)),
    access,
  }));
  const text = `${JSON.stringify(tokens, null, 2)}\n`;
  if (file !== undefined) writePrivateFile(file, text);
  return parseTokenFile(text);
}

function readTokenFile(name: string, file: string): readonly TokenGrant[] {
  return withContext(name, () => parseTokenFile(readFileSync(file, 'utf8')));
}
