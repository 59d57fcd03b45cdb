import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fieldSelector, parseFieldRequirements } from '../../../src/apiserver/selectors/field-selector.ts';
import { refusal } from './refusal.ts';

function parseFieldSelector(text: string, supported: readonly string[]) {
  return fieldSelector(parseFieldRequirements(text), supported);
}

const leaseFields = ['metadata.name', 'metadata.namespace'];
const namespaceFields = ['metadata.name', 'status.phase'];
const fields = { 'metadata.name': 'a', 'metadata.namespace': 'n' };

test.each([
  { selector: '', want: true },
  { selector: ',', want: true },
  { selector: '=', want: true },
  { selector: 'metadata.name=a', want: true },
  { selector: 'metadata.name==a', want: true },
  { selector: 'metadata.name=b', want: false },
  { selector: 'metadata.name!=a', want: false },
  { selector: 'metadata.name!=b', want: true },
  { selector: 'metadata.name=', want: false },
  { selector: 'metadata.name!=', want: true },
  { selector: 'metadata.name= a', want: false },
  { selector: 'metadata.name=a,,metadata.namespace=n', want: true },
  { selector: 'metadata.name=a,metadata.namespace=m', want: false },
  { selector: 'metadata.name=a,metadata.name=b', want: false },
])('"$selector" selects: $want', ({ selector, want }) => {
  expect(parseFieldSelector(selector, leaseFields).matches(fields)).toBe(want);
});

test.each([
  { selector: 'reason=a\\,b', value: 'a,b' },
  { selector: 'reason=a\\=b', value: 'a=b' },
  { selector: 'reason=a\\\\', value: 'a\\' },
  { selector: 'reason=a\\\\,', value: 'a\\' },
  { selector: 'reason=!é b', value: '!é b' },
])('"$selector" means the value "$value"', ({ selector, value }) => {
  const { matches } = parseFieldSelector(selector, ['reason']);
  expect(parseFieldRequirements(selector)).toEqual([{ field: 'reason', operator: '=', value }]);
  expect(matches({ reason: value })).toBe(true);
});

test('a missing field is empty', () => {
  const { matches } = parseFieldSelector('status.phase=', namespaceFields);
  expect(matches({ 'metadata.name': 'a' })).toBe(true);
  expect(parseFieldSelector('constructor!=', ['constructor']).matches({})).toBe(false);
});

test('returns the required value of a field', () => {
  const { exact } = parseFieldSelector('metadata.name!=b,metadata.name==a', leaseFields);
  expect(exact('metadata.name')).toBe('a');
  expect(exact('metadata.namespace')).toBeUndefined();
  expect(parseFieldSelector('metadata.name!=b', leaseFields).exact('metadata.name')).toBeUndefined();
});

test.each([
  'spec.foo=1',
  'spec.foo!=1',
  'foo=',
  '=a',
  '=,a=b',
  'b=1,a=1',
  ' metadata.name=a',
  'metadata.name =a',
  'metadata.name!a=b',
  'a\\,b=c',
  'foo',
  'metadata.name=a,foo',
  'metadata.name in (a)',
  'metadata.name=a=b',
  'metadata.name===a',
  'zz=1,metadata.name=a=b',
  'metadata.name=a\\x',
  'metadata.name=é\\é',
  'metadata.name=a\\',
])('"%s" is refused', (selector) => {
  expect(refusal(() => parseFieldSelector(selector, leaseFields))).toContain('select');
});

test('the syntax is checked before the fields', () => {
  expect(parseFieldRequirements('spec.foo!=1')).toEqual([{ field: 'spec.foo', operator: '!=', value: '1' }]);
  expect(refusal(() => parseFieldRequirements('spec.foo'))).toContain('cannot parse "spec.foo"');
});

const requirement = fc.record({
  field: fc.constantFrom('metadata.name', 'metadata.namespace'),
  operator: fc.constantFrom('=', '==', '!='),
  value: fc.string({ unit: fc.constantFrom('a', 'é', '\\', ',', '=', '!', ' ') }),
});

test('an escaped requirement means its value, for every value', () => {
  fc.assert(
    fc.property(fc.array(requirement, { maxLength: 4 }), (wanted) => {
      const text = wanted.map(
        ({ field, operator, value }) => `${field}${operator}${value.replaceAll(/[\\,=]/g, '\\$&')}`,
      );
      const requirements = parseFieldRequirements(text.join(','));
      const expected = wanted.map(({ field, operator, value }) => ({
        field,
        operator: operator === '!=' ? '!=' : '=',
        value,
      }));
      expect(requirements).toHaveLength(expected.length);
      expect(requirements).toEqual(expect.arrayContaining(expected));
    }),
    { seed: 4355, numRuns: 500 },
  );
});
