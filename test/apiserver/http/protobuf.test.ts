import { describe, expect, test } from 'vitest';
import { accessReviewSchema } from '../../../src/apiserver/access/reviews.ts';
import { fieldNames, objectFromProtobuf, readFields } from '../../../src/apiserver/http/protobuf.ts';
import { deleteOptionsSchema } from '../../../src/apiserver/operations/delete.ts';
import type { StructSchema, TypeSchema } from '../../../src/apiserver/schema/schema.ts';
import { resources } from './make-front.ts';
import { protobufBodies } from './protobuf-bodies.ts';

function schemaOf(apiVersion: string, kind: string): StructSchema {
  for (const definition of resources) {
    for (const { version, schema } of definition.versions) {
      const own = definition.group === '' ? version : `${definition.group}/${version}`;
      if (own === apiVersion && definition.kind === kind) return schema;
    }
  }
  throw new Error(`there is no ${kind} in ${apiVersion}`);
}

function read(hex: string, apiVersion: string, kind: string) {
  return objectFromProtobuf(Buffer.from(hex, 'hex'), schemaOf(apiVersion, kind));
}

/** A field of a message whose value is bytes. */
function message(field: number, value: Buffer): Buffer {
  const length: number[] = [];
  let rest = value.length;
  for (; rest > 127; rest >>>= 7) length.push((rest & 127) | 128);
  return Buffer.concat([Buffer.from([(field << 3) | 2, ...length, rest]), value]);
}

const names = { name: 'pb', namespace: 'default', creationTimestamp: '2026-11-21T14:17:22Z' };

describe('objectFromProtobuf', () => {
  test.each([
    { what: 'labels', field: 11, count: 40_000 },
    { what: 'finalizers', field: 14, count: 150_000 },
  ])(
    'reads $count $what in less than quadratic time',
    ({ what, field, count }) => {
      const elements = Array.from({ length: count }, (_, index) => {
        const text = Buffer.from(`k${index}`);
        return message(field, field === 11 ? message(1, text) : text);
      });
      const type = Buffer.concat([
        message(1, Buffer.from('coordination.k8s.io/v1')),
        message(2, Buffer.from('Lease')),
      ]);
      const body = Buffer.concat([
        Buffer.from('k8s\0'),
        message(1, type),
        message(2, message(1, Buffer.concat(elements))),
      ]);
      const { metadata } = objectFromProtobuf(body, schemaOf('coordination.k8s.io/v1', 'Lease')) as {
        metadata: Record<string, object>;
      };
      expect(Object.keys(metadata[what] ?? {})).toHaveLength(count);
    },
    10_000,
  );

  test('treats __proto__ as a label like any other', () => {
    const entry = Buffer.concat([message(1, Buffer.from('__proto__')), message(2, Buffer.from('x'))]);
    const body = Buffer.concat([Buffer.from('k8s\0'), message(2, message(1, message(11, entry)))]);
    const { metadata } = objectFromProtobuf(body, schemaOf('coordination.k8s.io/v1', 'Lease')) as {
      metadata: { labels: object };
    };
    expect(Object.keys(metadata.labels)).toEqual(['__proto__']);
  });

  test('reads a Lease', () => {
    expect(read(protobufBodies.lease, 'coordination.k8s.io/v1', 'Lease')).toEqual({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: {
        ...names,
        uid: '962874dd-5ab3-4910-a0d4-8aeb3594e7fb',
        resourceVersion: '2251',
        labels: { a: 'b', c: '' },
        annotations: { x: 'ä' },
        ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u-1', controller: true }],
        finalizers: ['example.com/f'],
        managedFields: [
          {
            manager: 'curl',
            operation: 'Update',
            apiVersion: 'coordination.k8s.io/v1',
            time: '2026-11-21T14:17:22Z',
            fieldsType: 'FieldsV1',
            fieldsV1: expect.objectContaining({
              'f:spec': {
                'f:acquireTime': {},
                'f:holderIdentity': {},
                'f:leaseDurationSeconds': {},
                'f:leaseTransitions': {},
                'f:renewTime': {},
              },
            }),
          },
        ],
      },
      // A pointer is kept even if it points to an empty value.
      spec: {
        holderIdentity: '',
        leaseDurationSeconds: 15,
        acquireTime: '2026-11-21T13:33:15.000001Z',
        renewTime: '2026-11-21T13:33:15.123456Z',
        leaseTransitions: 0,
      },
    });
  });

  test('reads a LeaseCandidate', () => {
    const read1 = read(protobufBodies.leaseCandidate, 'coordination.k8s.io/v1beta1', 'LeaseCandidate');
    expect(read1).toMatchObject({ kind: 'LeaseCandidate', metadata: names });
    expect(read1['spec']).toEqual({
      leaseName: 'l',
      renewTime: '2026-11-21T13:33:15.123456Z',
      binaryVersion: '1.0.0',
      emulationVersion: '1.0.0',
      strategy: 'OldestEmulationVersion',
    });
  });

  test('reads an Event, and omits unset fields', () => {
    const { metadata, ...event } = read(protobufBodies.event, 'v1', 'Event');
    expect(metadata).toMatchObject(names);
    expect(event).toEqual({
      apiVersion: 'v1',
      kind: 'Event',
      involvedObject: { kind: 'Pod', namespace: 'default', name: 'p' },
      reason: 'R',
      message: 'm',
      source: { component: 'c' },
      firstTimestamp: '2026-11-21T13:33:15Z',
      count: 2,
      type: 'Normal',
      reportingComponent: '',
      reportingInstance: '',
    });
  });

  test('reads options of a deletion', () => {
    // Written by hand: gracePeriodSeconds 0, preconditions { uid: "u" }, orphanDependents false, dryRun ["All"].
    const body = Buffer.from(
      `6b387300${'0a13'}${'0a027631120d44656c6574654f7074696f6e73'}${'120e'}${'080012030a017518002a03416c6c'}`,
      'hex',
    );
    expect(objectFromProtobuf(body, deleteOptionsSchema)).toEqual({
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      gracePeriodSeconds: 0,
      preconditions: { uid: 'u' },
      orphanDependents: false,
      dryRun: ['All'],
    });
  });

  test.each([
    { hex: '', want: 'empty data' },
    {
      hex: '7b7d',
      want: 'provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]',
    },
    { hex: '6b38730012', want: 'unexpected EOF' },
    { hex: '6b387300120a0a', want: 'unexpected EOF' },
    { hex: '6b3873001203120a0a', want: 'unexpected EOF' },
    { hex: '6b38730007', want: 'proto: illegal wireType 7' },
    { hex: `6b38730008${'ff'.repeat(10)}`, want: 'proto: integer overflow' },
    { hex: '6b3873001204120208000000', want: 'proto: wrong wireType' },
  ])('refuses $hex: $want', ({ hex, want }) => {
    expect(() => read(hex, 'coordination.k8s.io/v1', 'Lease')).toThrow(new RangeError(want));
  });
});

