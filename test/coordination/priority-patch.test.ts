import { describe, expect, test } from 'vitest';
import { decodePriority } from '../../src/coordination/candidate-priority.ts';
import {
  priorityPatch,
  priorityRemoval,
  priorityRestoration,
} from '../../src/coordination/priority-patch.ts';
import type { KubernetesObject } from '../../src/kubernetes/objects.ts';
import { isJsonObject, type JsonObject } from '../../src/support/json.ts';
import { WALL_START } from '../support/election-builders.ts';

const GROUP = 'coordinated-leader-election.dev';
const DRAIN = { by: 'drain', priority: -1000, until: WALL_START } as const;
const TRANSFER = { by: 'transfer', priority: 7, until: WALL_START + 1n } as const;

function make(annotations?: JsonObject): KubernetesObject {
  return { metadata: { name: 'a', uid: 'u', ...(annotations && { annotations }) } };
}

/** The object after the server has applied the patch. */
function applied(object: KubernetesObject, patch: JsonObject | undefined): KubernetesObject {
  const written = isJsonObject(patch?.['metadata']) ? patch['metadata']['annotations'] : undefined;
  const before = object.metadata['annotations'];
  const all = { ...(isJsonObject(before) && before), ...(isJsonObject(written) && written) };
  return make(Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null)));
}

const annotationsOf = ({ metadata }: KubernetesObject) => metadata['annotations'];

describe('what drain and transfer write (rule 16)', () => {
  test('is the priority and its end, with the uid of the object', () => {
    const patch = priorityPatch(make(), DRAIN);
    expect(patch).toEqual({
      metadata: {
        uid: 'u',
        annotations: {
          [`${GROUP}/priority`]: '-1000',
          [`${GROUP}/priority-until`]: '2026-01-01T00:00:00.000000Z',
          [`${GROUP}/priority-set-by`]: expect.stringContaining('"by":"drain"'),
        },
      },
    });
    expect(decodePriority(applied(make(), patch))).toMatchObject({
      value: -1000,
      end: { at: WALL_START, afterwards: 0 },
    });
  });

  test.each<{ name: string; before: JsonObject; changes: readonly (typeof DRAIN | typeof TRANSFER)[] }>([
    { name: 'nothing', before: {}, changes: [DRAIN] },
    { name: 'other annotations', before: { note: 'hello' }, changes: [TRANSFER] },
    { name: 'a priority set by hand', before: { [`${GROUP}/priority`]: '5' }, changes: [DRAIN] },
    {
      name: 'one with an end',
      before: { [`${GROUP}/priority`]: '5', [`${GROUP}/priority-until`]: 'x' },
      changes: [DRAIN],
    },
    {
      name: 'the values before several commands',
      before: { [`${GROUP}/priority`]: '5' },
      changes: [DRAIN, TRANSFER, DRAIN],
    },
  ])('is restored to $name', ({ before, changes }) => {
    let object = make(before);
    for (const change of changes) object = applied(object, priorityPatch(object, change));
    expect(annotationsOf(applied(object, priorityRemoval(object)))).toEqual(before);
  });

  test.each([
    { name: 'a drain', before: applied(make(), priorityPatch(make(), DRAIN)) },
    { name: 'nothing', before: make({ note: 'hello' }) },
  ])('of a transfer after $name can be undone alone', ({ before }) => {
    const object = applied(before, priorityPatch(before, TRANSFER));
    expect(annotationsOf(applied(object, priorityRestoration(object, before, TRANSFER)))).toEqual(
      annotationsOf(before),
    );
    const byHand = applied(object, { metadata: { annotations: { [`${GROUP}/priority`]: '9' } } });
    expect(annotationsOf(applied(byHand, priorityRestoration(byHand, before, TRANSFER)))).toMatchObject({
      [`${GROUP}/priority`]: '9',
    });
  });

  test('stays if another client has overwritten it, without the record', () => {
    const drained = applied(make(), priorityPatch(make(), DRAIN));
    const annotations = { ...(annotationsOf(drained) as JsonObject), [`${GROUP}/priority`]: '9' };
    expect(annotationsOf(applied(make(annotations), priorityRemoval(make(annotations))))).toEqual({
      [`${GROUP}/priority`]: '9',
      [`${GROUP}/priority-until`]: '2026-01-01T00:00:00.000000Z',
    });
  });

  test.each([
    { name: 'none', annotations: undefined },
    { name: 'a priority set by hand', annotations: { [`${GROUP}/priority`]: '5' } },
  ])('has nothing to restore for a candidate with $name', ({ annotations }) => {
    expect(priorityRemoval(make(annotations))).toBeUndefined();
  });

  test.each(['', 'no JSON', '7', '{}', '{"before":7}'])('can be removed where the mark is %j', (mark) => {
    const object = make({ [`${GROUP}/priority`]: '5', [`${GROUP}/priority-set-by`]: mark });
    expect(annotationsOf(applied(object, priorityRemoval(object)))).toEqual({ [`${GROUP}/priority`]: '5' });
  });
});
