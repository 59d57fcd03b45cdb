import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createResources } from '../../../src/apiserver/kinds/registry.ts';
import { type Decoded, DecodeError, decodeObject } from '../../../src/apiserver/schema/decode.ts';
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
  test('in place of an object, with its value truncated', () => {
    const want = `the object: expected an object, found "${'x'.repeat(99)}...`;
    expect(problemIn(() => decodeObject(leaseSchema, 'x'.repeat(1000)))).toBe(want);
  });
});

describe('a value is kept in the server’s format', () => {
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

  test('an Event contains even its unset fields', () => {
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
  });

  test('decoding is idempotent', () => {
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
