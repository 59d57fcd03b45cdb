import { type Cluster, KubeConfig, type User } from '@kubernetes/client-node';
import { type ClientOptions, createClient, type KubernetesClient } from '../../src/kubernetes/client.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

/** A KubeConfig with one cluster and one user. */
export function makeKubeConfig(cluster: Partial<Cluster> = {}, user: Partial<User> = {}): KubeConfig {
  const kubeConfig = new KubeConfig();
  kubeConfig.loadFromClusterAndUser(
    { name: 'test', server: 'https://api.test:6443', skipTLSVerify: false, ...cluster },
    { name: 'tester', ...user },
  );
  return kubeConfig;
}

/** A client on a clock that stands still. */
export function makeClient(options: Partial<ClientOptions> = {}): KubernetesClient {
  return createClient({
    kubeConfig: makeKubeConfig(),
    clock: new VirtualClock(),
    userAgent: 'test/1.0',
    ...options,
  });
}

/** A client of a plain HTTP server on this machine. */
export function makeLocalClient(port: number, options: Partial<ClientOptions> = {}): KubernetesClient {
  return makeClient({ kubeConfig: makeKubeConfig({ server: `http://127.0.0.1:${port}` }), ...options });
}
