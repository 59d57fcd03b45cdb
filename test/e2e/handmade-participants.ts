import { setTimeout as sleep } from 'node:timers/promises';
import { formatMicroTime } from '../../src/coordination/micro-time.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import type { LeaseCandidateObject, ObjectWatch } from './object-watch.ts';

const api = '/apis/coordination.k8s.io';

export const leasePath = (name: string, namespace = 'default') =>
  `${api}/v1/namespaces/${namespace}/leases/${name}`;
export const candidatePath = (name: string, namespace = 'default') =>
  `${api}/v1beta1/namespaces/${namespace}/leasecandidates/${name}`;

/** A metav1.MicroTime that lies `offsetMs` from now. */
export function microTime(offsetMs = 0): string {
  return formatMicroTime(BigInt(Date.now() + offsetMs) * 1000n);
}

/** Creates a Lease whose spec is as given, which client-go would never write that way. */
export async function createLease(plane: ControlPlane, name: string, spec: object): Promise<void> {
  await plane.request('POST', `${api}/v1/namespaces/default/leases`, { metadata: { name }, spec });
}

/** Creates a LeaseCandidate that nobody answers for. */
export async function createCandidate(
  plane: ControlPlane,
  name: string,
  spec: { readonly leaseName: string; readonly renewTime?: string; readonly emulationVersion?: string },
): Promise<void> {
  await plane.request('POST', `${api}/v1beta1/namespaces/default/leasecandidates`, {
    metadata: { name },
    spec: {
      binaryVersion: '1.36.0',
      emulationVersion: '1.36.0',
      strategy: 'OldestEmulationVersion',
      ...spec,
    },
  });
}

/** A candidate whose clock is not this machine's, answering pings by the rule that client-go has. */
export interface HandmadeCandidate {
  /** The pingTimes that it was sent, and how far each lay ahead of the candidate's own clock, in milliseconds. */
  readonly pings: readonly { readonly pingTime: string; readonly aheadMs: number }[];
  /** Stops answering, as a crash would. */
  stop(): void;
}

/** Creates a LeaseCandidate and answers for it: on a pingTime later than its renewTime it writes the time of its clock. */
export async function startHandmadeCandidate(
  plane: ControlPlane,
  candidates: ObjectWatch<LeaseCandidateObject>,
  name: string,
  options: {
    readonly leaseName: string;
    readonly emulationVersion?: string;
    readonly clockOffsetMs?: number;
  },
): Promise<HandmadeCandidate> {
  const { clockOffsetMs = 0, ...spec } = options;
  const pings: { pingTime: string; aheadMs: number }[] = [];
  const stop = candidates.onSighting(name, ({ type, object }) => {
    const { renewTime = '', pingTime } = object.spec;
    if (type === 'DELETED' || pingTime === undefined) return;
    // Both have six decimals, so that the order of texts is that of times.
    if (pingTime <= renewTime || pings.at(-1)?.pingTime === pingTime) return;
    pings.push({ pingTime, aheadMs: Date.parse(pingTime) - (Date.now() + clockOffsetMs) });
    plane
      .request('PATCH', candidatePath(name), { spec: { renewTime: microTime(clockOffsetMs) } })
      .catch(() => {}); // an answer that never came is what the election then sees
  });
  await createCandidate(plane, name, { ...spec, renewTime: microTime(clockOffsetMs) });
  return { pings, stop };
}

/** A holder that renews its Lease once a second by a clock that is not this machine's. */
export interface HandmadeHolder {
  /** Renews no more; resolves once its last renewal has been answered. */
  stop(): Promise<void>;
}

/** Creates a Lease that `holder` holds, and goes on renewing it. */
export async function startHandmadeHolder(
  plane: ControlPlane,
  lease: string,
  options: {
    readonly holder: string;
    readonly leaseDurationSeconds: number;
    readonly clockOffsetMs?: number;
  },
): Promise<HandmadeHolder> {
  const { holder, leaseDurationSeconds, clockOffsetMs = 0 } = options;
  await createLease(plane, lease, {
    holderIdentity: holder,
    leaseDurationSeconds,
    acquireTime: microTime(clockOffsetMs),
    renewTime: microTime(clockOffsetMs),
    strategy: 'OldestEmulationVersion',
  });
  let isStopped = false;
  const renewing = (async () => {
    while (!isStopped) {
      await plane.request('PATCH', leasePath(lease), { spec: { renewTime: microTime(clockOffsetMs) } });
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
