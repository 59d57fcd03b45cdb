import { CUSTOM_API_VERSION } from '../../src/coordination/candidate-sources.ts';
import { createNamespaces } from '../control-plane/cluster-objects.ts';
import { type SimCandidates, startSimCandidates } from '../control-plane/sim-candidate.ts';
import { type WatchedLease, type WatchedObjects, watchLeases } from '../control-plane/watched-objects.ts';
import {
  type EmbeddedCluster,
  type EmbeddedClusterOptions,
  startEmbeddedCluster,
} from './embedded-cluster.ts';
import {
  type EmbeddedCoordinator,
  type EmbeddedCoordinatorOptions,
  startCoordinator,
  untilActive,
  untilSynced,
} from './embedded-coordinator.ts';
import { type Participants, startParticipants } from './participants.ts';

/** An embedded server with a coordinator, and observers of both. */
export interface EmbeddedSite {
  readonly cluster: EmbeddedCluster;
  readonly coordinator: EmbeddedCoordinator;
  readonly leases: WatchedObjects<WatchedLease>;
  /** Fake candidates: they answer pings, or do not. */
  readonly candidates: SimCandidates;
  readonly participants: Participants;
  createNamespace(name: string): Promise<void>;
  stop(): Promise<void>;
}

/** The options of a site: {@link EmbeddedClusterOptions} and {@link EmbeddedCoordinatorOptions}. */
export interface EmbeddedSiteOptions extends EmbeddedClusterOptions, EmbeddedCoordinatorOptions {
  /** Called before the start of the coordinator; may return more options. */
  readonly prepare?: (
    site: Omit<EmbeddedSite, 'coordinator' | 'stop'>,
  ) => Promise<EmbeddedCoordinatorOptions | undefined>;
}

/** Starts a server and a coordinator. Resolves when the coordinator is active, or at once in a dry run. */
export async function startEmbeddedSite(options: EmbeddedSiteOptions = {}): Promise<EmbeddedSite> {
  const cluster = await startEmbeddedCluster(options);
  const leases = await watchLeases(cluster);
  const version = options.leaseCandidateVersions?.[0] ?? 'v1beta1';
  const apiVersion = version === CUSTOM_API_VERSION ? version : (`coordination.k8s.io/${version}` as const);
  const candidates = await startSimCandidates(cluster, apiVersion, options.pace);
  const participants = startParticipants(cluster);
  const createNamespace = (name: string) => createNamespaces(cluster, name);
  const parts = { cluster, leases, candidates, participants, createNamespace };
  const more = await options.prepare?.(parts);
  const coordinator = startCoordinator(cluster, { ...options, ...more });
  if (options.pace !== undefined) await untilSynced(coordinator);
  else if (!options.settings?.dryRun) await untilActive(coordinator);
  return {
    ...parts,
    coordinator,
    async stop() {
      await participants.stop();
      await coordinator.stop();
      candidates.stop();
      leases.stop();
      await cluster.stop();
    },
  };
}
