import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseLabelSelector } from '../../../src/apiserver/selectors/label-selector.ts';
import { refusal } from './refusal.ts';

/** In addition to the selectors of the conformance suite. */
const labels = { app: 'web', tier: '', count: '7', 'example.com/zone': 'a', in: 'notin' };

test.each([
  { selector: '', want: true },
  { selector: ' ', want: true },
  { selector: ' app\t= web\n', want: true },
  { selector: 'app in(web)', want: true },
  { selector: 'other in (web)', want: false },
  { selector: 'tier', want: true },
  { selector: 'tier=,app', want: true },
  { selector: 'tier==', want: true },
  { selector: 'app=', want: false },
  { selector: 'app!=', want: true },
  { selector: 'app in ()', want: false },
  { selector: 'tier in (,)', want: true },
  { selector: 'tier in (a,)', want: true },
  { selector: 'tier in (a,,b)', want: true },
  { selector: 'count > 7', want: false },
  { selector: 'count<7', want: false },
  { selector: 'app>6', want: false },
  { selector: 'other<6', want: false },
  { selector: 'other>0', want: false },
  { selector: 'in in (in,notin)', want: true },
  { selector: 'in=notin', want: true },
  { selector: 'notin', want: false },
  { selector: 'app=web,tier=,count>1', want: true },
  { selector: 'app=web,tier=x,count>1', want: false },
  { selector: 'app,!app', want: false },
  { selector: 'constructor', want: false },
  { selector: '!constructor', want: true },
])('"$selector" selects: $want', ({ selector, want }) => {
  expect(parseLabelSelector(selector)(labels)).toBe(want);
});

const long = 'x'.repeat(64);
const longPrefix = 'x'.repeat(254);

test.each([
  '=',
  ',a',
  '(a)',
  'a,',
  'a,,b',
  'a=b=c',
  'a=b c',
  '!a=b',
  'a=b)',
  'a in (b)c',
  'a b',
  'a!',
  'a(',
  'a!>5',
  '!',
  '!!a',
  'a=!b',
  'a===b',
  'a!==b',
  'a><5',
  'a in',
  'a notin b',
  'a in (',
  'a in (=)',
  'a in (b',
  'a in (b c)',
  'a in (b=)',
  'a in (b,',
  'a in (b,=',
  'a&b',
  '-a=b',
  '!é',
  '/a',
  'a/=b',
  'a/b/c=d',
  'A.b/c=d',
  `${long}=b`,
  `${longPrefix}/b`,
  `a=${long}`,
  'a=-b',
  'a in (c,b@)',
  'a in (c@,b@,c@)',
  'a>x',
  'a>',
  'a<5.5',
  'a>9223372036854775808',
  'a>-5',
  'a>"5"',
])('"%s" is refused', (selector) => {
  expect(refusal(() => parseLabelSelector(selector))).toContain('label selector');
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

test('a printed selector selects the same objects, with any spaces', () => {
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
