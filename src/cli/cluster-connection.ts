import { ClusterClock, skewOf } from '../inspection/elections.ts';
import { createClient, type KubernetesClient } from '../kubernetes/client.ts';
import { namespaceOf } from '../kubernetes/cluster-config.ts';
import { ApiError, ConnectionError } from '../kubernetes/errors.ts';
import { loadKubeConfig } from '../kubernetes/kubeconfig.ts';
import type { InspectionSettings } from '../settings/inspection-settings.ts';
import { type Host, version } from '../support/host.ts';

/** A cluster to look at. */
export interface ClusterConnection {
  readonly client: KubernetesClient;
  readonly clock: ClusterClock;
  /** The one asked for, else the context's, else `default`. */
  readonly namespace: string;
}

/**
 * Looks at a cluster, and lets go of it however that ends.
 *
 * @throws {Error} whose message says what to do next, when the cluster cannot be looked at.
 */
export async function withCluster<T>(
  settings: InspectionSettings,
  host: Host,
  look: (connection: ClusterConnection) => Promise<T>,
): Promise<T> {
  const { kubeconfig, context, namespace } = settings;
  const kubeConfig = loadKubeConfig({ kubeconfig, context, env: host.env });
  const clock = new ClusterClock(host.clock);
  const client = createClient({
    kubeConfig,
    clock: host.clock,
    hear: (heard) => clock.hear(heard),
    userAgent: `coordinated-leader-election/${version}`,
  });
  try {
    return await look({ client, clock, namespace: namespace ?? namespaceOf(kubeConfig) });
  } catch (error) {
    throw withNextStep(error, client.server);
  } finally {
    await client.close();
  }
}

/** Says so where times are not judged by this machine's clock. */
export function tellOfSkew({ serverAheadMs }: ClusterClock, { stderr }: Host): void {
  const skew = skewOf(serverAheadMs);
  if (skew) stderr.write(`warning: ${skew.text}, by which times are judged here\n`);
}

function withNextStep(error: unknown, server: string): unknown {
  if (error instanceof ConnectionError) {
    return new Error(
      error.code === 'CREDENTIALS'
        ? `${error.message}. Log in again, or choose another user with --kubeconfig or --context`
        : `${error.message}. Is ${server} the right cluster, and does it run? Choose another with --kubeconfig or --context`,
    );
  }
  if (error instanceof ApiError && error.status === 401) {
    return new Error(`${error.message}. Log in again, or choose another user with --kubeconfig or --context`);
  }
  if (error instanceof ApiError && error.status === 403) {
    return new Error(
      `${error.message}. Ask for the right to list leases and leasecandidates in coordination.k8s.io, or name a ` +
        'namespace that you may read with --namespace; doctor says what a coordinator needs',
    );
  }
  return error;
}
