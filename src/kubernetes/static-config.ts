import { readFileSync } from 'node:fs';
import type { Cluster, User } from '@kubernetes/client-node';
import { isJsonObject, type JsonObject } from '../support/json.ts';
import { KEEP_ALIVE_DELAY_MS } from './channel.ts';
import type { ClusterConfig, Context, DispatcherOptions } from './cluster-config.ts';

/**
 * A cluster and a user of a kubeconfig that are let in by what stands there, or in files: a token, a certificate. client-node
 * knows all the other ways, and takes 40 MB and almost half a second for them.
 */
export class StaticConfig implements ClusterConfig {
  readonly #cluster: Cluster;
  readonly #user: User;
  readonly #context: Context;
  /** What the file with the token had when it was last read. */
  #tokenOfFile: string | undefined;

  constructor(cluster: Cluster, user: User, context: Context) {
    this.#cluster = cluster;
    this.#user = user;
    this.#context = context;
  }

  /** Whether this will do. */
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

  /** Files are read anew each time, as they may be replaced. */
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

  /** As client-go has it: that of the file, as last read, comes before the one in the kubeconfig. */
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

/** How client-node has a user whose token is in a file. */
export function tokenFileProvider(tokenFile: string): { name: string; config: { tokenFile: string } } {
  return { name: TOKEN_FILE, config: { tokenFile } };
}

/** The file that a user's token is in; undefined where there is none. */
export function tokenFileOf({ authProvider }: User): string | undefined {
  const { name, config } = isJsonObject(authProvider) ? authProvider : {};
  return name === TOKEN_FILE && isJsonObject(config) ? textField(config, 'tokenFile') : undefined;
}

/** @throws {Error} where there is no token to read. */
export function readToken(file: string): string {
  const token = readFileSync(file, 'utf8').trim();
  if (token === '') throw new Error(`the file ${file} has no token`);
  return token;
}

/** What stands in the kubeconfig itself comes before a file. */
function contentOf(file: string | undefined, data: string | undefined): Buffer | undefined {
  if (data) return Buffer.from(data, 'base64');
  return file ? readFileSync(file) : undefined;
}

function textField(fields: JsonObject, name: string): string | undefined {
  const value = fields[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}
