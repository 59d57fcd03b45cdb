import { AsyncLocalStorage } from 'node:async_hooks';
import type { ChildProcess } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { RequestOptions } from 'node:https';
import type { ConnectionOptions } from 'node:tls';
import type { Clock, Instant } from '../support/clock.ts';
import { messageOf, shortened } from '../support/text.ts';
import type { Cluster, ClusterConfig } from './cluster-config.ts';

/** The credentials of a request: headers, and TLS material for the connection. */
export interface Credentials {
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: ConnectionOptions;
}

/** How long the client reuses credentials, in ms. To get new ones, it may have to read files or run a plugin. */
const REUSE_MS = 1_000;

interface CredentialParts {
  readonly kubeConfig: ClusterConfig;
  readonly cluster: Cluster;
  readonly clock: Clock;
}

/** Gets credentials from a configuration, and reuses them for {@link REUSE_MS}. Concurrent calls share one result. */
export class CredentialSource {
  readonly #parts: CredentialParts;
  #current: { readonly credentials: Credentials; readonly since: Instant } | undefined;
  #pending: Promise<Credentials> | undefined;

  constructor(parts: CredentialParts) {
    this.#parts = parts;
  }

  /** Rejects if it cannot get new credentials, for example because the CA file is unreadable or the plugin fails. */
  async get(): Promise<Credentials> {
    if (this.#current && this.#parts.clock.now() - this.#current.since < REUSE_MS)
      return this.#current.credentials;
    this.#pending ??= this.#refresh().finally(() => {
      this.#pending = undefined;
    });
    return await this.#pending;
  }

  /** Drops the cached credentials. The client calls this after the server has refused them. */
  invalidate(): void {
    this.#current = undefined;
  }

  async #refresh(): Promise<Credentials> {
    const credentials = await obtainCredentials(this.#parts);
    this.#current = { credentials, since: this.#parts.clock.now() };
    return credentials;
  }
}

/**
 * The plugin process of the current call of obtainCredentials(). client-node does not report how a plugin ended, but
 * the process has an exit code or a signal.
 */
const started = new AsyncLocalStorage<{ process?: ChildProcess }>();

async function obtainCredentials({ kubeConfig, cluster }: CredentialParts): Promise<Credentials> {
  if (cluster.server.startsWith('http:') && !cluster.skipTLSVerify) {
    // Send no credentials without TLS, for example to `kubectl proxy`: others on the network could read them.
    // With `insecure-skip-tls-verify`, the user accepts this risk.
    return { headers: {}, tls: {} };
  }
  const options: RequestOptions = {};
  const plugin = kubeConfig.getCurrentUser()?.exec?.command;
  const own: { process?: ChildProcess } = {};
  const note = (message: unknown) => {
    // Ignore processes that other code starts at the same time.
    if (started.getStore() === own) Object.assign(own, message);
  };
  subscribe('child_process', note);
  try {
    await started.run(own, () => kubeConfig.applyToHTTPSOptions(options));
  } catch (error) {
    // An error of `open` means that a file of the configuration, such as the CA, cannot be read. The plugin did not fail.
    const isAboutFile = error instanceof Error && 'syscall' in error && error.syscall === 'open';
    if (plugin === undefined || isAboutFile) throw error;
    throw pluginFailure(plugin, error, endingOf(own.process));
  } finally {
    unsubscribe('child_process', note);
  }
  return { headers: headersOf(options), tls: tlsOf(options) };
}

/** Maximum characters of a plugin's message in an error. A plugin may write a text of any length. */
const LONGEST_EXPLANATION = 1000;

/** Returns an error that says which plugin failed and how. client-node's error may have only the plugin's stderr. */
function pluginFailure(command: string, cause: unknown, ending: string | undefined): Error {
  const how = ending === undefined ? '' : ` (${ending})`;
  const explanation = shortened(explanationOf(cause), LONGEST_EXPLANATION);
  return new Error(
    `the credential plugin ${command} failed${how}: ${explanation}`,
    // Do not add a SyntaxError as the cause: it may quote a part of the plugin's output, which may contain a token.
    cause instanceof SyntaxError ? {} : { cause },
  );
}

function explanationOf(error: unknown): string {
  if (error instanceof SyntaxError) return 'the output is not JSON';
  if (error instanceof TypeError) return 'the output has no status with credentials';
  return messageOf(error).trim() || 'no error output';
}

function headersOf(options: RequestOptions): Record<string, string> {
  const headers: Record<string, string> = {};
  if (options.auth) headers['authorization'] = `Basic ${Buffer.from(options.auth).toString('base64')}`;
  for (const [name, value] of Object.entries(options.headers ?? {})) {
    // client-node keeps the newline at the end of a token file. A header must not contain it.
    if (value !== undefined) headers[name.toLowerCase()] = String(value).trim();
  }
  return headers;
}

function tlsOf(options: RequestOptions): ConnectionOptions {
  const { ca, cert, key, pfx, passphrase, rejectUnauthorized, servername } = options;
  const given = Object.entries({ ca, cert, key, pfx, passphrase, rejectUnauthorized, servername });
  // Remove undefined options: Node does not always treat them as absent.
  return Object.fromEntries(given.filter(([, value]) => value !== undefined));
}

function endingOf(process: ChildProcess | undefined): string | undefined {
  if (process?.signalCode) return process.signalCode;
  const { exitCode } = process ?? {};
  // A negative exit code means that the process did not start. The message of the error then contains the reason.
  return typeof exitCode === 'number' && exitCode > 0 ? `exit code ${exitCode}` : undefined;
}
