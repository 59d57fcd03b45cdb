import type { StructSchema } from '../schema/schema.ts';

type Numbers = Readonly<Record<string, number>>;

const leaseCandidate: Numbers = { metadata: 1, spec: 2 };
const leaseCandidateSpec: Numbers = {
  leaseName: 1,
  pingTime: 2,
  renewTime: 3,
  binaryVersion: 4,
  emulationVersion: 5,
  strategy: 6,
};
const eventSeries: Numbers = { count: 1, lastObservedTime: 2 };

/** The numbers that fields have in protobuf, by their names in JSON. */
const numbers: Readonly<Record<string, Numbers>> = {
  'coordination.v1.Lease': { metadata: 1, spec: 2 },
  'coordination.v1.LeaseSpec': {
    holderIdentity: 1,
    leaseDurationSeconds: 2,
    acquireTime: 3,
    renewTime: 4,
    leaseTransitions: 5,
    strategy: 6,
    preferredHolder: 7,
  },
  'coordination.v1beta1.LeaseCandidate': leaseCandidate,
  'coordination.v1beta1.LeaseCandidateSpec': leaseCandidateSpec,
  'coordination.v1alpha2.LeaseCandidate': leaseCandidate,
  'coordination.v1alpha2.LeaseCandidateSpec': leaseCandidateSpec,
  'coordination.v1alpha1.LeaseCandidate': leaseCandidate,
  'coordination.v1alpha1.LeaseCandidateSpec': { ...leaseCandidateSpec, preferredStrategies: 6 },
  'core.v1.Namespace': { metadata: 1, spec: 2, status: 3 },
  'core.v1.NamespaceSpec': { finalizers: 1 },
  'core.v1.NamespaceStatus': { phase: 1, conditions: 2 },
  'core.v1.NamespaceCondition': { type: 1, status: 2, lastTransitionTime: 4, reason: 5, message: 6 },
  'core.v1.Event': {
    metadata: 1,
    involvedObject: 2,
    reason: 3,
    message: 4,
    source: 5,
    firstTimestamp: 6,
    lastTimestamp: 7,
    count: 8,
    type: 9,
    eventTime: 10,
    series: 11,
    action: 12,
    related: 13,
    reportingComponent: 14,
    reportingInstance: 15,
  },
  'core.v1.EventSeries': eventSeries,
  'core.v1.EventSource': { component: 1, host: 2 },
  'core.v1.ObjectReference': {
    kind: 1,
    namespace: 2,
    name: 3,
    uid: 4,
    apiVersion: 5,
    resourceVersion: 6,
    fieldPath: 7,
  },
  'events.v1.Event': {
    metadata: 1,
    eventTime: 2,
    series: 3,
    reportingController: 4,
    reportingInstance: 5,
    action: 6,
    reason: 7,
    regarding: 8,
    related: 9,
    note: 10,
    type: 11,
    deprecatedSource: 12,
    deprecatedFirstTimestamp: 13,
    deprecatedLastTimestamp: 14,
    deprecatedCount: 15,
  },
  'events.v1.EventSeries': eventSeries,
  'meta.v1.ObjectMeta': {
    name: 1,
    generateName: 2,
    namespace: 3,
    selfLink: 4,
    uid: 5,
    resourceVersion: 6,
    generation: 7,
    creationTimestamp: 8,
    deletionTimestamp: 9,
    deletionGracePeriodSeconds: 10,
    labels: 11,
    annotations: 12,
    ownerReferences: 13,
    finalizers: 14,
    managedFields: 17,
  },
  'meta.v1.OwnerReference': { kind: 1, name: 3, uid: 4, apiVersion: 5, controller: 6, blockOwnerDeletion: 7 },
  'meta.v1.ManagedFieldsEntry': {
    manager: 1,
    operation: 2,
    apiVersion: 3,
    time: 4,
    fieldsType: 6,
    fieldsV1: 7,
    subresource: 8,
  },
  'meta.v1.DeleteOptions': {
    gracePeriodSeconds: 1,
    preconditions: 2,
    orphanDependents: 3,
    propagationPolicy: 4,
    dryRun: 5,
    ignoreStoreReadErrorWithClusterBreakingPotential: 6,
  },
  'meta.v1.Preconditions': { uid: 1, resourceVersion: 2 },
  'authorization.v1.SelfSubjectAccessReview': { metadata: 1, spec: 2 },
  'authorization.v1.SelfSubjectAccessReviewSpec': { resourceAttributes: 1, nonResourceAttributes: 2 },
  'authorization.v1.ResourceAttributes': {
    namespace: 1,
    verb: 2,
    group: 3,
    version: 4,
    resource: 5,
    subresource: 6,
    name: 7,
  },
  'authorization.v1.NonResourceAttributes': { path: 1, verb: 2 },
  'authentication.v1.SelfSubjectReview': { metadata: 1 },
};

const namesByModel = new Map<string, ReadonlyMap<number, string>>(
  Object.entries(numbers).map(([model, fields]) => [
    model,
    new Map(Object.entries(fields).map(([name, number]) => [number, name])),
  ]),
);

/** The names of a type's fields by their numbers; empty: it is never sent as protobuf. */
export function fieldNames({ model }: StructSchema): ReadonlyMap<number, string> {
  return namesByModel.get(model.split('.').slice(-3).join('.')) ?? new Map();
}