test('reads negative numbers', () => {
  expect([...readFields(Buffer.from('08ffffffffffffffffff01', 'hex'))]).toEqual([{ number: 1, value: -1 }]);
});

test('skips unknown fields', () => {
  expect([...readFields(Buffer.from('0d01000000110200000000000000180322014a', 'hex'))]).toEqual([
    { number: 1, value: Buffer.from('01000000', 'hex') },
    { number: 2, value: Buffer.from('0200000000000000', 'hex') },
    { number: 3, value: 3 },
    { number: 4, value: Buffer.from('J') },
  ]);
});

describe('every field of all types from clients has a number', () => {
  const types = new Map<string, StructSchema>();
  const visit = (type: TypeSchema) => {
    if (type.kind === 'list') visit(type.items);
    if (type.kind === 'map') visit(type.values);
    if (type.kind !== 'struct' || types.has(type.model)) return;
    types.set(type.model, type);
    for (const { type: fieldType } of Object.values(type.fields)) visit(fieldType);
  };
  const sent = resources.flatMap(({ versions }) => versions.map(({ schema }) => schema));
  for (const schema of [...sent, deleteOptionsSchema, accessReviewSchema]) visit(schema);

  test.each([...types.values()].map((schema) => ({ model: schema.model, schema })))(
    '$model',
    ({ schema }) => {
      const outside = ['apiVersion', 'kind', 'status'];
      const named = [...fieldNames(schema).values()];
      const isObject = 'metadata' in schema.fields || schema === deleteOptionsSchema;
      const missing = Object.keys(schema.fields).filter(
        (name) => !named.includes(name) && !(isObject && outside.includes(name)),
      );
      expect(missing).toEqual([]);
    },
  );
});
