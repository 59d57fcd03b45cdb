import {
  type ClusterClock,
  createClusterClock,
  missingElection,
  type ObservedElection,
  type ObservedElections,
  observeElections,
  skewOf,
} from '../inspection/elections.ts';
import { createClient, type KubernetesClient } from '../kubernetes/client.ts';
import { namespaceOf } from '../kubernetes/cluster-config.ts';
import { ConnectionError, hasStatus } from '../kubernetes/errors.ts';
import { loadKubeConfig } from '../kubernetes/kubeconfig.ts';
import type { ClusterSettings, InspectionSettings } from '../settings/inspection-settings.ts';
import { type Host, version } from '../support/host.ts';
import { messageOf } from '../support/text.ts';

export interface ClusterConnection {
  readonly client: KubernetesClient;
  readonly clock: ClusterClock;
  /** The namespace of `--namespace`, else of the kubeconfig context, else `default`; empty for all namespaces. */
  readonly namespace: string;
}

/**
 * Connects to the cluster, calls `look`, and closes the connection. If `look` rejects with a ConnectionError, a 401 or
 * a 403, adds advice to the error.
 * @throws {Error} if the kubeconfig cannot be loaded, or if `look` rejects.
 */
export async function withCluster<T>(
  settings: ClusterSettings & { readonly allNamespaces?: boolean },
  host: Host,
  look: (connection: ClusterConnection) => Promise<T>,
): Promise<T> {
  const { kubeconfig, context, namespace } = settings;
  const kubeConfig = loadKubeConfig({ kubeconfig, context, env: host.env });
  const clock = createClusterClock(host.clock);
  const client = createClient({
    kubeConfig,
    clock: host.clock,
    hear: (heard) => clock.hear(heard),
    userAgent: `coordinated-leader-election/${version}`,
  });
  try {
    const chosen = settings.allNamespaces ? '' : (namespace ?? namespaceOf(kubeConfig));
    return await look({ client, clock, namespace: chosen });
  } catch (error) {
    const advice = adviceOn(error, client.server);
    throw advice === undefined ? error : new Error(`${messageOf(error)}. ${advice}`, { cause: error });
  } finally {
    await client.close();
  }
}

/** Warns if this machine's clock differs too much from the server's. The output then follows the server's clock. */
export function warnAboutSkew({ serverAheadMs }: ClusterClock, { stderr }: Host): void {
  const skew = skewOf(serverAheadMs);
  if (skew) stderr.write(`warning: ${skew.text}. This output uses the server's clock\n`);
}

/** The error if the server serves no LeaseCandidates. It tells users why there are no elections. */
export const NOT_SERVED =
  'the server serves no LeaseCandidates, so nothing is coordinated: doctor says how to turn them on';

/**
 * Finds an election by the name of its Lease. If the election is only in other namespaces, the error may name them.
 * @throws {Error} if the server serves no LeaseCandidates, the election does not exist, or a request fails.
 */
export async function findElection(
  leaseName: string,
  settings: InspectionSettings,
  connection: ClusterConnection,
): Promise<Pick<ObservedElections, 'now'> & { readonly election: ObservedElection }> {
  const scope = { ...connection, settings };
  const { candidateApis, elections, now } = await observeElections({ ...scope, leaseName });
  if (candidateApis.length === 0) throw new Error(NOT_SERVED);
  const election = elections.find(({ input }) => input.lease !== undefined || input.candidates.length > 0);
  if (!election) throw await missingElection(leaseName, scope);
  return { election, now };
}

function adviceOn(error: unknown, server: string): string | undefined {
  const code = error instanceof ConnectionError ? error.code : undefined;
  if (hasStatus(error, 401) || code === 'CREDENTIALS')
    return 'Log in again, or choose another user with --kubeconfig or --context';
  if (hasStatus(error, 403)) {
    const isAboutPods = error.path.includes('/pods');
    const resources = isAboutPods ? 'pods' : 'leases and leasecandidates in coordination.k8s.io';
    return (
      `Ask for the right to list ${resources}, or name a namespace that you may read with --namespace; ` +
      'doctor says what a coordinator needs'
    );
  }
  return (
    code && `Is ${server} the right cluster, and does it run? Choose another with --kubeconfig or --context`
  );
}
