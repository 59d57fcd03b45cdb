import type { Now } from '../election/time.ts';
import type { ClusterClock } from '../inspection/cluster-clock.ts';
import { lookAtElections, type ObservedElection } from '../inspection/elections.ts';
import { accountFor } from '../inspection/lease-account.ts';
import { lookAtLock } from '../inspection/lock-holder.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import type { ExplainSettings, InspectionSettings } from '../settings/inspection-settings.ts';
import type { Host } from '../support/host.ts';
import { accountText } from './account-text.ts';
import { type ClusterConnection, tellOfSkew, withCluster } from './cluster-connection.ts';
import { exitCode } from './exit-code.ts';
import { layoutFor, NOT_SERVED } from './show-status.ts';
import { structured } from './structured-output.ts';

/** Shows why a Lease is led by whom it is led; resolves to an exit code. */
export function showExplanation(leaseName: string, settings: ExplainSettings, host: Host): Promise<number> {
  return withCluster(settings, host, async (connection) => {
    const [{ election, now }, lock] = await Promise.all([
      findElection(leaseName, settings, connection),
      lookAtLock(connection.client, connection.clock),
    ]);
    tellOfSkew(connection.clock, host);
    const account = accountFor(election, lock, now);
    const { output } = settings;
    host.stdout.write(
      output === 'json' || output === 'yaml'
        ? structured(account, output)
        : accountText(account, layoutFor(host)),
    );
    return exitCode.ok;
  });
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
): Promise<{ readonly election: ObservedElection; readonly now: Now }> {
  const look = { client, clock, settings, namespace, leaseName };
  const { candidateVersion, elections, now } = await lookAtElections(look);
  if (candidateVersion === undefined) throw new Error(NOT_SERVED);
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
