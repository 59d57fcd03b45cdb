import { readFile } from 'node:fs/promises';
import type { ApiAccess } from '../control-plane/api-request.ts';
import { coordinatorAccount } from '../control-plane/cluster-objects.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { startReaper } from '../control-plane/reaper.ts';
import { createRole } from '../e2e/coordinator.ts';
import { Crowd, type CrowdSize } from './crowd.ts';
import { type Replica, startReplica } from './replica.ts';

const REPLICAS = ['replica-1', 'replica-2'];
/** Start timeout of a server, on a busy machine. */
const READY_WITHIN_MS = 180_000;
/** Lifetime of the replicas' token: the default of API servers. */
const TOKEN_SECONDS = 24 * 3600;

/** A real API server, two replicas of the coordinator, and a crowd of programs. */
export interface SoakCluster {
  readonly plane: ControlPlane;
  readonly replicas: readonly Replica[];
  readonly crowd: Crowd;
  /** Stops all of it, in any state. Returns the exits of replicas that failed. */
  stop(): Promise<readonly string[]>;
}

export async function startSoakCluster(options: {
  readonly main: string;
  readonly size: CrowdSize;
  readonly random: () => number;
  readonly directory: string;
  readonly signal: AbortSignal;
}): Promise<SoakCluster> {
  const { main, size, random, directory, signal } = options;
  const plane = await startControlPlane({ readyWithinMs: READY_WITHIN_MS });
  const reaper = startReaper(undefined);
  const replicas: Replica[] = [];
  let crowd: Crowd | undefined;
  const stop = async () => {
    crowd?.stop();
    const codes = await Promise.all(replicas.map((replica) => replica.stop()));
    await reaper.end();
    await plane.stop();
    return replicas.flatMap(({ name }, index) =>
      codes[index] === 0 ? [] : [`${name} ended with code ${codes[index]}`],
    );
  };
  try {
    const ca = await readFile(plane.caFile, 'utf8');
    const access = { url: plane.url, ca };
    await createRole(plane.request);
    const token = await issueToken(plane);
    for (const name of REPLICAS) {
      signal.throwIfAborted();
      replicas.push(
        await startReplica({
          name,
          main,
          access: { ...access, token },
          directory,
          workDirectory: plane.directory,
          reaper,
          signal,
        }),
      );
    }
    const asAdministrator: ApiAccess = { ...access, token: plane.adminToken };
    crowd = await Crowd.start(asAdministrator, size, random);
    return { plane, replicas, crowd, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** A kubeconfig for the ServiceAccount of deploy/rbac.yaml. */
async function issueToken({ request }: ControlPlane): Promise<string> {
  const { namespace, name } = coordinatorAccount;
  const { status } = await request<{ readonly status: { readonly token: string } }>(
    'POST',
    `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`,
    {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { expirationSeconds: TOKEN_SECONDS },
    },
  );
  return status.token;
}
