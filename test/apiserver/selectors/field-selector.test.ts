import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fieldSelector, parseFieldRequirements } from '../../../src/apiserver/selectors/field-selector.ts';
import { atOnce } from '../../../src/support/event-loop.ts';
import { refusal } from './refusal.ts';

function parseFieldSelector(text: string, supported: readonly string[]) {
  return fieldSelector(atOnce(parseFieldRequirements(text)), supported);
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
  const { requirements, matches } = parseFieldSelector(selector, ['reason']);
  expect(requirements).toEqual([{ field: 'reason', operator: '=', value }]);
  expect(matches({ reason: value })).toBe(true);
});

test('a field that the object does not have is empty', () => {
  const { matches } = parseFieldSelector('status.phase=', namespaceFields);
  expect(matches({ 'metadata.name': 'a' })).toBe(true);
  expect(parseFieldSelector('constructor!=', ['constructor']).matches({})).toBe(false);
});

test('the value that a field must have can be asked for', () => {
  const { exact } = parseFieldSelector('metadata.name!=b,metadata.name=c,metadata.name==a', leaseFields);
  expect(exact('metadata.name')).toBe('a');
  expect(exact('metadata.namespace')).toBeUndefined();
  expect(parseFieldSelector('metadata.name!=b', leaseFields).exact('metadata.name')).toBeUndefined();
});

const unknown = (field: string) =>
  `${JSON.stringify(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`;

// Each as kube-apiserver 1.36.3 words it.
test.each([
  { selector: 'spec.foo=1', want: unknown('spec.foo') },
  { selector: 'spec.foo!=1', want: unknown('spec.foo') },
  { selector: 'foo=', want: unknown('foo') },
  { selector: '=a', want: unknown('') },
  { selector: '=,a=b', want: unknown('a') },
  { selector: 'b=1,a=1', want: unknown('a') },
  { selector: ' metadata.name=a', want: unknown(' metadata.name') },
  { selector: 'metadata.name =a', want: unknown('metadata.name ') },
  { selector: 'metadata.name!a=b', want: unknown('metadata.name!a') },
  { selector: 'a\\,b=c', want: unknown('a\\,b') },
  { selector: 'foo', want: `invalid selector: 'foo'; can't understand 'foo'` },
  {
    selector: 'metadata.name=a,foo',
    want: `invalid selector: 'metadata.name=a,foo'; can't understand 'foo'`,
  },
  {
    selector: 'metadata.name in (a)',
    want: `invalid selector: 'metadata.name in (a)'; can't understand 'metadata.name in (a)'`,
  },
  { selector: 'metadata.name=a=b', want: 'invalid field selector: unescaped character in value: 61' },
  { selector: 'metadata.name===a', want: 'invalid field selector: unescaped character in value: 61' },
  { selector: 'zz=1,metadata.name=a=b', want: 'invalid field selector: unescaped character in value: 61' },
  { selector: 'metadata.name=a\\x', want: 'invalid field selector: invalid escape sequence: \\x' },
  { selector: 'metadata.name=é\\é', want: 'invalid field selector: invalid escape sequence: \\é' },
  { selector: 'metadata.name=a\\', want: 'invalid field selector: invalid escape sequence: \\' },
])('"$selector" is refused', ({ selector, want }) => {
  expect(refusal(() => parseFieldSelector(selector, leaseFields))).toBe(want);
});

test('a kind with a list of fields of its own refuses in other words', () => {
  expect(refusal(() => parseFieldSelector('metadata.namespace=a', namespaceFields))).toBe(
    'field label not supported: metadata.namespace',
  );
});

test('what is written can be checked before the fields are', () => {
  expect(atOnce(parseFieldRequirements('spec.foo!=1'))).toEqual([
    { field: 'spec.foo', operator: '!=', value: '1' },
  ]);
  expect(refusal(() => atOnce(parseFieldRequirements('spec.foo')))).toBe(
    `invalid selector: 'spec.foo'; can't understand 'spec.foo'`,
  );
});

const requirement = fc.record({
  field: fc.constantFrom('metadata.name', 'metadata.namespace'),
  operator: fc.constantFrom('=', '==', '!='),
  value: fc.string({ unit: fc.constantFrom('a', 'é', '\\', ',', '=', '!', ' ') }),
});

test('whatever the value, an escaped requirement means it', () => {
  fc.assert(
    fc.property(fc.array(requirement, { maxLength: 4 }), (wanted) => {
      const text = wanted.map(
        ({ field, operator, value }) => `${field}${operator}${value.replaceAll(/[\\,=]/g, '\\$&')}`,
      );
      const { requirements } = parseFieldSelector(text.join(','), leaseFields);
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

test('a selector with fifty thousand requirements is not gone through for each object', () => {
  const text = Array.from({ length: 50_000 }, (_, index) => `metadata.name!=n${index}`).join();
  const { matches } = parseFieldSelector(text, ['metadata.name', 'metadata.namespace']);
  // One by one, they would be half a billion comparisons.
  for (let object = 0; object < 10_000; object += 1) expect(matches({ 'metadata.name': 'x' })).toBe(true);
  expect(matches({ 'metadata.name': 'n49999' })).toBe(false);
}, 10_000);
