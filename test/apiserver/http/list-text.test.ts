import { describe, expect, test } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { listAnswer, listPieces } from '../../../src/apiserver/http/endpoints.ts';
import type { ListReply } from '../../../src/apiserver/operations/request.ts';
import { Slices } from '../../../src/support/event-loop.ts';
import { systemClock } from '../../../src/support/system-clock.ts';
import { makeObject } from '../storage/make-object.ts';

const head = { kind: 'LeaseList', apiVersion: 'coordination.k8s.io/v1', metadata: { resourceVersion: '7' } };

function makeList(count: number, padding = ''): ListReply & { shown: number } {
  const objects = Array.from({ length: count }, (_, index) => ({
    key: `n/${index}`,
    revision: index,
    characters: 100,
    object: makeObject(`object-${index}`, { namespace: 'n', value: ['a\nb', padding, { empty: {} }] }),
  }));
  const list = {
    kind: 'list' as const,
    form: { head, field: 'items' as const },
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
  return { ...form.head, items: objects.map(({ object }) => object) };
}

describe('a list that is written in pieces', () => {
  test.each([
    { name: 'nothing', list: makeList(0) },
    { name: 'one object', list: makeList(1) },
    { name: 'some objects', list: makeList(30) },
    { name: 'many objects', list: makeList(3000) },
    { name: 'large objects', list: makeList(5, 'x'.repeat(400_000)) },
  ])('is the same as at once: $name', ({ list }) => {
    expect([...listPieces(list, false)].join('')).toBe(`${JSON.stringify(whole(list))}\n`);
    expect([...listPieces(list, true)].join('')).toBe(JSON.stringify(whole(list), undefined, 2));
  });

  test('has at most a thousand objects in a piece, and few large ones', () => {
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

  test('is at most two pieces ahead of its reader', async () => {
    const list = makeList(10_000);
    const answer = listAnswer(list, { mediaType: 'application/json', isPretty: false }, slices);
    if (answer.kind !== 'chunks') throw new Error('it is short');
    expect(list.shown).toBe(2000);
    const reader = answer.chunks[Symbol.asyncIterator]();
    await reader.next();
    expect(list.shown).toBe(2000);
  });

  test('can be YAML, too', async () => {
    const list = makeList(1200);
    const answer = listAnswer(list, { mediaType: 'application/yaml', isPretty: false }, slices);
    if (answer.kind !== 'chunks') throw new Error('it is short');
    let text = '';
    for await (const chunk of answer.chunks) text += chunk;
    expect(parseYaml(text)).toEqual(JSON.parse(JSON.stringify(whole(list))));
  });
});

const slices = new Slices(systemClock);
