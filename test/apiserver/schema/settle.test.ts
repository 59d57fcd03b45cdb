import { expect, test } from 'vitest';
import { createResources } from '../../../src/apiserver/kinds/registry.ts';
import { settle } from '../../../src/apiserver/schema/schema.ts';

const resources = createResources({ leaseCandidateVersions: ['v1beta1'] });

function schemaOf(resource: string) {
  const schema = resources.find((each) => each.resource === resource)?.versions[0]?.schema;
  if (schema === undefined) throw new Error(`no ${resource}`);
  return schema;
}

test('a constructed object has the format of a decoded one', () => {
  const put = {
    spec: { leaseTransitions: 0, holderIdentity: '', strategy: undefined, foo: 1 },
    metadata: { labels: { b: '1', a: '2' }, annotations: {}, name: 'x', finalizers: [] },
    kind: 'Lease',
    status: {},
  };
  expect(JSON.stringify(settle(schemaOf('leases'), put))).toBe(
    '{"kind":"Lease","metadata":{"name":"x","labels":{"a":"2","b":"1"}},"spec":{"holderIdentity":"","leaseTransitions":0}}',
  );
});

test('required fields are filled in', () => {
  expect(settle(schemaOf('leasecandidates'), {})).toStrictEqual({
    metadata: {},
    spec: { leaseName: '', binaryVersion: '' },
  });
});

test('a time of the year 1 stays, although it is written as null', () => {
  expect(
    settle(schemaOf('leases'), { spec: { renewTime: null, holderIdentity: null } })['spec'],
  ).toStrictEqual({
    renewTime: null,
  });
});
