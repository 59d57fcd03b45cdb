import { formatMicroTime } from '../../src/coordination/micro-time.ts';
import type { KubernetesObject } from '../../src/kubernetes/objects.ts';
import type { JsonObject } from '../../src/support/json.ts';
import { OLDEST, wallAt } from '../support/election-builders.ts';

/** The fields of a LeaseCandidate that matter. */
export interface CandidateFields {
  readonly namespace?: string;
  readonly leaseName?: string;
  readonly version?: string;
  /** When it last renewed, on the virtual clock; absent: never. */
  readonly renewedAt?: number;
  readonly spec?: JsonObject;
}

/** A LeaseCandidate as its program would create it. */
export function makeCandidateObject(name: string, fields: CandidateFields = {}): KubernetesObject {
  const { namespace = 'default', leaseName = 'scheduler', version = '1.36.0', renewedAt, spec } = fields;
  return {
    metadata: { namespace, name },
    spec: {
      leaseName,
      binaryVersion: version,
      emulationVersion: version,
      strategy: OLDEST,
      ...(renewedAt !== undefined && { renewTime: formatMicroTime(wallAt(renewedAt)) }),
      ...spec,
    },
  };
}

/** A Lease that `holder` has renewed at `renewedAt`, for 15 s. */
export function makeLeaseObject(
  holder: string,
  renewedAt: number,
  spec: JsonObject = {},
  name = 'scheduler',
): KubernetesObject {
  return {
    metadata: { namespace: 'default', name },
    spec: {
      holderIdentity: holder,
      leaseDurationSeconds: 15,
      renewTime: formatMicroTime(wallAt(renewedAt)),
      strategy: OLDEST,
      ...spec,
    },
  };
}
