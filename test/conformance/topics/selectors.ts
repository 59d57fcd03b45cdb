import { expect } from 'vitest';
import { badRequest, expectAnswer } from '../expected.ts';
import type { Suite } from '../suite.ts';
import type { Collection } from '../workspace.ts';

const all = ['a', 'b', 'c', 'd', 'e'];

async function makeFive(leases: Collection): Promise<void> {
  for (const name of all) {
    const odd = String(name.charCodeAt(0) % 2);
    const early = name < 'c' ? { early: '' } : {};
    await leases.make({ metadata: { name, labels: { x: name, odd, 'example.com/y': 'z', ...early } } });
  }
}

const labelSelectors: readonly (readonly [string, string])[] = [
  ['', 'abcde'],
  ['x=a', 'a'],
  ['x==a', 'a'],
  ['x!=a', 'bcde'],
  [' x = a ', 'a'],
  ['x=', ''],
  ['early=', 'ab'],
  ['x in (a,b)', 'ab'],
  ['x in ( a , b )', 'ab'],
  ['x in (a,,b)', 'ab'],
  ['x in ()', ''],
  ['x notin (a,b)', 'cde'],
  ['x notin ()', 'abcde'],
  ['early in (,x)', 'ab'],
  ['early notin (x)', 'abcde'],
  ['early', 'ab'],
  ['!early', 'cde'],
  ['! early', 'cde'],
  ['!other', 'abcde'],
  ['other', ''],
  ['other!=z', 'abcde'],
  ['other notin (z)', 'abcde'],
  ['example.com/y=z', 'abcde'],
  ['x,early', 'ab'],
  ['early,odd=1', 'a'],
  ['odd=1,x!=a,x notin (c)', 'e'],
  ['odd>0', 'ace'],
  ['odd<1', 'bd'],
  ['x>3', ''],
];

const fieldSelectors: readonly (readonly [string, string])[] = [
  ['', 'abcde'],
  ['metadata.name=a', 'a'],
  ['metadata.name==a', 'a'],
  ['metadata.name!=a', 'bcde'],
  ['metadata.name=', ''],
  ['metadata.name=a,', 'a'],
  ['metadata.name=a,metadata.name=b', ''],
  ['metadata.name!=a,metadata.name!=b', 'cde'],
  ['metadata.name=a\\,b', ''],
  ['metadata.namespace=other', ''],
];

export function describeSelectors({ test }: Suite): void {
  test('select by labels', async ({ leases }) => {
    await makeFive(leases);
    for (const [labelSelector, want] of labelSelectors) {
      const answer = await leases.list({ query: { labelSelector } });
      const names =
        answer.code === 200 ? answer.json.items.map(({ metadata }) => metadata.name) : answer.text;
      expect({ labelSelector, names }).toEqual({ labelSelector, names: [...want] });
    }
  });

  test('select by fields', async ({ namespace, leases }) => {
    await makeFive(leases);
    for (const [fieldSelector, want] of [
      ...fieldSelectors,
      [`metadata.namespace=${namespace}`, 'abcde'],
      [`metadata.namespace=${namespace},metadata.name=b`, 'b'],
    ] as const) {
      const answer = await leases.list({ query: { fieldSelector } });
      const names =
        answer.code === 200 ? answer.json.items.map(({ metadata }) => metadata.name) : answer.text;
      expect({ fieldSelector, names }).toEqual({ fieldSelector, names: [...want] });
    }
  });

  test('select by both, and over all namespaces', async ({ namespace, leases, request }) => {
    await makeFive(leases);
    const query = {
      labelSelector: 'odd=1',
      fieldSelector: `metadata.name!=a,metadata.namespace=${namespace}`,
    };
    const { json } = await request('GET', '/apis/coordination.k8s.io/v1/leases', { query });
    expect(json.items.map(({ metadata }) => metadata.name)).toEqual(['c', 'e']);
  });

  const wrongLabelSelectors: readonly string[] = [
    'x===',
    'x in (a',
    'x=a,',
    '=a',
    ',',
    'x y',
    'x!a',
    'x in a',
    'x=a=b',
    'x=a b',
    '-x=a',
    'x=-a',
    'a/b/c=1',
    `x=${'q'.repeat(64)}`,
    'x>a',
  ];
  test('refuse invalid labels', async ({ leases }) => {
    for (const labelSelector of wrongLabelSelectors) {
      expectAnswer(await leases.list({ query: { labelSelector } }), 400, badRequest());
    }
  });

  const wrongFieldSelectors: readonly string[] = [
    'spec.holderIdentity=x',
    'name=a',
    '=a',
    'metadata.name',
    'metadata.name>a',
    'metadata.name in (a)',
    'metadata.name=a\\',
  ];
  test('refuse fields that are not selectable', async ({ leases }) => {
    for (const fieldSelector of wrongFieldSelectors) {
      expectAnswer(await leases.list({ query: { fieldSelector } }), 400, badRequest());
    }
  });

  test('are also refused by watches', async ({ leases }) => {
    expectAnswer(await leases.list({ query: { watch: true, labelSelector: 'x===' } }), 400, badRequest());
    expectAnswer(await leases.list({ query: { watch: true, fieldSelector: 'name=a' } }), 400, badRequest());
  });
}
