import { formatMicroTime } from '../../src/coordination/micro-time.ts';
import type { AuditObservation, WatchedLease } from '../../src/inspection/audit-observation.ts';
import { seeLease } from '../../src/inspection/audit-observation.ts';
import { type AuditedPod, decodeAuditedPod } from '../../src/inspection/audit-pods.ts';
import type { KubernetesObject } from '../../src/kubernetes/objects.ts';
import { makeNow, wallAt } from '../support/election-builders.ts';

/** RFC 3339, this many milliseconds after the start of every test. */
export function stampAt(at: number): string {
  return formatMicroTime(wallAt(at));
}

/** The properties of a Pod that a test sets. */
export interface PodParts {
  readonly namespace?: string;
  readonly name: string;
  readonly uid?: string;
  readonly createdAt?: number;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly owner?: { readonly kind: string; readonly name: string };
  readonly containers?: readonly string[];
  readonly spec?: object;
  readonly phase?: string;
}

/** A Pod as the API server sends it, with one container, created a minute before instant 0. */
export function rawPod(parts: PodParts): KubernetesObject {
  const { namespace = 'shop', name, uid = `uid-of-${name}`, createdAt = -60_000, annotations = {} } = parts;
  const { owner, containers = ['app'], spec = {}, phase = 'Running' } = parts;
  return {
    metadata: {
      ...{ namespace, name, uid, annotations },
      creationTimestamp: stampAt(createdAt),
      ownerReferences: owner ? [{ apiVersion: 'apps/v1', uid: 'x', controller: true, ...owner }] : [],
    },
    spec: { nodeName: 'node-1', containers: containers.map((each) => ({ name: each })), ...spec },
    status: { phase },
  };
}

export function makePod(parts: PodParts): AuditedPod {
  return decodeAuditedPod(rawPod(parts));
}

/** Field ownership of a Lease by an elector of client-go. */
const managedFields = [
  { manager: 'web', fieldsV1: { 'f:spec': { 'f:acquireTime': {}, 'f:renewTime': {} } } },
];

/** A Lease as the API server sends it, acquired at instant 0, for 15 s. */
export function rawLease(spec: object = {}, metadata: object = {}): KubernetesObject {
  return {
    metadata: {
      ...{ namespace: 'shop', name: 'web', uid: 'uid-of-lease', resourceVersion: '1' },
      creationTimestamp: stampAt(0),
      managedFields,
      ...metadata,
    },
    spec: {
      ...{ holderIdentity: 'web-0_1234', leaseDurationSeconds: 15, leaseTransitions: 0 },
      ...{ acquireTime: stampAt(0), renewTime: stampAt(0), ...spec },
    },
  };
}

/** A Lease that was listed at the first of these instants, and renewed at the others. */
export function watchedLease(
  seenAt: readonly number[],
  spec: object = {},
  metadata: object = {},
): WatchedLease {
  const [listedAt = 0] = seenAt;
  return seenAt.reduce<WatchedLease | undefined>((seen, at) => {
    const renewTime = stampAt(at === listedAt ? at - 1000 : at);
    return seeLease(seen, rawLease({ renewTime, ...spec }, metadata), at);
  }, undefined) as WatchedLease;
}

/** The observations up to `at`; by default, only of Leases. */
export function makeObservation(at: number, parts: Partial<AuditObservation> = {}): AuditObservation {
  return {
    leases: [],
    heartbeats: { nodes: 0, apiServers: 0 },
    candidates: [],
    pods: [],
    unread: [],
    now: makeNow(at),
    watchedMs: 30_000,
    ...parts,
  };
}
