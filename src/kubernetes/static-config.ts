import { readFileSync } from 'node:fs';
import type { Cluster, Context, User } from '@kubernetes/client-node';
import { KEEP_ALIVE_DELAY_MS } from './channel.ts';
import type { ClusterConfig, DispatcherOptions } from './cluster-config.ts';

/**
 * A cluster and a user of a kubeconfig that are let in by what stands there, or in files: a token, a certificate. client-node
 * knows all the other ways, and takes 40 MB and almost half a second for them.
 */
export class StaticConfig implements ClusterConfig {
  readonly #cluster: Cluster;
  readonly #user: User;
  readonly #context: Context;

  constructor(cluster: Cluster, user: User, context: Context) {
    this.#cluster = cluster;
    this.#user = user;
    this.#context = context;
  }

  /** Whether this will do. */
  static suffices({ proxyUrl }: Cluster, user: User): boolean {
    return !(proxyUrl || user.exec || user.authProvider || user.username || user.impersonateUser);
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
    const { certFile, certData, keyFile, keyData, token } = this.#user;
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

/** A file comes before what stands in the kubeconfig itself. */
function contentOf(file: string | undefined, data: string | undefined): Buffer | undefined {
  if (file) return readFileSync(file);
  return data ? Buffer.from(data, 'base64') : undefined;
}
