import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createResources } from '../../../src/apiserver/kinds/registry.ts';
import { DecodeError, decodeObject } from '../../../src/apiserver/schema/decode.ts';
import type { Decoded } from '../../../src/apiserver/schema/decoded.ts';
import { readJson } from '../../../src/apiserver/schema/read-json.ts';

const resources = createResources({ leaseCandidateVersions: ['v1beta1', 'v1alpha1'] });

function schemaOf(kind: string, group: string, version: string) {
  const definition = resources.find((each) => each.kind === kind && each.group === group);
  const schema = definition?.versions.find((each) => each.version === version)?.schema;
  if (schema === undefined) throw new Error(`no ${kind} in ${group}/${version}`);
  return schema;
}

const leaseSchema = schemaOf('Lease', 'coordination.k8s.io', 'v1');

function decodeLease(json: string): Decoded {
  return decodeObject(leaseSchema, readJson(json));
}

const decodeSpec = (spec: string) => decodeLease(`{"metadata":{"name":"x"},"spec":${spec}}`);

function problemIn(decode: () => unknown): string {
  try {
    decode();
  } catch (error) {
    if (error instanceof DecodeError) return error.message;
    throw error;
  }
  return 'none';
}

describe('a value of the wrong type is refused', () => {
  const leaf = 'json: cannot unmarshal';
  const spec = 'into Go struct field LeaseSpec.spec';
  test.each([
    ['{"leaseDurationSeconds":"x"}', `${leaf} string ${spec}.leaseDurationSeconds of type int32`],
    ['{"leaseDurationSeconds":true}', `${leaf} bool ${spec}.leaseDurationSeconds of type int32`],
    ['{"leaseDurationSeconds":{}}', `${leaf} object ${spec}.leaseDurationSeconds of type int32`],
    ['{"leaseDurationSeconds":[]}', `${leaf} array ${spec}.leaseDurationSeconds of type int32`],
    ['{"leaseDurationSeconds":1.5}', `${leaf} number 1.5 ${spec}.leaseDurationSeconds of type int32`],
    ['{"leaseDurationSeconds":1.0}', `${leaf} number 1.0 ${spec}.leaseDurationSeconds of type int32`],
    ['{"leaseDurationSeconds":1e1}', `${leaf} number 1e1 ${spec}.leaseDurationSeconds of type int32`],
    [
      '{"leaseDurationSeconds":2147483648}',
      `${leaf} number 2147483648 ${spec}.leaseDurationSeconds of type int32`,
    ],
    ['{"leaseTransitions":-2147483649}', `${leaf} number -2147483649 ${spec}.leaseTransitions of type int32`],
    [
      '{"leaseDurationSeconds":123456789012345678901234567890}',
      `${leaf} number 123456789012345678901234567890 ${spec}.leaseDurationSeconds of type int32`,
    ],
    ['{"holderIdentity":5}', `${leaf} number ${spec}.holderIdentity of type string`],
    ['{"strategy":5}', `${leaf} number ${spec}.strategy of type v1.CoordinatedLeaseStrategy`],
    ['{"renewTime":5}', `${leaf} number ${spec}.renewTime of type string`],
    ['{"renewTime":{}}', `${leaf} object ${spec}.renewTime of type string`],
    ['[]', `${leaf} array into Go struct field Lease.spec of type v1.LeaseSpec`],
    ['"x"', `${leaf} string into Go struct field Lease.spec of type v1.LeaseSpec`],
    [
      '{"renewTime":"x"}',
      'parsing time "x" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "x" as "2006"',
    ],
  ])('in the spec: %s', (json, want) => {
    expect(problemIn(() => decodeSpec(json))).toBe(want);
  });

  const meta = 'into Go struct field ObjectMeta.metadata';
  const owner = 'into Go struct field OwnerReference.metadata.ownerReferences';
  const entry = 'into Go struct field ManagedFieldsEntry.metadata.managedFields';
  test.each([
    ['"x"', `${leaf} string into Go struct field Lease.metadata of type v1.ObjectMeta`],
    ['{"uid":5}', `${leaf} number ${meta}.uid of type types.UID`],
    ['{"generation":"5"}', `${leaf} string ${meta}.generation of type int64`],
    [
      '{"generation":9223372036854775808}',
      `${leaf} number 9223372036854775808 ${meta}.generation of type int64`,
    ],
    ['{"labels":[]}', `${leaf} array ${meta}.labels of type map[string]string`],
    ['{"labels":{"a":5}}', `${leaf} number ${meta}.labels of type string`],
    ['{"finalizers":"x"}', `${leaf} string ${meta}.finalizers of type []string`],
    ['{"finalizers":[5]}', `${leaf} number ${meta}.finalizers of type string`],
    ['{"ownerReferences":"x"}', `${leaf} string ${meta}.ownerReferences of type []v1.OwnerReference`],
    ['{"ownerReferences":["x"]}', `${leaf} string ${meta}.ownerReferences of type v1.OwnerReference`],
    ['{"ownerReferences":[{},{"uid":5}]}', `${leaf} number ${owner}.uid of type types.UID`],
    ['{"ownerReferences":[{"controller":"x"}]}', `${leaf} string ${owner}.controller of type bool`],
    ['{"managedFields":"x"}', `${leaf} string ${meta}.managedFields of type []v1.ManagedFieldsEntry`],
    [
      '{"managedFields":[{"operation":5}]}',
      `${leaf} number ${entry}.operation of type v1.ManagedFieldsOperationType`,
    ],
    ['{"managedFields":[{"time":5}]}', `${leaf} number ${entry}.time of type string`],
    [
      '{"managedFields":[{"time":"x"}]}',
      'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"',
    ],
  ])('in the metadata: %s', (json, want) => {
    expect(problemIn(() => decodeLease(`{"metadata":${json}}`))).toBe(want);
  });

  test.each([
    [
      'Namespace',
      '',
      '{"spec":{"finalizers":[5]}}',
      `NamespaceSpec.spec.finalizers of type v1.FinalizerName`,
    ],
    ['Namespace', '', '{"status":{"phase":5}}', `NamespaceStatus.status.phase of type v1.NamespacePhase`],
    [
      'Namespace',
      '',
      '{"status":{"conditions":[{"type":5}]}}',
      'NamespaceCondition.status.conditions.type of type v1.NamespaceConditionType',
    ],
    ['Event', '', '{"source":5}', 'Event.source of type v1.EventSource'],
    ['Event', 'events.k8s.io', '{"regarding":{"uid":5}}', 'ObjectReference.regarding.uid of type types.UID'],
  ])('in a %s of %j: %s', (kind, group, json, want) => {
    const schema = schemaOf(kind, group, 'v1');
    expect(problemIn(() => decodeObject(schema, readJson(json)))).toBe(
      `${leaf} number into Go struct field ${want}`,
    );
  });

  test('in a list of strategies', () => {
    const schema = schemaOf('LeaseCandidate', 'coordination.k8s.io', 'v1alpha1');
    const field = 'into Go struct field LeaseCandidateSpec.spec.preferredStrategies of type';
    const decode = (list: string) => () =>
      decodeObject(schema, readJson(`{"spec":{"preferredStrategies":${list}}}`));
    expect(problemIn(decode('[5]'))).toBe(`${leaf} number ${field} v1.CoordinatedLeaseStrategy`);
    expect(problemIn(decode('5'))).toBe(`${leaf} number ${field} []v1.CoordinatedLeaseStrategy`);
  });

  test('with the first of several, but a time that cannot be read before all others', () => {
    const first = `${leaf} string ${spec}.leaseDurationSeconds of type int32`;
    expect(problemIn(() => decodeSpec('{"leaseDurationSeconds":"x","holderIdentity":5}'))).toBe(first);
    expect(problemIn(() => decodeSpec('{"leaseDurationSeconds":"x","renewTime":"y"}'))).toContain(
      'parsing time "y"',
    );
  });

  test('even where a later value of the same field is right', () => {
    const json = '{"leaseDurationSeconds":"x","leaseDurationSeconds":5}';
    expect(problemIn(() => decodeSpec(json))).toContain('cannot unmarshal string');
  });
});

