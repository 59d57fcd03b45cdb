import { describe, expect, test } from 'vitest';
import { stringify as yaml } from 'yaml';
import { yamlForm } from '../../../src/apiserver/http/answer.ts';
import { listAnswer } from '../../../src/apiserver/http/list-answer.ts';
import { listPieces } from '../../../src/apiserver/http/list-text.ts';
import type { ListReply } from '../../../src/apiserver/operations/resource-request.ts';
import { Slices } from '../../../src/support/event-loop.ts';
import { systemClock } from '../../../src/support/system-clock.ts';
import { makeObject } from '../storage/make-object.ts';

const head = { kind: 'LeaseList', apiVersion: 'coordination.k8s.io/v1', metadata: { resourceVersion: '7' } };

function makeList(count: number, padding = '', none: [] | null = []): ListReply & { shown: number } {
  const objects = Array.from({ length: count }, (_, index) => ({
    key: `n/${index}`,
    revision: index,
    characters: 100,
    object: makeObject(`object-${index}`, { namespace: 'n', value: ['a\nb', padding, { empty: {} }] }),
  }));
  const list = {
    kind: 'list' as const,
    form: { head, field: 'items' as const, none },
    objects,
    shown: 0,
    show: ({ object }: (typeof objects)[number]) => {
      list.shown += 1;
      return object;
    },
  };
  return list;
}

function whole({ form, objects }: ListReply): object {
  return { ...form.head, items: objects.length === 0 ? form.none : objects.map(({ object }) => object) };
}

describe('a list that is written piece by piece', () => {
  test.each([
    { name: 'nothing', list: makeList(0) },
    { name: 'nothing, which is null', list: makeList(0, '', null) },
    { name: 'one object', list: makeList(1) },
    { name: 'some objects', list: makeList(30) },
    { name: 'many objects', list: makeList(3000) },
    { name: 'large objects', list: makeList(5, 'x'.repeat(400_000)) },
  ])('says what it would say at once: $name', ({ list }) => {
    expect([...listPieces(list, false)].join('')).toBe(`${JSON.stringify(whole(list))}\n`);
    expect([...listPieces(list, true)].join('')).toBe(JSON.stringify(whole(list), undefined, 2));
  });

  test('has no more than a thousand objects in a piece, and few large ones', () => {
    const counts = (list: ReturnType<typeof makeList>) => {
      const found: number[] = [];
      let before = 0;
      for (const _ of listPieces(list, false)) {
        found.push(list.shown - before);
        before = list.shown;
      }
      return found;
    };
    expect(counts(makeList(2500))).toEqual([1000, 1000, 500]);
    expect(counts(makeList(5, 'x'.repeat(300_000)))).toEqual([2, 2, 1]);
  });

  test('is no more than two pieces ahead of whoever reads it', async () => {
    const list = makeList(10_000);
    const answer = await listAnswer(list, { mediaType: 'application/json', isPretty: false }, writers);
    if (answer.kind !== 'chunks') throw new Error('it is short');
    expect(list.shown).toBe(2000);
    const reader = answer.chunks[Symbol.asyncIterator]();
    await reader.next();
    expect(list.shown).toBe(2000);
  });

  test('is the same YAML as at once', async () => {
    const list = makeList(2500);
    const answer = await listAnswer(list, { mediaType: 'application/yaml', isPretty: false }, writers);
    if (answer.kind !== 'chunks') throw new Error('it is short');
    let text = '';
    for await (const chunk of answer.chunks) text += chunk;
    expect(text).toBe(yaml(whole(list), yamlForm));
  });
  test('is the same YAML as at once where its last field is the list, as in a table', async () => {
    const list = makeList(2500);
    const table = {
      ...list,
      form: { head: { kind: 'Table', columnDefinitions: [] }, field: 'rows', none: [] } as const,
    };
    const answer = await listAnswer(table, { mediaType: 'application/yaml', isPretty: false }, writers);
    if (answer.kind !== 'chunks') throw new Error('it is short');
    let text = '';
    for await (const chunk of answer.chunks) text += chunk;
    const rows = list.objects.map(({ object }) => object);
    expect(text).toBe(yaml({ ...table.form.head, rows }, yamlForm));
  });
});

const writers = {
  slices: new Slices(systemClock),
  largeBodies: {
    question: () => Promise.reject(new Error('nothing is asked')),
    yaml: (json: string) => Promise.resolve(yaml(JSON.parse(json), yamlForm)),
  },
};
