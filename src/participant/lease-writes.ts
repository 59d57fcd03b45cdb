import type { RequestBody } from '../coordination/lease-patch.ts';
import { formatMicroTime } from '../coordination/micro-time.ts';
import { specOf, timeField } from '../coordination/raw-object.ts';
import type { MicroTime } from '../election/model.ts';
import type { KubernetesObject } from '../kubernetes/objects.ts';

/** What a renewal writes. */
export interface Renewal {
  readonly holder: string;
  readonly leaseDurationMs: number;
  readonly leaseTransitions: number;
  readonly wallTime: MicroTime;
}

/** The Lease with a renewal. Whatever else it has stays: strategy, preferredHolder, annotations, fields yet unknown. */
export function renewedLease(lease: KubernetesObject, renewal: Renewal): RequestBody {
  return {
    ...lease,
    spec: {
      ...specOf(lease),
      holderIdentity: renewal.holder,
      leaseDurationSeconds: renewal.leaseDurationMs / 1000,
      leaseTransitions: renewal.leaseTransitions,
      renewTime: formatMicroTime(newTime(lease, renewal.wallTime)),
    },
  };
}

/** The Lease as its holder leaves it: of no one, for a second, as client-go's elector does it. */
export function releasedLease(lease: KubernetesObject, wallTime: MicroTime): RequestBody {
  const renewTime = formatMicroTime(newTime(lease, wallTime));
  return { ...lease, spec: { ...specOf(lease), holderIdentity: '', leaseDurationSeconds: 1, renewTime } };
}

/** A time unlike those on the Lease: others tell a renewal by the change, and a grant by renewTime being acquireTime. */
function newTime(lease: KubernetesObject, wallTime: MicroTime): MicroTime {
  const spec = specOf(lease);
  const taken = [timeField(spec, 'renewTime'), timeField(spec, 'acquireTime')];
  let time = wallTime;
  while (taken.includes(time)) time++;
  return time;
}