describe('what is given is kept as the server writes it', () => {
  test.each([
    ['an empty spec', '{}', {}],
    ['no spec', 'null', {}],
    ['null, as if it were not there', '{"holderIdentity":null,"renewTime":null}', {}],
    [
      'zero values of fields that may be absent',
      '{"holderIdentity":"","leaseTransitions":0}',
      { holderIdentity: '', leaseTransitions: 0 },
    ],
    [
      'a time of another zone',
      '{"renewTime":"2024-01-01T00:00:00.123456+02:00"}',
      { renewTime: '2023-12-31T22:00:00.123456Z' },
    ],
    ["Go's zero time", '{"renewTime":"0001-01-01T00:00:00.000000Z"}', { renewTime: null }],
    [
      'the largest and the smallest number',
      '{"leaseDurationSeconds":2147483647,"leaseTransitions":-2147483648}',
      { leaseDurationSeconds: 2147483647, leaseTransitions: -2147483648 },
    ],
    ['a negative zero', '{"leaseTransitions":-0}', { leaseTransitions: 0 }],
    ['half a surrogate pair', '{"holderIdentity":"a\\ud800"}', { holderIdentity: 'a\ufffd' }],
    ['the last of several', '{"holderIdentity":"a","holderIdentity":"b"}', { holderIdentity: 'b' }],
  ])('%s', (_, json, want) => {
    expect(decodeSpec(json).value['spec']).toStrictEqual(want);
  });

  test('fields are in the order of the API, labels sorted', () => {
    const { value } = decodeLease(
      '{"spec":{"leaseTransitions":1,"holderIdentity":"h"},"metadata":{"labels":{"b":"1","a":"2"},"name":"x"},"apiVersion":"v","kind":"k"}',
    );
    expect(JSON.stringify(value)).toBe(
      '{"kind":"k","apiVersion":"v","metadata":{"name":"x","labels":{"a":"2","b":"1"}},"spec":{"holderIdentity":"h","leaseTransitions":1}}',
    );
  });

  test.each([
    [
      'empty lists, maps and texts are left out',
      '{"labels":{},"finalizers":[],"generateName":"","generation":0}',
      {},
    ],
    [
      'null in a map or a list is the zero value',
      '{"labels":{"a":null},"finalizers":[null]}',
      { labels: { a: '' }, finalizers: [''] },
    ],
    [
      'null in a list of structs is one with nothing set',
      '{"ownerReferences":[null]}',
      { ownerReferences: [{ apiVersion: '', kind: '', name: '', uid: '' }] },
    ],
    [
      'fields of an owner that may be absent are',
      '{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"n","uid":"u","controller":false}]}',
      { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'n', uid: 'u', controller: false }] },
    ],
    [
      'times are cut to the second',
      '{"creationTimestamp":"2024-01-01T00:00:00.9Z"}',
      { creationTimestamp: '2024-01-01T00:00:00Z' },
    ],
    ['a creationTimestamp of the year 1 is none', '{"creationTimestamp":"0001-01-01T00:00:00Z"}', {}],
    [
      'what fieldsV1 says is not looked at',
      '{"managedFields":[{"fieldsV1":{"b":{},"a":1.50}}]}',
      { managedFields: [{ fieldsV1: { b: {}, a: 1.5 } }] },
    ],
    [
      'names of all kinds are labels',
      '{"labels":{"__proto__":"x","constructor":"y"}}',
      {
        labels: Object.fromEntries([
          ['__proto__', 'x'],
          ['constructor', 'y'],
        ]),
      },
    ],
  ])('%s', (_, json, want) => {
    expect(decodeLease(`{"metadata":${json}}`).value['metadata']).toStrictEqual(want);
  });

  test('an Event says even what nobody has said', () => {
    const core = decodeObject(schemaOf('Event', '', 'v1'), { series: {}, related: {} });
    expect(core.value).toStrictEqual({
      metadata: {},
      involvedObject: {},
      source: {},
      firstTimestamp: null,
      lastTimestamp: null,
      eventTime: null,
      series: { lastObservedTime: null },
      related: {},
      reportingComponent: '',
      reportingInstance: '',
    });
    const newer = decodeObject(schemaOf('Event', 'events.k8s.io', 'v1'), { series: {} });
    expect(newer.value).toStrictEqual({
      metadata: {},
      eventTime: null,
      series: { count: 0, lastObservedTime: null },
      regarding: {},
      deprecatedSource: {},
      deprecatedFirstTimestamp: null,
      deprecatedLastTimestamp: null,
    });
  });

  test('decoding what was decoded changes nothing', () => {
    const text = fc.option(fc.string(), { nil: undefined });
    const micro = fc.constantFrom(
      '2024-01-01T00:00:00.000001Z',
      '2024-01-01T00:00:00.000001+01:00',
      undefined,
    );
    const lease = fc.record({
      metadata: fc.record({ name: text, labels: fc.dictionary(fc.string(), fc.string()) }),
      spec: fc.record({ holderIdentity: text, renewTime: micro, leaseDurationSeconds: fc.integer() }),
    });
    fc.assert(
      fc.property(lease, (object) => {
        const once = decodeObject(leaseSchema, JSON.parse(JSON.stringify(object))).value;
        expect(decodeObject(leaseSchema, once).value).toStrictEqual(once);
      }),
    );
  });
});

