import { existsSync, readFileSync } from 'node:fs';
import type { AgentOptions, RequestOptions } from 'node:https';
import { join } from 'node:path';
import type { ConnectionOptions } from 'node:tls';
import { hostAndPort } from '../support/address.ts';
import { KEEP_ALIVE_DELAY_MS } from './channel.ts';

/** A cluster in a kubeconfig. */
export interface Cluster {
  readonly name: string;
  readonly server: string;
  readonly caData?: string;
  readonly caFile?: string;
  readonly tlsServerName?: string;
  readonly skipTLSVerify: boolean;
  readonly proxyUrl?: string;
}

/** The fields of a kubeconfig's user that this project reads. The ClusterConfig authenticates the user. */
export interface User {
  readonly name: string;
  readonly token?: string;
  readonly exec?: { readonly command?: string };
  readonly authProvider?: { readonly name: string; readonly config: object };
}

/** A cluster, a user and a default namespace. */
export interface Context {
  readonly name: string;
  readonly cluster: string;
  readonly user: string;
  readonly namespace?: string;
}

/** How to connect: directly or through a proxy, and with which TLS material. */
export type DispatcherOptions =
  | {
      readonly type: 'proxy';
      readonly uri: string;
      readonly requestTls: ConnectionOptions;
      readonly connect: ConnectOptions;
    }
  | { readonly type: 'socks'; readonly uri: string; readonly requestTls: ConnectionOptions }
  | { readonly type: 'agent'; readonly connect: ConnectOptions }
  | { readonly type: 'none' };

type ConnectOptions = ConnectionOptions & {
  readonly keepAlive?: boolean;
  readonly keepAliveInitialDelay?: number;
};

/**
 * What a client needs to know about a cluster and its user. A `KubeConfig` of client-node is one. The type is written out,
 * because users of this package's types may lack the types of client-node's dependencies.
 */
export interface ClusterConfig {
  getCurrentCluster(): Cluster | null;
  getCurrentUser(): User | null;
  getCurrentContext(): string;
  getContextObject(name: string): Context | null;
  applyToHTTPSOptions(options: RequestOptions): Promise<void>;
  createDispatcherOptions(cluster: Cluster | null, agentOptions: AgentOptions): DispatcherOptions;
}

/** Returns the default namespace: the current context's, else `default`. */
export function namespaceOf(config: ClusterConfig): string {
  return config.getContextObject(config.getCurrentContext())?.namespace || 'default';
}

const NAME = 'in-cluster';

/**
 * The cluster of the pod in which this process runs, by the pod's service account. client-node could read it too, but needs
 * over 40 MB, more than the rest of a sidecar.
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

  /** Returns undefined outside a pod, or in a pod without a service account. */
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

  /** Reads both files each time, because the kubelet replaces them. */
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
 * Returns the namespace of the pod in which this process runs. Undefined unless `config` is the pod's service account: a
 * kubeconfig may be for another cluster.
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
