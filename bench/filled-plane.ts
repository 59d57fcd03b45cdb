import { readFile } from 'node:fs/promises';
import { Agent } from 'node:https';
import { apiRequest } from '../test/control-plane/api-request.ts';
import { type ControlPlane, startControlPlane } from '../test/control-plane/control-plane.ts';

/** A control plane whose Leases all have holders that need not renew for a day: a coordinator has nothing to do. */
export interface FilledPlane {
  readonly plane: ControlPlane;
  /** Creates more Leases, up to this number, with five candidates each. */
  fillTo(leases: number): Promise<void>;
  stop(): Promise<void>;
}

const NAMESPACES = 20;
const CANDIDATES = 5;
const AT_ONCE = 24;
const LEASES_PATH = '/apis/coordination.k8s.io/v1';
const CANDIDATES_PATH = '/apis/coordination.k8s.io/v1beta1';

export async function startFilledPlane(): Promise<FilledPlane> {
  const plane = await startControlPlane();
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  const access = {
    url: plane.url,
    ca: await readFile(plane.caFile, 'utf8'),
    token: plane.adminToken,
    agent,
  };
  async function create(path: string, body: object): Promise<void> {
    const { status, text } = await apiRequest(access, 'POST', path, body);
    if (status !== 201) throw new Error(`POST ${path}: ${status} ${text}`);
  }
  for (let index = 0; index < NAMESPACES; index++)
    await create('/api/v1/namespaces', { metadata: { name: `team-${index}` } });
  let filled = 0;
  return {
    plane,
    async fillTo(leases) {
      await Promise.all(
        Array.from({ length: AT_ONCE }, async () => {
          while (filled < leases) await createLease(filled++, create);
        }),
      );
    },
    async stop() {
      agent.destroy();
      await plane.stop();
    },
  };
}

async function createLease(
  index: number,
  create: (path: string, body: object) => Promise<void>,
): Promise<void> {
  const namespace = `team-${index % NAMESPACES}`;
  const name = `component-${index}`;
  const strategy = 'OldestEmulationVersion';
  // A day ahead, like a fast clock: no candidate needs a ping, however long this takes.
  const renewTime = `${new Date(Date.now() + 86_400_000).toISOString().slice(0, -1)}000Z`;
  const nameOf = (which: number) =>
    `${name}-7f5c9b8d6c-${(index * CANDIDATES + which).toString(36).padStart(5, '0')}`;
  // Before its candidates, because otherwise the built-in coordinator would create it.
  await create(`${LEASES_PATH}/namespaces/${namespace}/leases`, {
    metadata: { name },
    spec: {
      ...{ holderIdentity: nameOf(0), strategy, leaseDurationSeconds: 86_400, leaseTransitions: 1 },
      ...{ acquireTime: renewTime, renewTime },
    },
  });
  for (let which = 0; which < CANDIDATES; which++) {
    const emulationVersion = which === 0 ? '1.35.0' : '1.36.0';
    await create(`${CANDIDATES_PATH}/namespaces/${namespace}/leasecandidates`, {
      metadata: { name: nameOf(which) },
      spec: { leaseName: name, binaryVersion: '1.36.0', emulationVersion, strategy, renewTime },
    });
  }
}
