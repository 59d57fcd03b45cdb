import type { JsonObject } from '../../../src/support/json.ts';

/** A configuration of a Lease that cannot be applied, whatever is there. */
export interface RefusedConfiguration {
  readonly name: string;
  /** What it says beside apiVersion, kind and metadata.name. */
  readonly config: { readonly metadata?: unknown; readonly [field: string]: unknown };
  readonly want: { readonly code: number; readonly message: string };
}

const TYPE = 'coordination.k8s.io/v1, Kind=Lease';

/** The configuration does not fit its schema; `name` is what it says of itself. */
function unfit(problem: string, name = '/x') {
  return { code: 500, message: `failed to create typed patch object (${name}; ${TYPE}): ${problem}` };
}

/** It fits, and yet is not of its type. */
function mistyped(problem: string) {
  return {
    code: 500,
    message: `failed to convert new object (/x; ${TYPE}) to proper version: unable to convert unstructured object to ${TYPE}: ${problem}`,
  };
}

const managedFieldsGiven = { code: 400, message: 'metadata.managedFields must be nil' };
const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'one', uid: 'u' };

export const refusedConfigurations: readonly RefusedConfiguration[] = [
  {
    name: 'an empty list of managedFields',
    config: { metadata: { managedFields: [] } },
    want: managedFieldsGiven,
  },
  {
    name: 'managedFields',
    config: { metadata: { managedFields: [{ manager: 'x' }] } },
    want: managedFieldsGiven,
  },
  {
    name: 'managedFields that are no list',
    config: { metadata: { managedFields: 5 } },
    want: unfit('.metadata.managedFields: expected list, got &{5}'),
  },
  {
    name: 'an unknown field',
    config: { spec: { nope: 1 } },
    want: unfit('.spec.nope: field not declared in schema'),
  },
  {
    name: 'an unknown field at the top',
    config: { nope: { a: 1 } },
    want: unfit('.nope: field not declared in schema'),
  },
  {
    name: 'unknown fields in two places',
    config: { metadata: { nope: 1 }, spec: { nope: 1 } },
    want: unfit(
      'errors:\n  .metadata.nope: field not declared in schema\n  .spec.nope: field not declared in schema',
    ),
  },
  {
    name: 'a namespace, and an unknown field',
    config: { metadata: { namespace: 'default' }, spec: { nope: 1 } },
    want: unfit('.spec.nope: field not declared in schema', 'default/x'),
  },
  {
    name: 'a name that is a number',
    config: { metadata: { name: 5 } },
    want: unfit('.metadata.name: expected string, got &value.valueUnstructured{Value:5}', '/'),
  },
  {
    name: 'a truth value for a text',
    config: { spec: { holderIdentity: true } },
    want: unfit('.spec.holderIdentity: expected string, got &value.valueUnstructured{Value:true}'),
  },
  {
    name: 'a fraction for a text',
    config: { spec: { holderIdentity: 5.5 } },
    want: unfit('.spec.holderIdentity: expected string, got &value.valueUnstructured{Value:5.5}'),
  },
  {
    name: 'a list for a text',
    config: { spec: { holderIdentity: ['x', 1] } },
    want: unfit(
      '.spec.holderIdentity: expected string, got &value.valueUnstructured{Value:[]interface {}{"x", 1}}',
    ),
  },
  {
    name: 'an object for a text',
    config: { spec: { holderIdentity: { b: null, a: [1.5, '<'] } } },
    want: unfit(
      '.spec.holderIdentity: expected string, got &value.valueUnstructured{Value:map[string]interface {}{"a":[]interface {}{1.5, "<"}, "b":interface {}(nil)}}',
    ),
  },
  {
    name: 'a text for a number',
    config: { spec: { leaseDurationSeconds: 'x' } },
    want: unfit('.spec.leaseDurationSeconds: expected numeric (int or float), got string'),
  },
  {
    name: 'a list for a number',
    config: { spec: { leaseDurationSeconds: [1] } },
    want: unfit('.spec.leaseDurationSeconds: expected numeric (int or float), got []interface {}'),
  },
  {
    name: 'an object for a number',
    config: { spec: { leaseDurationSeconds: { a: 1 } } },
    want: unfit('.spec.leaseDurationSeconds: expected numeric (int or float), got map[string]interface {}'),
  },
  {
    name: 'an object for a time',
    config: { spec: { renewTime: { a: 1 } } },
    want: unfit('.spec.renewTime: expected any scalar, got &{map[a:1]}'),
  },
  {
    name: 'a number for a label',
    config: { metadata: { labels: { a: 5 } } },
    want: unfit('.metadata.labels.a: expected string, got &value.valueUnstructured{Value:5}'),
  },
  {
    name: 'a list for the labels',
    config: { metadata: { labels: ['x'] } },
    want: unfit('.metadata.labels: expected map, got &{[x]}'),
  },
  { name: 'a number for a struct', config: { spec: 5 }, want: unfit('.spec: expected map, got &{5}') },
  {
    name: 'a text for a list',
    config: { metadata: { finalizers: 'x' } },
    want: unfit('.metadata.finalizers: expected list, got &{x}'),
  },
  {
    name: 'a finalizer twice',
    config: { metadata: { finalizers: ['e/a', 'e/a'] } },
    want: unfit('.metadata.finalizers: duplicate entries for key [="e/a"]'),
  },
  {
    name: 'a number for a finalizer',
    config: { metadata: { finalizers: [5] } },
    want: unfit('.metadata.finalizers[=5]: expected string, got &value.valueUnstructured{Value:5}'),
  },
  {
    name: 'null for a finalizer',
    config: { metadata: { finalizers: [null] } },
    want: unfit(
      ".metadata.finalizers: element 0: associative list without keys has an element that's an explicit null",
    ),
  },
  {
    name: 'an object for a finalizer',
    config: { metadata: { finalizers: [{}] } },
    want: unfit(
      ".metadata.finalizers: element 0: associative list without keys has an element that's a map type",
    ),
  },
  {
    name: 'a list for a finalizer',
    config: { metadata: { finalizers: [[]] } },
    want: unfit('.metadata.finalizers: element 0: not supported: associative list with lists as elements'),
  },
  {
    name: 'an owner twice',
    config: { metadata: { ownerReferences: [owner, { ...owner, name: 'two' }] } },
    want: unfit('.metadata.ownerReferences: duplicate entries for key [uid="u"]'),
  },
  {
    name: 'a text for an owner',
    config: { metadata: { ownerReferences: ['x'] } },
    want: unfit(
      '.metadata.ownerReferences: element 0: associative list with keys may not have non-map elements',
    ),
  },
  {
    name: 'null for an owner',
    config: { metadata: { ownerReferences: [null] } },
    want: unfit(
      '.metadata.ownerReferences: element 0: associative list with keys may not have a null element',
    ),
  },
  {
    name: 'an unknown field of an owner',
    config: { metadata: { ownerReferences: [{ ...owner, nope: 1 }] } },
    want: unfit('.metadata.ownerReferences[uid="u"].nope: field not declared in schema'),
  },
  {
    name: 'a list for a truth value',
    config: { metadata: { ownerReferences: [{ ...owner, controller: ['x', null, { b: true }] }] } },
    want: unfit(
      '.metadata.ownerReferences[uid="u"].controller: expected boolean, got &{[x <nil> map[b:true]]}',
    ),
  },
  {
    name: 'a fraction for a number',
    config: { spec: { leaseDurationSeconds: 1.5 } },
    want: mistyped('cannot convert float64 to int32'),
  },
  {
    name: 'a number for a time',
    config: { spec: { renewTime: 5 } },
    want: mistyped('json: cannot unmarshal number into Go value of type string'),
  },
  {
    name: 'no time',
    config: { spec: { renewTime: 'x' } },
    want: mistyped('parsing time "x" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "x" as "2006"'),
  },
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
