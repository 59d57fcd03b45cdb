import { microTime } from '../test/control-plane/cluster-objects.ts';

/** The numbers of objects. */
export interface Scale {
  readonly leases: number;
  /** For each Lease. */
  readonly candidates: number;
}

/** The commands to the server of bench/events.ts. */
export type Command =
  | { readonly op: 'listen' }
  | {
      readonly op: 'renew';
      readonly resource: 'leases' | 'leasecandidates';
      readonly perSecond: number;
      readonly durationMs: number;
    };

/** An object as JSON, at a resourceVersion and renewed just now. */
export type Renewed = (resourceVersion: string) => string;

const NAMESPACE = 'bench';
const STARTED_AT = '2026-01-01T00:00:00Z';
const REVISION = '"@revision"';
const RENEWED = '"@renewed"';

/** A Lease as a kube-apiserver sends it, held by its best candidate. */
export function leaseObject(index: number): Renewed {
  const name = `component-${index}`;
  const spec = {
    holderIdentity: candidateName(name, 0),
    // A Lease needs no action while only candidates are renewed.
    leaseDurationSeconds: 86_400,
    acquireTime: '2026-01-01T00:00:00.000000Z',
    renewTime: '@renewed',
    leaseTransitions: 3,
    strategy: 'OldestEmulationVersion',
  };
  const writers = [
    { manager: 'coordinated-leader-election', fields: ['acquireTime', 'leaseTransitions', 'strategy'] },
    { manager: 'component', fields: ['holderIdentity', 'leaseDurationSeconds', 'renewTime'] },
  ];
  return renewed('Lease', 'coordination.k8s.io/v1', { name, index, writers, spec });
}

/** A LeaseCandidate of the Lease with every `perLease`-th index. */
export function candidateObject(index: number, perLease: number): Renewed {
  const leaseName = `component-${Math.floor(index / perLease)}`;
  const minor = 30 + (index % perLease);
  const spec = {
    leaseName,
    binaryVersion: '1.40.0',
    emulationVersion: `1.${minor}.0`,
    strategy: 'OldestEmulationVersion',
    pingTime: '2026-01-01T00:00:00.000000Z',
    renewTime: '@renewed',
  };
  const writers = [
    { manager: 'component', fields: Object.keys(spec).filter((field) => field !== 'pingTime') },
    { manager: 'coordinated-leader-election', fields: ['pingTime'] },
  ];
  const name = candidateName(leaseName, index % perLease);
  return renewed('LeaseCandidate', 'coordination.k8s.io/v1beta1', { name, index, writers, spec });
}

function candidateName(lease: string, rank: number): string {
  return `${lease}-6f7d8b9c5d-${rank}`;
}

interface Parts {
  readonly name: string;
  readonly index: number;
  readonly writers: readonly { readonly manager: string; readonly fields: readonly string[] }[];
  readonly spec: object;
}

function renewed(kind: string, apiVersion: string, { name, index, writers, spec }: Parts): Renewed {
  const managedFields = writers.map(({ manager, fields }) => ({
    manager,
    operation: 'Update',
    apiVersion,
    time: STARTED_AT,
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:spec': Object.fromEntries(fields.map((field) => [`f:${field}`, {}])) },
  }));
  const metadata = {
    name,
    namespace: NAMESPACE,
    uid: `3d5e9c23-8938-4b66-bfb2-${index.toString(16).padStart(12, '0')}`,
    resourceVersion: '@revision',
    creationTimestamp: STARTED_AT,
    managedFields,
  };
  const text = JSON.stringify({ kind, apiVersion, metadata, spec });
  return (resourceVersion) =>
    text.replace(REVISION, `"${resourceVersion}"`).replace(RENEWED, `"${microTime()}"`);
}
