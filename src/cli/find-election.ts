import {
  type ClusterClock,
  lookAtElections,
  type ObservedElection,
  type ObservedElections,
} from '../inspection/elections.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import type { InspectionSettings } from '../settings/inspection-settings.ts';
import type { ClusterConnection } from './cluster-connection.ts';

/** The message for a server without the API; what else could be said of elections there would mislead. */
export const NOT_SERVED =
  'the server serves no LeaseCandidates, so nothing is coordinated: doctor says how to turn them on';

/** An election, and when it was looked at. */
export interface FoundElection {
  readonly election: ObservedElection;
  readonly now: ObservedElections['now'];
}

/**
 * One election by its Lease's name.
 *
 * @throws {Error} that names other places where there is one of that name.
 */
export async function findElection(
  leaseName: string,
  settings: InspectionSettings,
  { client, clock, namespace }: ClusterConnection,
): Promise<FoundElection> {
  const look = { client, clock, settings, namespace, leaseName };
  const { candidateApis, elections, now } = await lookAtElections(look);
  if (candidateApis.length === 0) throw new Error(NOT_SERVED);
  const election = elections.find(({ input }) => input.lease !== undefined || input.candidates.length > 0);
  if (election) return { election, now };
  throw new Error(
    `there is no Lease ${leaseName} in ${namespace} namespace, and no candidate for it${await elsewhere(leaseName, settings, client, clock)}`,
  );
}

async function elsewhere(
  leaseName: string,
  settings: InspectionSettings,
  client: KubernetesClient,
  clock: ClusterClock,
): Promise<string> {
  const hint = '; status -A shows all there are';
  try {
    const { elections } = await lookAtElections({ client, clock, settings, namespace: '' });
    const places = elections
      .filter(({ input }) => input.name === leaseName)
      .map(({ input }) => input.namespace);
    return places.length === 0 ? hint : `; there is one with -n ${places.join(', or -n ')}`;
  } catch {
    // Not everybody may look into all namespaces; the first error is the one to tell.
    return hint;
  }
}
