import { readFileSync } from 'node:fs';
import type { Cluster, User } from '@kubernetes/client-node';
import { isJsonObject, type JsonObject } from '../support/json.ts';
import { KEEP_ALIVE_DELAY_MS } from './channel.ts';
import type { ClusterConfig, Context, DispatcherOptions } from './cluster-config.ts';

/**
 * A cluster and a user whose credentials are in the kubeconfig or in files: a token, a certificate. client-node supports
 * all other methods, but needs 40 MB and almost half a second.
 */
export class StaticConfig implements ClusterConfig {
  readonly #cluster: Cluster;
  readonly #user: User;
  readonly #context: Context;
  /** The last token that was read from the token file. */
  #tokenOfFile: string | undefined;

  constructor(cluster: Cluster, user: User, context: Context) {
    this.#cluster = cluster;
    this.#user = user;
    this.#context = context;
  }

  /** True when this class supports the cluster and the user. */
  static suffices({ proxyUrl }: Cluster, user: User): boolean {
    const hasProvider = user.authProvider && tokenFileOf(user) === undefined;
    return !(proxyUrl || user.exec || hasProvider || user.username || user.impersonateUser);
  }

  getCurrentCluster(): Cluster {
    return this.#cluster;
  }

  getCurrentUser(): User {
    return this.#user;
  }

  getCurrentContext(): string {
    return this.#context.name;
  }

  getContextObject(name: string): Context | null {
    return name === this.#context.name ? this.#context : null;
  }

  /** Reads the files each time, because they may be replaced. */
  async applyToHTTPSOptions(options: Parameters<ClusterConfig['applyToHTTPSOptions']>[0]): Promise<void> {
    const { caFile, caData, skipTLSVerify, tlsServerName } = this.#cluster;
    const { certFile, certData, keyFile, keyData } = this.#user;
    const token = this.#token();
    if (skipTLSVerify) options.rejectUnauthorized = false;
    if (tlsServerName) options.servername = tlsServerName;
    const [ca, cert, key] = [
      contentOf(caFile, caData),
      contentOf(certFile, certData),
      contentOf(keyFile, keyData),
    ];
    if (ca) options.ca = ca;
    if (cert) options.cert = cert;
    if (key) options.key = key;
    if (token) options.headers = { ...options.headers, Authorization: `Bearer ${token}` };
  }

  /** Returns the token, as client-go does: the last token of the file comes before the token in the kubeconfig. */
  #token(): string | undefined {
    const { token } = this.#user;
    const file = tokenFileOf(this.#user);
    if (file === undefined) return token;
    try {
      this.#tokenOfFile = readToken(file);
    } catch (error) {
      if (this.#tokenOfFile === undefined && !token) throw error;
    }
    return this.#tokenOfFile ?? token;
  }

  createDispatcherOptions(
    ...[, { ca, cert, key, rejectUnauthorized, servername }]: Parameters<
      ClusterConfig['createDispatcherOptions']
    >
  ): DispatcherOptions {
    const tls = {
      ...(ca !== undefined && { ca }),
      ...(cert !== undefined && { cert }),
      ...(key !== undefined && { key }),
      ...(rejectUnauthorized !== undefined && { rejectUnauthorized }),
      ...(servername !== undefined && { servername }),
    };
    if (Object.keys(tls).length === 0) return { type: 'none' };
    return {
      type: 'agent',
      connect: { ...tls, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_DELAY_MS },
    };
  }
}

const TOKEN_FILE = 'tokenFile';

/** Returns client-node's form of a user with a token file. */
export function tokenFileProvider(tokenFile: string): { name: string; config: { tokenFile: string } } {
  return { name: TOKEN_FILE, config: { tokenFile } };
}

/** Returns the token file of a user; undefined if there is none. */
export function tokenFileOf({ authProvider }: User): string | undefined {
  const { name, config } = isJsonObject(authProvider) ? authProvider : {};
  return name === TOKEN_FILE && isJsonObject(config) ? textField(config, 'tokenFile') : undefined;
}

/** @throws {Error} when the file contains no token or cannot be read. */
export function readToken(file: string): string {
  const token = readFileSync(file, 'utf8').trim();
  if (token === '') throw new Error(`the file ${file} has no token`);
  return token;
}

/** Returns the data in the kubeconfig if set, otherwise the content of the file. */
function contentOf(file: string | undefined, data: string | undefined): Buffer | undefined {
  if (data) return Buffer.from(data, 'base64');
  return file ? readFileSync(file) : undefined;
}

function textField(fields: JsonObject, name: string): string | undefined {
  const value = fields[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}
