import { setTimeout as sleep } from 'node:timers/promises';
import { createLease, leasePath, microTime } from '../control-plane/cluster-objects.ts';
import type { CoordinationServer } from '../control-plane/coordination-plane.ts';

/** A holder that renews its Lease once a second by a clock that is not this machine's. */
export interface LeaseHolder {
  /** Renews no more; resolves once its last renewal has been answered. */
  stop(): Promise<void>;
}

/** Creates a Lease that `holder` holds, and goes on renewing it. */
export async function startLeaseHolder(
  plane: CoordinationServer,
  options: {
    readonly namespace: string;
    readonly lease: string;
    readonly holder: string;
    readonly leaseDurationSeconds: number;
    /** How far its clock is ahead of this machine's, in milliseconds. */
    readonly clockOffsetMs: number;
  },
): Promise<LeaseHolder> {
  const { namespace, lease: name, holder, leaseDurationSeconds, clockOffsetMs } = options;
  const lease = { namespace, name };
  const now = () => microTime(-clockOffsetMs);
  await createLease(plane, lease, {
    holderIdentity: holder,
    leaseDurationSeconds,
    acquireTime: now(),
    renewTime: now(),
    strategy: 'OldestEmulationVersion',
  });
  let isStopped = false;
  const renewing = (async () => {
    while (!isStopped) {
      await plane.request('PATCH', leasePath(lease), { spec: { renewTime: now() } });
      await sleep(1000);
    }
  })();
  // Seen where it is waited for; a test that fails before that has something else to say.
  renewing.catch(() => {});
  return {
    async stop() {
      isStopped = true;
      await renewing;
    },
  };
}
