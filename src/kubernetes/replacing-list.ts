import type { KubernetesClient } from './client.ts';
import { type ListRequest, listAllPages, type ObjectList } from './list-pages.ts';
import type { KubernetesObject } from './objects.ts';
import type { Decoder, ObjectStore, Replacement } from './store.ts';

/** What to list for a store. */
export interface ReplacingListRequest<T> extends Omit<ListRequest, 'begin'> {
  readonly store: ObjectStore<T>;
  readonly decode: Decoder<T>;
  readonly isUsable: (item: unknown) => item is KubernetesObject;
  /** Called as each page arrives. */
  readonly onPage: () => void;
}

/** A complete list that the store does not show yet. */
export interface ReplacingList<T> extends ObjectList, Pick<Replacement<T>, 'complete'> {
  /** How many there are, unusable ones included. */
  readonly objects: number;
}

/** Lists all objects for a store, decoding each page as it arrives. Rejects as the client does. */
export async function listForStore<T>(
  client: KubernetesClient,
  { store, decode, isUsable, onPage, ...request }: ReplacingListRequest<T>,
): Promise<ReplacingList<T>> {
  let replacement = store.beginReplacement(decode);
  let objects = 0;
  const list = await listAllPages(client, {
    ...request,
    begin() {
      replacement = store.beginReplacement(decode);
      objects = 0;
      return (items) => {
        onPage();
        objects += items.length;
        replacement.add(items.filter(isUsable));
      };
    },
  });
  return { ...list, objects, complete: () => replacement.complete() };
}
