import type { JsonObject } from '../../../src/support/json.ts';

/** An invalid configuration of a Lease. */
export interface RefusedConfiguration {
  readonly name: string;
  /** Its fields in addition to apiVersion, kind and metadata.name. */
  readonly config: { readonly metadata?: unknown; readonly [field: string]: unknown };
  /** The code of the refusal. */
  readonly want: number;
}

const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'one', uid: 'u' };

export const refusedConfigurations: readonly RefusedConfiguration[] = [
  { name: 'an empty list of managedFields', config: { metadata: { managedFields: [] } }, want: 400 },
  { name: 'managedFields', config: { metadata: { managedFields: [{ manager: 'x' }] } }, want: 400 },
  { name: 'managedFields that are no list', config: { metadata: { managedFields: 5 } }, want: 500 },
  { name: 'an unknown field', config: { spec: { nope: 1 } }, want: 500 },
  { name: 'an unknown field at the top', config: { nope: { a: 1 } }, want: 500 },
  { name: 'unknown fields in two places', config: { metadata: { nope: 1 }, spec: { nope: 1 } }, want: 500 },
  {
    name: 'a namespace, and an unknown field',
    config: { metadata: { namespace: 'default' }, spec: { nope: 1 } },
    want: 500,
  },
  { name: 'a name that is a number', config: { metadata: { name: 5 } }, want: 500 },
  { name: 'a truth value for a text', config: { spec: { holderIdentity: true } }, want: 500 },
  { name: 'a fraction for a text', config: { spec: { holderIdentity: 5.5 } }, want: 500 },
  { name: 'a list for a text', config: { spec: { holderIdentity: ['x', 1] } }, want: 500 },
  {
    name: 'an object for a text',
    config: { spec: { holderIdentity: { b: null, a: [1.5, '<'] } } },
    want: 500,
  },
  { name: 'a text for a number', config: { spec: { leaseDurationSeconds: 'x' } }, want: 500 },
  { name: 'a list for a number', config: { spec: { leaseDurationSeconds: [1] } }, want: 500 },
  { name: 'an object for a number', config: { spec: { leaseDurationSeconds: { a: 1 } } }, want: 500 },
  { name: 'an object for a time', config: { spec: { renewTime: { a: 1 } } }, want: 500 },
  { name: 'a number for a label', config: { metadata: { labels: { a: 5 } } }, want: 500 },
  { name: 'a list for the labels', config: { metadata: { labels: ['x'] } }, want: 500 },
  { name: 'a number for a struct', config: { spec: 5 }, want: 500 },
  { name: 'a text for a list', config: { metadata: { finalizers: 'x' } }, want: 500 },
  { name: 'a finalizer twice', config: { metadata: { finalizers: ['e/a', 'e/a'] } }, want: 500 },
  { name: 'a number for a finalizer', config: { metadata: { finalizers: [5] } }, want: 500 },
  { name: 'null for a finalizer', config: { metadata: { finalizers: [null] } }, want: 500 },
  { name: 'an object for a finalizer', config: { metadata: { finalizers: [{}] } }, want: 500 },
  { name: 'a list for a finalizer', config: { metadata: { finalizers: [[]] } }, want: 500 },
  {
    name: 'an owner twice',
    config: { metadata: { ownerReferences: [owner, { ...owner, name: 'two' }] } },
    want: 500,
  },
  { name: 'a text for an owner', config: { metadata: { ownerReferences: ['x'] } }, want: 500 },
  { name: 'null for an owner', config: { metadata: { ownerReferences: [null] } }, want: 500 },
  {
    name: 'an unknown field of an owner',
    config: { metadata: { ownerReferences: [{ ...owner, nope: 1 }] } },
    want: 500,
  },
  {
    name: 'a list for a truth value',
    config: { metadata: { ownerReferences: [{ ...owner, controller: ['x', null, { b: true }] }] } },
    want: 500,
  },
  { name: 'a fraction for a number', config: { spec: { leaseDurationSeconds: 1.5 } }, want: 500 },
  { name: 'a number for a time', config: { spec: { renewTime: 5 } }, want: 500 },
  { name: 'no time', config: { spec: { renewTime: 'x' } }, want: 500 },
];

/** The whole configuration. */
export function configurationOf({ config }: RefusedConfiguration): JsonObject {
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    ...config,
    metadata: { name: 'x', ...(config.metadata as JsonObject | undefined) },
  };
}
