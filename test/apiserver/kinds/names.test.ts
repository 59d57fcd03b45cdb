import { describe, expect, test } from 'vitest';
import {
  configMapKeyName,
  dnsLabelName,
  dnsSubdomainName,
  labelKeyProblems,
  labelValueProblems,
  pathSegmentName,
} from '../../../src/apiserver/kinds/names.ts';

const LABEL =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const CONFIG_MAP_KEY =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
const KEY =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

const rules = { dnsLabelName, dnsSubdomainName, configMapKeyName, pathSegmentName };

describe.each([
  { rule: 'dnsLabelName', name: 'a', want: [] },
  { rule: 'dnsLabelName', name: '0-9', want: [] },
  { rule: 'dnsLabelName', name: 'x'.repeat(63), want: [] },
  { rule: 'dnsLabelName', name: 'x'.repeat(64), want: ['must be no more than 63 characters'] },
  { rule: 'dnsLabelName', name: 'a.b', want: ['must not contain dots'] },
  { rule: 'dnsLabelName', name: '-a', want: [LABEL] },
  { rule: 'dnsLabelName', name: 'a\n', want: [LABEL] },
  { rule: 'dnsLabelName', name: `${'é'.repeat(32)}`, want: ['must be no more than 63 characters', LABEL] },
  { rule: 'dnsSubdomainName', name: 'a.b-c.0', want: [] },
  { rule: 'dnsSubdomainName', name: 'x'.repeat(253), want: [] },
  { rule: 'dnsSubdomainName', name: 'x'.repeat(254), want: ['must be no more than 253 characters'] },
  { rule: 'dnsSubdomainName', name: 'A_b', want: [SUBDOMAIN] },
  { rule: 'dnsSubdomainName', name: 'a..b', want: [SUBDOMAIN] },
  { rule: 'dnsSubdomainName', name: 'a-', want: [SUBDOMAIN] },
  { rule: 'configMapKeyName', name: 'A_b.-', want: [] },
  { rule: 'configMapKeyName', name: 'a b', want: [CONFIG_MAP_KEY] },
  { rule: 'configMapKeyName', name: '.', want: ["must not be '.'"] },
  { rule: 'configMapKeyName', name: '..', want: ["must not be '..'"] },
  { rule: 'configMapKeyName', name: '..a', want: ["must not start with '..'"] },
  { rule: 'configMapKeyName', name: 'x'.repeat(254), want: ['must be no more than 253 characters'] },
  { rule: 'pathSegmentName', name: 'A b', want: [] },
  { rule: 'pathSegmentName', name: '..', want: ["may not be '..'"] },
  { rule: 'pathSegmentName', name: 'a/b%c', want: ["may not contain '/'", "may not contain '%'"] },
] as const)('$rule', ({ rule, name, want }) => {
  test(`finds ${want.length} problems in ${JSON.stringify(name)}`, () => {
    expect(rules[rule](name)).toEqual(want);
  });
});

describe('a prefix', () => {
  test.each([
    ['may end in a dash', dnsSubdomainName, 'ab-', []],
    ['may end in a dash where a name may have no dots', dnsLabelName, 'ab-', []],
    ['may not be a dash alone', dnsSubdomainName, '-', [SUBDOMAIN]],
    ['is looked at without its last two characters', dnsSubdomainName, 'a_-', []],
    ['may be two dots, as something follows', pathSegmentName, '..', []],
    ['may not have a slash', pathSegmentName, 'a/', ["may not contain '/'"]],
    ['of a LeaseCandidate is a name as it is', configMapKeyName, 'a-', []],
  ])('%s', (_, rule, prefix, want) => {
    expect(rule(prefix, true)).toEqual(want);
  });
});

describe('the key of a label', () => {
  test.each([
    ['app', []],
    ['example.com/App_1.x', []],
    [`${'p'.repeat(253)}/${'n'.repeat(63)}`, []],
    ['', ['name part must be non-empty', `name part ${KEY}`]],
    ['/x', ['prefix part must be non-empty']],
    ['x/', ['name part must be non-empty', `name part ${KEY}`]],
    ['Example.com/x', [`prefix part ${SUBDOMAIN}`]],
    ['a b', [`name part ${KEY}`]],
    ['k'.repeat(64), ['name part must be no more than 63 bytes']],
    [`${'p'.repeat(254)}/x`, ['prefix part must be no more than 253 bytes']],
    [
      'a/b/c',
      [`a valid label key ${KEY} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`],
    ],
  ])('%j', (key, want) => {
    expect(labelKeyProblems(key)).toEqual(want);
  });
});

describe('the value of a label', () => {
  test.each([
    ['', []],
    ['A_b.1', []],
    ['-', [VALUE]],
    ['a b', [VALUE]],
    ['v'.repeat(64), ['must be no more than 63 bytes']],
  ])('%j', (value, want) => {
    expect(labelValueProblems(value)).toEqual(want);
  });
});
