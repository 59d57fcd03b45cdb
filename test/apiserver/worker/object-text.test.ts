import { expect, test } from 'vitest';
import type { ApiObject } from '../../../src/apiserver/schema/api-object.ts';
import { objectText, readObject } from '../../../src/apiserver/worker/object-text.ts';
import { Slices } from '../../../src/support/event-loop.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

test('an object is the same after its way from the thread, fields in their order, and no part of it is large twice', async () => {
  const many = (prefix: string) =>
    Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`${prefix}${index}`, '']));
  const object: ApiObject = JSON.parse(
    JSON.stringify({
      kind: 'Lease',
      apiVersion: 'coordination.k8s.io/v1',
      metadata: { name: 'a', labels: many('l'), annotations: many('a'), managedFields: [{ manager: 'm' }] },
      spec: { holderIdentity: 'h' },
    }).replace('"l0"', '"__proto__"'),
  );
  class CountingClock extends VirtualClock {
    turns = 0;
    override setTimer(callback: () => void, delayMs: number): () => void {
      this.turns += 1;
      return super.setTimer(callback, delayMs);
    }
  }
  const clock = new CountingClock();
  const reading = readObject(objectText(object), new Slices(clock));
  await clock.advance(1);
  expect(JSON.stringify(await reading)).toBe(JSON.stringify(object));
  expect(clock.turns).toBe(2);
});
