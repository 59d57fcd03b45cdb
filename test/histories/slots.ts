import { namespaces, resources } from './objects.ts';
import type { Key } from './records.ts';

/** After this many operations, a new object replaces an object: the time of a check grows faster than its history. */
const OPERATIONS_PER_NAME = 600;
/** How long most clients work on the same object. */
const HOT_MS = 250;
const HOT_SHARE = 0.6;
const PER_COLLECTION = 2;

interface Slot {
  readonly resource: string;
  readonly namespace: string;
  readonly index: number;
  generation: number;
  operations: number;
}

/** The current objects of the clients: a few for each resource and namespace. */
export class Slots {
  readonly #slots: readonly Slot[] = resources.flatMap(({ name: resource }) =>
    namespaces.flatMap((namespace) =>
      Array.from({ length: PER_COLLECTION }, (_, index) => ({
        resource,
        namespace,
        index,
        generation: 0,
        operations: 0,
      })),
    ),
  );

  /** Returns the object for a client's next operation, and whether this operation is its last. */
  pick(random: () => number): { readonly key: Key; readonly isLast: boolean } {
    const hot = Math.floor(performance.now() / HOT_MS);
    const index = random() < HOT_SHARE ? hot : Math.floor(random() * this.#slots.length);
    const slot = this.#slots[index % this.#slots.length];
    if (slot === undefined) throw new Error('there are no slots');
    const key = keyOf(slot);
    slot.operations += 1;
    const isLast = slot.operations >= OPERATIONS_PER_NAME;
    if (isLast) {
      slot.operations = 0;
      slot.generation += 1;
    }
    return { key, isLast };
  }

  /** All current objects. */
  keys(): readonly Key[] {
    return this.#slots.map(keyOf);
  }
}

function keyOf({ resource, namespace, index, generation }: Slot): Key {
  return { resource, namespace, name: `object-${index}-${generation}` };
}
