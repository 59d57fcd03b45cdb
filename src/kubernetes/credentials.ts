import { AsyncLocalStorage } from 'node:async_hooks';
import type { ChildProcess } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { RequestOptions } from 'node:https';
import type { ConnectionOptions } from 'node:tls';
import type { Clock, Instant } from '../support/clock.ts';
import { messageOf, shortened } from '../support/text.ts';
import type { Cluster, ClusterConfig } from './cluster-config.ts';

/** The credentials of a request: headers to send, and TLS material to connect with. */
export interface Credentials {
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: ConnectionOptions;
}

/**
 * How long credentials are reused, in milliseconds. Reading them opens files and may run a plugin, which is too expensive
 * for every request. A rotation takes effect this much later.
 */
const REUSE_MS = 1_000;

/** Gets credentials from a configuration, at most once at a time and once per {@link REUSE_MS}. */
export class CredentialSource {
  readonly #kubeConfig: ClusterConfig;
  readonly #cluster: Cluster;
  readonly #clock: Clock;
  #current: { readonly credentials: Credentials; readonly since: Instant } | undefined;
  #pending: Promise<Credentials> | undefined;

  constructor(kubeConfig: ClusterConfig, cluster: Cluster, clock: Clock) {
    this.#kubeConfig = kubeConfig;
    this.#cluster = cluster;
    this.#clock = clock;
  }

  /** Rejects with the error of the authentication method: an unreadable file, or a plugin's name and message. */
  get(): Promise<Credentials> {
    if (this.#current && this.#clock.now() - this.#current.since < REUSE_MS) {
      return Promise.resolve(this.#current.credentials);
    }
    this.#pending ??= this.#refresh().finally(() => {
      this.#pending = undefined;
    });
    return this.#pending;
  }

  /** Drops the cached credentials, because the server did not accept them. */
  invalidate(): void {
    this.#current = undefined;
  }

  async #refresh(): Promise<Credentials> {
    const credentials = await obtainCredentials(this.#kubeConfig, this.#cluster);
    this.#current = { credentials, since: this.#clock.now() };
    return credentials;
  }
}

async function obtainCredentials(kubeConfig: ClusterConfig, cluster: Cluster): Promise<Credentials> {
  if (cluster.server.startsWith('http:') && !cluster.skipTLSVerify) {
    // Like kubectl: without TLS (`kubectl proxy`), credentials are not sent, because anyone could read them.
    return { headers: {}, tls: {} };
  }
  const options: RequestOptions = {};
  const plugin = kubeConfig.getCurrentUser()?.exec?.command;
  await explainingProcess(
    () => kubeConfig.applyToHTTPSOptions(options),
    (error, ending) => (plugin === undefined ? error : pluginFailure(plugin, error, ending)),
  );
  return { headers: headersOf(options), tls: tlsOf(options) };
}

/** Maximum characters of a plugin's message: a plugin may write any amount. */
const LONGEST_EXPLANATION = 1000;

/** Returns an error that names the plugin. The library's error has only the plugin's error output, without its name. */
function pluginFailure(command: string, cause: unknown, ending: string | undefined): Error {
  // A SyntaxError of the library quotes the beginning of the output, which may be the token.
  const isNoJson = cause instanceof SyntaxError;
  const isUnread = cause instanceof TypeError;
  const said = isNoJson
    ? 'what it wrote is no JSON'
    : isUnread
      ? 'what it wrote has no status with credentials'
      : messageOf(cause).trim();
  const words = said || 'it said nothing';
  const how = ending === undefined ? '' : ` (${ending})`;
  return new Error(
    `the credential plugin ${command} failed${how}: ${shortened(words, LONGEST_EXPLANATION)}`,
    isNoJson ? {} : { cause },
  );
}

function headersOf(options: RequestOptions): Record<string, string> {
  const headers: Record<string, string> = {};
  if (options.auth) headers['authorization'] = `Basic ${Buffer.from(options.auth).toString('base64')}`;
  for (const [name, value] of Object.entries(options.headers ?? {})) {
    // A token file usually ends with a newline, which a header must not contain.
    if (value !== undefined) headers[name.toLowerCase()] = String(value).trim();
  }
  return headers;
}

function tlsOf(options: RequestOptions): ConnectionOptions {
  const { ca, cert, key, pfx, passphrase, rejectUnauthorized, servername } = options;
  const given = Object.entries({ ca, cert, key, pfx, passphrase, rejectUnauthorized, servername });
  // For Node, undefined is not always the same as no option.
  return Object.fromEntries(given.filter(([, value]) => value !== undefined));
}

interface Started {
  process?: ChildProcess;
}

const started = new AsyncLocalStorage<Started>();

/**
 * Runs `work`, which may start a process and does not report how it ended. `explain` makes the error of a failure. Its
 * argument is the exit code or the signal of the process, if the process failed.
 */
export async function explainingProcess(
  work: () => Promise<void>,
  explain: (error: unknown, ending: string | undefined) => unknown,
): Promise<void> {
  const own: Started = {};
  const note = (message: unknown) => {
    // Other tasks may start processes at the same time.
    if (started.getStore() === own) Object.assign(own, message);
  };
  subscribe('child_process', note);
  try {
    await started.run(own, work);
  } catch (error) {
    throw explain(error, endingOf(own.process));
  } finally {
    unsubscribe('child_process', note);
  }
}

function endingOf(process: ChildProcess | undefined): string | undefined {
  if (process?.signalCode) return process.signalCode;
  const { exitCode } = process ?? {};
  // A negative code means that the process did not start; the error says so.
  return typeof exitCode === 'number' && exitCode > 0 ? `exit code ${exitCode}` : undefined;
}
