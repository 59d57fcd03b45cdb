import { describe, expect, test } from 'vitest';
import {
  configMapKeyName,
  dnsLabelName,
  dnsSubdomainName,
  labelKeyProblems,
  labelValueProblems,
  pathSegmentName,
} from '../../../src/apiserver/kinds/validation.ts';

const LABEL = expect.stringContaining("lower case letters, digits and '-'");
const SUBDOMAIN = expect.stringContaining("lower case letters, digits, '-' and '.'");
const CONFIG_MAP_KEY = expect.stringContaining("letters, digits, '-', '_' and '.'");
const KEY = expect.stringContaining("letters, digits, '-', '_' and '.'");
const VALUE = expect.stringContaining('must be empty, or consist of letters');

const rules = { dnsLabelName, dnsSubdomainName, configMapKeyName, pathSegmentName };

describe.each([
  { rule: 'dnsLabelName', name: 'a', want: [] },
  { rule: 'dnsLabelName', name: '0-9', want: [] },
  { rule: 'dnsLabelName', name: 'x'.repeat(63), want: [] },
  { rule: 'dnsLabelName', name: 'x'.repeat(64), want: ['must be no more than 63 bytes'] },
  { rule: 'dnsLabelName', name: 'a.b', want: [LABEL] },
  { rule: 'dnsLabelName', name: '-a', want: [LABEL] },
  { rule: 'dnsLabelName', name: 'a\n', want: [LABEL] },
  { rule: 'dnsLabelName', name: `${'é'.repeat(32)}`, want: ['must be no more than 63 bytes', LABEL] },
  { rule: 'dnsSubdomainName', name: 'a.b-c.0', want: [] },
  { rule: 'dnsSubdomainName', name: 'x'.repeat(253), want: [] },
  { rule: 'dnsSubdomainName', name: 'x'.repeat(254), want: ['must be no more than 253 bytes'] },
  { rule: 'dnsSubdomainName', name: 'A_b', want: [SUBDOMAIN] },
  { rule: 'dnsSubdomainName', name: 'a..b', want: [SUBDOMAIN] },
  { rule: 'dnsSubdomainName', name: 'a-', want: [SUBDOMAIN] },
  { rule: 'configMapKeyName', name: 'A_b.-', want: [] },
  { rule: 'configMapKeyName', name: 'a b', want: [CONFIG_MAP_KEY] },
  { rule: 'configMapKeyName', name: '.', want: ["must not be '.' or start with '..'"] },
  { rule: 'configMapKeyName', name: '..', want: ["must not be '.' or start with '..'"] },
  { rule: 'configMapKeyName', name: '..a', want: ["must not be '.' or start with '..'"] },
  { rule: 'configMapKeyName', name: 'x'.repeat(254), want: ['must be no more than 253 bytes'] },
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
    ['', [KEY]],
    ['/x', [SUBDOMAIN]],
    ['x/', [KEY]],
    ['Example.com/x', [SUBDOMAIN]],
    ['a b', [KEY]],
    ['k'.repeat(64), ['must be no more than 63 bytes']],
    [`${'p'.repeat(254)}/x`, ['before the slash: must be no more than 253 bytes']],
    ['a/b/c', ['may have one slash, after a DNS subdomain']],
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
