import { describe, expect, test } from 'vitest';
import { negotiate, noForms, resourceForms } from '../../../src/apiserver/http/negotiation.ts';

const table = 'as=Table;g=meta.k8s.io;v=v1';

describe('negotiate', () => {
  test.each([
    { accept: '', want: 'application/json' },
    { accept: '*/*', want: 'application/json' },
    { accept: 'application/*', want: 'application/json' },
    { accept: 'text/html,*/*;q=0.8', want: 'application/json' },
    { accept: 'application/yaml', want: 'application/yaml' },
    { accept: 'application/json;q=0.1,application/yaml', want: 'application/yaml' },
    { accept: 'application/json;q=0', want: 'application/json' },
    { accept: 'application/json;unknown=1', want: 'application/json' },
    { accept: 'application/vnd.kubernetes.protobuf', want: 'application/json' },
    { accept: 'application/vnd.kubernetes.protobuf,application/yaml', want: 'application/json' },
    { accept: 'application/json;stream=watch', want: 'application/json' },
    { accept: 'application/vnd.kubernetes.protobuf;stream=watch', want: 'application/json' },
    { accept: 'application/yaml;stream=watch', want: undefined },
    { accept: 'application/json;stream=other', want: undefined },
    { accept: 'application/json;sv=v1', want: 'application/json' },
    { accept: 'text/html', want: undefined },
    { accept: 'application/cbor', want: undefined },
    { accept: 'garbage', want: undefined },
  ])('answers "$accept" with $want', ({ accept, want }) => {
    expect(negotiate(accept, resourceForms)?.mediaType).toBe(want);
  });

  test.each([
    { accept: `application/json;${table}`, want: 'Table v1' },
    { accept: `application/yaml;${table}`, want: 'Table v1' },
    { accept: `*/*;${table}`, want: 'Table v1' },
    {
      accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
      want: 'PartialObjectMetadata v1',
    },
    { accept: `application/json;as=Other;g=meta.k8s.io;v=v1,application/json;${table}`, want: 'Table v1' },
    { accept: `application/json;as=Table;g=meta.k8s.io;v=v9,application/json`, want: 'as it is' },
    { accept: `application/vnd.kubernetes.protobuf;${table},application/json`, want: 'as it is' },
    { accept: 'application/json;as=Table;g=meta.k8s.io', want: 'not at all' },
    { accept: 'application/json;as=Table', want: 'not at all' },
    { accept: 'application/json;as=Table;v=v1;g=other', want: 'not at all' },
  ])('returns the object for "$accept" as $want', ({ accept, want }) => {
    const negotiated = negotiate(accept, resourceForms);
    const { kind, version } = negotiated?.transform ?? {};
    const shown = kind === undefined ? 'as it is' : `${kind} ${version}`;
    expect(negotiated ? shown : 'not at all').toBe(want);
  });

  test('supports no other forms if there are none', () => {
    expect(negotiate(`application/json;${table}`, noForms)).toBeUndefined();
    expect(negotiate(`application/json;${table},application/yaml`, noForms)?.mediaType).toBe(
      'application/yaml',
    );
  });
});
