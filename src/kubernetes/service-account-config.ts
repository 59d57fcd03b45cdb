import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { hostAndPort } from '../support/address.ts';
import { KEEP_ALIVE_DELAY_MS } from './channel.ts';
import type { Cluster, ClusterConfig, Context, DispatcherOptions, User } from './cluster-config.ts';

const NAME = 'in-cluster';

/**
 * The cluster of the pod that this process runs in, by the pod's service account. client-node could read that as well, but
 * needs over 40 MB to do so, which is more than all else that a sidecar has of its own.
 */
export class ServiceAccountConfig implements ClusterConfig {
  readonly #cluster: Cluster;
  readonly #context: Context;
  readonly #tokenFile: string;

  private constructor(server: string, caFile: string, tokenFile: string, namespace: string | undefined) {
    this.#cluster = { name: NAME, server, caFile, skipTLSVerify: false };
    this.#context = { name: NAME, cluster: NAME, user: NAME, ...(namespace !== undefined && { namespace }) };
    this.#tokenFile = tokenFile;
  }

  /** Undefined where this is no pod, or none with a service account. */
  static find(
    env: Readonly<Record<string, string | undefined>>,
    directory: string,
  ): ServiceAccountConfig | undefined {
    const host = env['KUBERNETES_SERVICE_HOST'];
    const port = env['KUBERNETES_SERVICE_PORT'];
    const tokenFile = join(directory, 'token');
    const caFile = join(directory, 'ca.crt');
    if (!host || !port || !existsSync(tokenFile) || !existsSync(caFile)) return undefined;
    const server = `https://${hostAndPort(host, port)}`;
    return new ServiceAccountConfig(server, caFile, tokenFile, namespaceIn(directory));
  }

  getCurrentCluster(): Cluster {
    return this.#cluster;
  }

  getCurrentUser(): User {
    return { name: NAME, authProvider: { name: 'tokenFile', config: { tokenFile: this.#tokenFile } } };
  }

  getCurrentContext(): string {
    return NAME;
  }

  getContextObject(name: string): Context | null {
    return name === NAME ? this.#context : null;
  }

  /** Both are read anew each time, as a kubelet replaces them. */
  async applyToHTTPSOptions(options: Parameters<ClusterConfig['applyToHTTPSOptions']>[0]): Promise<void> {
    options.ca = readFileSync(this.#cluster.caFile ?? '');
    options.headers = {
      ...options.headers,
      Authorization: `Bearer ${readFileSync(this.#tokenFile, 'utf8')}`,
    };
  }

  createDispatcherOptions(
    ...[, { ca }]: Parameters<ClusterConfig['createDispatcherOptions']>
  ): DispatcherOptions {
    return {
      type: 'agent',
      connect: {
        ...(ca !== undefined && { ca }),
        keepAlive: true,
        keepAliveInitialDelay: KEEP_ALIVE_DELAY_MS,
      },
    };
  }
}

/**
 * The namespace of the pod that this process runs in. Undefined unless `config` is that of the pod's service account: a
 * kubeconfig may be about another cluster.
 */
export function podNamespaceOf(config: ClusterConfig): string | undefined {
  return config instanceof ServiceAccountConfig
    ? config.getContextObject(config.getCurrentContext())?.namespace || undefined
    : undefined;
}

function namespaceIn(directory: string): string | undefined {
  const file = join(directory, 'namespace');
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined;
}
