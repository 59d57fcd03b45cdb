import { describe, expect, test } from 'vitest';
import {
  isPrettyWanted,
  negotiate,
  noForms,
  resourceForms,
} from '../../../src/apiserver/http/negotiation.ts';

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
  ])('shows "$accept" its object $want', ({ accept, want }) => {
    const negotiated = negotiate(accept, resourceForms);
    const { kind, version } = negotiated?.transform ?? {};
    const shown = kind === undefined ? 'as it is' : `${kind} ${version}`;
    expect(negotiated ? shown : 'not at all').toBe(want);
  });

  test('knows no other forms where there are none', () => {
    expect(negotiate(`application/json;${table}`, noForms)).toBeUndefined();
    expect(negotiate(`application/json;${table},application/yaml`, noForms)?.mediaType).toBe(
      'application/yaml',
    );
  });

  test('lays an answer out for people where the media type says so', () => {
    expect(negotiate('application/json;pretty=1', noForms)?.isPretty).toBe(true);
    expect(negotiate('application/json;pretty=0', noForms)?.isPretty).toBe(false);
  });
});

test.each([
  { query: '', userAgent: 'kubectl/v1.36.3', want: false },
  { query: '', userAgent: 'curl/8.0', want: true },
  { query: '', userAgent: 'Wget/1.2', want: true },
  { query: '', userAgent: 'Mozilla/5.0 (X11)', want: true },
  { query: 'pretty=true', userAgent: '', want: true },
  { query: 'pretty=1', userAgent: '', want: true },
  { query: 'pretty=yes', userAgent: 'curl/8.0', want: false },
  { query: 'pretty=0', userAgent: 'curl/8.0', want: false },
  { query: 'pretty=', userAgent: 'curl/8.0', want: true },
])('"$query" of "$userAgent" is answered for people: $want', ({ query, userAgent, want }) => {
  expect(isPrettyWanted(new URLSearchParams(query), userAgent)).toBe(want);
});
