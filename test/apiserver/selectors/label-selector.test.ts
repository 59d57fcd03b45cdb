import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseLabelSelector as parseInSteps } from '../../../src/apiserver/selectors/label-selector.ts';
import { atOnce } from '../../../src/support/event-loop.ts';
import { refusal } from './refusal.ts';

function parseLabelSelector(text: string) {
  return atOnce(parseInSteps(text));
}

const labels = { app: 'web', tier: '', count: '7', 'example.com/zone': 'a', in: 'notin' };

test.each([
  { selector: '', want: true },
  { selector: ' ', want: true },
  { selector: 'app=web', want: true },
  { selector: 'app==web', want: true },
  { selector: ' app\t= web\n', want: true },
  { selector: 'app=db', want: false },
  { selector: 'other=web', want: false },
  { selector: 'app!=web', want: false },
  { selector: 'app!=db', want: true },
  { selector: 'other!=web', want: true },
  { selector: 'app in (web,db)', want: true },
  { selector: 'app in(web)', want: true },
  { selector: 'app in (db,cache)', want: false },
  { selector: 'other in (web)', want: false },
  { selector: 'app notin (web,db)', want: false },
  { selector: 'app notin (db)', want: true },
  { selector: 'other notin (db)', want: true },
  { selector: 'app', want: true },
  { selector: 'tier', want: true },
  { selector: 'other', want: false },
  { selector: '!app', want: false },
  { selector: '! other', want: true },
  { selector: 'tier=', want: true },
  { selector: 'tier=,app', want: true },
  { selector: 'tier==', want: true },
  { selector: 'app=', want: false },
  { selector: 'app!=', want: true },
  { selector: 'tier in ()', want: true },
  { selector: 'app in ()', want: false },
  { selector: 'tier in (,)', want: true },
  { selector: 'tier in (,b)', want: true },
  { selector: 'tier in (a,)', want: true },
  { selector: 'tier in (a,,b)', want: true },
  { selector: 'count>6', want: true },
  { selector: 'count > 7', want: false },
  { selector: 'count<8', want: true },
  { selector: 'count<7', want: false },
  { selector: 'app>6', want: false },
  { selector: 'other<6', want: false },
  { selector: 'other>0', want: false },
  { selector: 'example.com/zone=a', want: true },
  { selector: 'in in (in,notin)', want: true },
  { selector: 'in=notin', want: true },
  { selector: 'notin', want: false },
  { selector: 'app=web,tier=,count>1', want: true },
  { selector: 'app=web,tier=x,count>1', want: false },
  { selector: 'app,!app', want: false },
  { selector: 'constructor', want: false },
  { selector: '!constructor', want: true },
  { selector: 'app=\0web\0', want: true },
  { selector: 'app=web \0,other', want: true },
])('"$selector" selects: $want', ({ selector, want }) => {
  expect(parseLabelSelector(selector)(labels)).toBe(want);
});

const operators = 'in, notin, =, ==, !=, gt, lt';
const nameRule =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const valueRule =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const numberRule = "for 'Gt', 'Lt' operators, the value must be an integer";
const long = 'x'.repeat(64);
const longPrefix = 'x'.repeat(254);

