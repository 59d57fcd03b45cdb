import type { KubeConfig } from '@kubernetes/client-node';

/** What a client has to know of a cluster and of its user; a `KubeConfig` is one. */
export type ClusterConfig = Pick<
  KubeConfig,
  | 'getCurrentCluster'
  | 'getCurrentUser'
  | 'getCurrentContext'
  | 'getContextObject'
  | 'applyToHTTPSOptions'
  | 'createDispatcherOptions'
>;
