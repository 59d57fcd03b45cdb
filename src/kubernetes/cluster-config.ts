import type { AgentOptions, RequestOptions } from 'node:https';
import type { ConnectionOptions } from 'node:tls';

/** A cluster, as a kubeconfig describes it. */
export interface Cluster {
  readonly name: string;
  readonly server: string;
  readonly caData?: string;
  readonly caFile?: string;
  readonly tlsServerName?: string;
  readonly skipTLSVerify: boolean;
  readonly proxyUrl?: string;
}

/** A user, as far as it is asked here: it is the configuration that knows how to be let in as one. */
export interface User {
  readonly name: string;
  readonly token?: string;
  readonly exec?: { readonly command?: string };
  readonly authProvider?: { readonly name: string; readonly config: object };
}

/** A cluster, a user, and the namespace that is meant where none is named. */
export interface Context {
  readonly name: string;
  readonly cluster: string;
  readonly user: string;
  readonly namespace?: string;
}

/** How to connect: directly or by a proxy, with which TLS material. */
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
 * What a client has to know of a cluster and of its user; a `KubeConfig` of client-node is one. Written out, as whoever uses this
 * package's types may not have those of what client-node depends on.
 */
export interface ClusterConfig {
  getCurrentCluster(): Cluster | null;
  getCurrentUser(): User | null;
  getCurrentContext(): string;
  getContextObject(name: string): Context | null;
  applyToHTTPSOptions(options: RequestOptions): Promise<void>;
  createDispatcherOptions(cluster: Cluster | null, agentOptions: AgentOptions): DispatcherOptions;
}

/** The namespace that is meant where none is named: the current context's, else `default`. */
export function namespaceOf(config: ClusterConfig): string {
  return config.getContextObject(config.getCurrentContext())?.namespace || 'default';
}