// Each as kube-apiserver 1.36.3 words it.
test.each([
  { selector: '=', want: `found '=', expected: !, identifier, or 'end of string'` },
  { selector: ',a', want: `found ',', expected: !, identifier, or 'end of string'` },
  { selector: '(a)', want: `found '(', expected: !, identifier, or 'end of string'` },
  { selector: 'a,', want: `found '', expected: identifier after ','` },
  { selector: 'a,,b', want: `found ',', expected: identifier after ','` },
  { selector: 'a=b=c', want: `found '=', expected: ',' or 'end of string'` },
  { selector: 'a=b c', want: `found 'c', expected: ',' or 'end of string'` },
  { selector: '!a=b', want: `found '=', expected: ',' or 'end of string'` },
  { selector: 'a=b)', want: `found ')', expected: ',' or 'end of string'` },
  { selector: 'a in (b)c', want: `found 'c', expected: ',' or 'end of string'` },
  { selector: 'a b', want: `unable to parse requirement: found 'b', expected: ${operators}` },
  { selector: 'a!', want: `unable to parse requirement: found '!', expected: ${operators}` },
  { selector: 'a(', want: `unable to parse requirement: found '(', expected: ${operators}` },
  { selector: 'a!>5', want: `unable to parse requirement: found '!', expected: ${operators}` },
  { selector: 'a\0b=1', want: `unable to parse requirement: found 'b', expected: ${operators}` },
  { selector: '!', want: `unable to parse requirement: found '', expected: identifier` },
  { selector: '!!a', want: `unable to parse requirement: found '!', expected: identifier` },
  { selector: 'a=!b', want: `unable to parse requirement: found '!', expected: identifier` },
  { selector: 'a===b', want: `unable to parse requirement: found '=', expected: identifier` },
  { selector: 'a!==b', want: `unable to parse requirement: found '=', expected: identifier` },
  { selector: 'a><5', want: `unable to parse requirement: found '<', expected: identifier` },
  { selector: 'a in', want: `unable to parse requirement: found '' expected: '('` },
  { selector: 'a notin b', want: `unable to parse requirement: found 'b' expected: '('` },
  { selector: 'a in (', want: `unable to parse requirement: found '', expected: ',', ')' or identifier` },
  { selector: 'a in (=)', want: `unable to parse requirement: found '=', expected: ',', ')' or identifier` },
  { selector: 'a in (b', want: `unable to parse requirement: found '', expected: ',' or ')'` },
  { selector: 'a in (b c)', want: `unable to parse requirement: found 'c', expected: ',' or ')'` },
  { selector: 'a in (b=)', want: `unable to parse requirement: found '=', expected: ',' or ')'` },
  { selector: 'a in (b,', want: `unable to parse requirement: found '', expected: ',', or identifier` },
  { selector: 'a in (b,=', want: `unable to parse requirement: found '=', expected: ',', or identifier` },
  { selector: 'a&b', want: `unable to parse requirement: <nil>: Invalid value: "a&b": ${nameRule}` },
  { selector: '-a=b', want: `unable to parse requirement: <nil>: Invalid value: "-a": ${nameRule}` },
  { selector: '!é', want: `unable to parse requirement: <nil>: Invalid value: "é": ${nameRule}` },
  {
    selector: '/a',
    want: `unable to parse requirement: <nil>: Invalid value: "/a": prefix part must be non-empty`,
  },
  {
    selector: 'a/=b',
    want: `unable to parse requirement: <nil>: Invalid value: "a/": name part must be non-empty; ${nameRule}`,
  },
  {
    selector: 'a/b/c=d',
    want: `unable to parse requirement: <nil>: Invalid value: "a/b/c": ${nameRule.replace('name part', 'a valid label key')} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
  },
  {
    selector: 'A.b/c=d',
    want: `unable to parse requirement: <nil>: Invalid value: "A.b/c": prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
  },
  {
    selector: `${long}=b`,
    want: `unable to parse requirement: <nil>: Invalid value: "${long}": name part must be no more than 63 bytes`,
  },
  {
    selector: `${longPrefix}/b`,
    want: `unable to parse requirement: <nil>: Invalid value: "${longPrefix}/b": prefix part must be no more than 253 bytes`,
  },
  {
    selector: `a=${long}`,
    want: `unable to parse requirement: values[0][a]: Invalid value: "${long}": must be no more than 63 bytes`,
  },
  {
    selector: 'a=-b',
    want: `unable to parse requirement: values[0][a]: Invalid value: "-b": ${valueRule}`,
  },
  {
    selector: 'a in (c,b@)',
    want: `unable to parse requirement: values[0][a]: Invalid value: "b@": ${valueRule}`,
  },
  {
    selector: 'a in (c@,b@,c@)',
    want: `unable to parse requirement: [values[0][a]: Invalid value: "b@": ${valueRule}, values[1][a]: Invalid value: "c@": ${valueRule}]`,
  },
  { selector: 'a>x', want: `unable to parse requirement: values[0]: Invalid value: "x": ${numberRule}` },
  { selector: 'a>', want: `unable to parse requirement: values[0]: Invalid value: "": ${numberRule}` },
  { selector: 'a<5.5', want: `unable to parse requirement: values[0]: Invalid value: "5.5": ${numberRule}` },
  {
    selector: 'a>9223372036854775808',
    want: `unable to parse requirement: values[0]: Invalid value: "9223372036854775808": ${numberRule}`,
  },
  {
    selector: 'a>-5',
    want: `unable to parse requirement: values[0][a]: Invalid value: "-5": ${valueRule}`,
  },
  {
    selector: 'a>"5"',
    want: `unable to parse requirement: [values[0]: Invalid value: "\\"5\\"": ${numberRule}, values[0][a]: Invalid value: "\\"5\\"": ${valueRule}]`,
  },
])('"$selector" is refused', ({ selector, want }) => {
  expect(refusal(() => parseLabelSelector(selector))).toBe(want);
});