describe('fields that the schema does not have', () => {
  test('are left out and reported by their path, once', () => {
    const { value, unknownFields } = decodeLease(
      '{"Spec":1,"metadata":{"name":"x","clusterName":"c","ownerReferences":[{},{"foo":{"bar":1}}],"managedFields":[{"z":1}]},"spec":{"foo":1,"foo":2,"holderidentity":"x","__proto__":1,"toString":2}}',
    );
    expect(unknownFields).toEqual([
      'Spec',
      'metadata.clusterName',
      'metadata.ownerReferences[1].foo',
      'metadata.managedFields[0].z',
      'spec.foo',
      'spec.holderidentity',
      'spec.__proto__',
      'spec.toString',
    ]);
    expect(value['spec']).toStrictEqual({});
  });

  test('are told together with those given twice, in the order of the text', () => {
    const { strictProblems } = decodeLease(
      '{"metadata":{"name":"x","name":"y","labels":{"a":"b","a":"c"},"ownerReferences":[{"foo":1,"name":"x","name":"y"}],"managedFields":[{"fieldsV1":{"f:x":{},"f:x":{}}}],"x y\\"z":1},"spec":{"foo":1,"holderIdentity":"a","holderIdentity":"b","bar":{"a":1,"a":2}},"spec":{}}',
    );
    expect(strictProblems).toEqual([
      'duplicate field "metadata.name"',
      'duplicate field "metadata.labels.a"',
      'unknown field "metadata.ownerReferences[0].foo"',
      'duplicate field "metadata.ownerReferences[0].name"',
      'unknown field "metadata.x y\\"z"',
      'unknown field "spec.foo"',
      'duplicate field "spec.holderIdentity"',
      'unknown field "spec.bar"',
      'duplicate field "spec"',
    ]);
  });

  test('are counted up to a hundred', () => {
    const many = Object.fromEntries(Array.from({ length: 120 }, (_, index) => [`u${index}`, 1]));
    expect(decodeObject(leaseSchema, many).strictProblems).toHaveLength(100);
  });
});

test('what is no object is refused', () => {
  expect(problemIn(() => decodeLease('[]'))).toBe(
    'json: cannot unmarshal array into Go value of type v1.Lease',
  );
});
