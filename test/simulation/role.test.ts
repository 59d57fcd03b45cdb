import { expect, onTestFinished, test, vi } from 'vitest';
import { coordinatorLease, GROUP } from '../../src/election/model.ts';
import { type ApiRequest, describeTarget } from '../../src/kubernetes/client.ts';
import { createEventRecorder } from '../../src/telemetry/event-recorder.ts';
import { type CoordinatorPermission, coordinatorPermissions } from '../support/coordinator-role.ts';
import { makeLeaseEvent } from '../telemetry/make-lease-event.ts';
import { CongestedWorld } from './congested-world.ts';
import { SimConnection } from './sim-connection.ts';

const HOUR_MS = 60 * 60_000;

/** Returns the permission that a request needs; undefined for discovery, which needs none. */
function permissionOf(request: ApiRequest): CoordinatorPermission | undefined {
  const { method, path, query = {}, body } = request;
  const { verb, resource } = describeTarget(method, path, query);
  if (resource.startsWith('/')) return undefined;
  const [, group = '', namespace = '', name = ''] =
    /^\/(?:api|apis\/([^/]+))\/v\w+(?:\/namespaces\/([^/]+))?\/\w+(?:\/([^/]+))?$/.exec(path) ?? [];
  const selected = /^metadata\.name=(.+)$/.exec(String(query['fieldSelector'] ?? ''))?.[1] ?? name;
  const created = (body as { readonly metadata?: { readonly name?: string } } | undefined)?.metadata?.name;
  const { namespace: lockNamespace, name: lockName } = coordinatorLease;
  const isLock = namespace === lockNamespace && (selected === lockName || created === lockName);
  return `${verb} ${group}/${resource}${isLock ? ` ${verb === 'create' ? 'in' : 'named'} the lock` : ''}`;
}

test('the role in deploy/rbac.yaml has exactly the permissions that are used', async () => {
  const used = new Set<CoordinatorPermission>();
  const note = (request: ApiRequest) => {
    const permission = permissionOf(request);
    if (permission) used.add(permission);
  };
  const spies = [vi.spyOn(SimConnection.prototype, 'request'), vi.spyOn(SimConnection.prototype, 'stream')];
  onTestFinished(() => {
    for (const spy of spies) spy.mockRestore();
  });

  // Includes an election, a preemption, a new Lease, a hand-over of the lock, and the deletion of dead candidates.
  const congested = new CongestedWorld({ leases: 2, requestsPerSecond: 1000, renewEveryMs: 10_000 });
  congested.noisy.add({ leaseName: 'new', name: 'new-0', emulationVersion: '1.35.0', isRunning: true });
  await congested.start(1000);
  await congested.endLeaders('crash', 1000);
  await congested.runUntilLed(60_000);
  const { coordinator = '' } = congested;
  const ours = congested.world.replicas.flatMap(({ client, lockClient }) => [client, lockClient]);
  congested.world.coordinators.stop(coordinator.replace(/\.\d+$/, ''), 5 * HOUR_MS);
  await congested.world.run(3 * HOUR_MS);
  for (const { mock } of spies) {
    for (const [index, [request]] of mock.calls.entries())
      if (ours.includes(mock.contexts[index] as SimConnection)) note(request);
  }

  const { clock } = congested.world;
  const recorder = createEventRecorder({
    client: {
      async request(request) {
        note(request);
        return {};
      },
    },
    clock,
    host: 'node-1',
    onEnd: () => {},
    onFailure: () => {},
  });
  recorder.record(makeLeaseEvent());
  recorder.record(makeLeaseEvent());
  // The coordinator does not write Events at once.
  await clock.advance(10_000);

  // The rules are the same for candidates of both groups.
  const alike = (permissions: Iterable<CoordinatorPermission>) =>
    [...new Set([...permissions].map((each) => each.replace(` ${GROUP}/`, ' coordination.k8s.io/')))].sort();
  expect(alike(used)).toEqual(alike(await coordinatorPermissions()));
});