test('the largest integers are compared exactly', () => {
  const isAbove = parseLabelSelector('count>9223372036854775806');
  expect(isAbove({ count: '9223372036854775807' })).toBe(true);
  expect(isAbove({ count: '9223372036854775806' })).toBe(false);
  expect(isAbove({ count: '9223372036854775808' })).toBe(false);
});

const key = fc.constantFrom('a', 'b', 'in', 'x.y/z');
const value = fc.constantFrom('', '1', '22', 'v', 'notin');
const values = fc.uniqueArray(value, { minLength: 1, maxLength: 3 });
const requirement = fc.oneof(
  fc.record({ operator: fc.constantFrom('=', '==', '!='), key, values: fc.tuple(value) }),
  fc.record({ operator: fc.constantFrom('in', 'notin'), key, values }),
  fc.record({ operator: fc.constantFrom('exists', '!'), key, values: fc.constant([]) }),
);

test('a selector that is written down selects what its requirements select, however it is spaced', () => {
  fc.assert(
    fc.property(
      fc.array(requirement, { maxLength: 4 }),
      fc.dictionary(key, value),
      fc.constantFrom('', ' ', '\t '),
      (requirements, given, space) => {
        const text = requirements.map(({ operator, key, values }) => {
          if (operator === 'exists') return `${space}${key}${space}`;
          if (operator === '!') return `${space}!${space}${key}`;
          const isSet = operator === 'in' || operator === 'notin';
          const operand = isSet
            ? `(${values.map((each) => `${space}${each}${space}`).join(',')})`
            : values[0];
          return isSet
            ? `${key} ${operator}${space}${operand}`
            : `${key}${space}${operator}${space}${operand}`;
        });
        const want = requirements.every(({ operator, key, values }) => {
          const found = given[key];
          if (operator === 'exists') return found !== undefined;
          if (operator === '!') return found === undefined;
          const isAmong = found !== undefined && (values as readonly string[]).includes(found);
          return operator === '!=' || operator === 'notin' ? !isAmong : isAmong;
        });
        expect(parseLabelSelector(text.join(','))(given)).toBe(want);
      },
    ),
    { seed: 4355, numRuns: 500 },
  );
});

test.each([
  { what: 'labels that none may have', selector: (index: number) => `!k${index}` },
  { what: 'values that one label may not have', selector: (index: number) => `a!=v${index}` },
])(
  'a selector with a hundred thousand $what is not gone through for each object',
  ({ selector }) => {
    const selects = parseLabelSelector(Array.from({ length: 100_000 }, (_, index) => selector(index)).join());
    // One by one, they would be a billion comparisons.
    for (let object = 0; object < 10_000; object += 1) expect(selects({ a: 'x', b: 'y' })).toBe(true);
    expect(selects({ a: 'v99999', k7: '' })).toBe(false);
  },
  10_000,
);

test('several requirements of one label all have to be met', () => {
  const selected = (selector: string) =>
    ['1', '5', '9', 'x'].filter((a) => parseLabelSelector(selector)({ a })).join('');
  expect(selected('a>1,a<9')).toBe('5');
  expect(selected('a>1,a>5')).toBe('9');
  expect(selected('a in (1,5),a in (5,9)')).toBe('5');
  expect(selected('a=1,a=5')).toBe('');
  expect(selected('a!=1,a notin (5,x)')).toBe('9');
  expect(selected('a,!a')).toBe('');
});
