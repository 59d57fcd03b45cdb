import type { CandidateApiVersion } from '../../../../src/coordination/candidate-sources.ts';
import { installCandidateResource } from '../../../control-plane/candidate-resource.ts';
import { candidatePath, createNamespaces } from '../../../control-plane/cluster-objects.ts';
import { startControlPlane } from '../../../control-plane/control-plane.ts';
import type { CoordinationPlane } from '../../../control-plane/coordination-plane.ts';
import {
  type WatchedLease,
  type WatchedObjects,
  watchLeases,
} from '../../../control-plane/watched-objects.ts';
import { type AuditedRequest, prepareAuditLog } from '../../audit-log.ts';
import { installRole, startCoordinator, untilActive } from '../../coordinator.ts';
import { type ContenderName, untilBuiltInActs } from '../contender.ts';

/** A coordinator on its own control plane. */
export interface Site {
  readonly plane: CoordinationPlane;
  readonly leases: WatchedObjects<WatchedLease>;
  /** The requests of a namespace's programs for Leases and native LeaseCandidates since the start of the server. */
  requests(namespace: string): Promise<readonly AuditedRequest[]>;
  addNamespace(name: string): Promise<void>;
  /** Deletes existing LeaseCandidates. */
  remove(namespace: string, names: readonly string[]): Promise<void>;
  /** Patches one. */
  patch(namespace: string, name: string, body: object): Promise<void>;
  stop(): Promise<void>;
}

/** Without the feature gate there is no built-in coordinator, and LeaseCandidates are this project's own. */
export async function startSite(
  coordinator: ContenderName,
  { isGateOn = true }: { readonly isGateOn?: boolean } = {},
): Promise<Site> {
  // Programs have the administrator's credentials here.
  const audit = await prepareAuditLog([{ level: 'Metadata', users: ['admin'] }]);
  const plane = await startControlPlane({
    coordinatedLeaderElection: isGateOn,
    extraApiServerArgs: audit.apiServerArgs,
  });
  if (!isGateOn) await installCandidateResource(plane);
  const ours =
    coordinator === 'this controller'
      ? await startCoordinator(await installRole(plane), ['--log-level', 'info'])
      : undefined;
  if (ours) await untilActive(ours);
  else await untilBuiltInActs(plane);
  const onPlane = await siteOn(
    plane,
    isGateOn ? 'coordination.k8s.io/v1beta1' : 'coordinated-leader-election.dev/v1alpha1',
  );
  return {
    ...onPlane,
    async requests(namespace) {
      return (await audit.requests()).filter((request) => request.namespace === namespace);
    },
    async stop() {
      await onPlane.stop();
      await ours?.stop();
      await plane.stop();
      await audit.remove();
    },
  };
}

/** The access to a running control plane, and the group of LeaseCandidates; requests are not recorded. */
async function siteOn(plane: CoordinationPlane, candidates: CandidateApiVersion): Promise<Site> {
  const leases = await watchLeases(plane);
  const pathOf = (namespace: string, name: string) =>
    candidatePath({ apiVersion: candidates, namespace, name });
  return {
    plane,
    leases,
    requests: async () => [],
    addNamespace: (name) => createNamespaces(plane, name),
    async remove(namespace, names) {
      await Promise.all(
        // Programs that exit cleanly delete theirs themselves.
        names.map((name) => plane.request('DELETE', pathOf(namespace, name)).catch(() => {})),
      );
    },
    async patch(namespace, name, body) {
      await plane.request('PATCH', pathOf(namespace, name), body);
    },
    stop: async () => leases.stop(),
  };
}
