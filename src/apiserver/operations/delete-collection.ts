import type { OperationsContext } from './context.ts';
import { checkPreconditions, methodNotAllowed, removeStored } from './delete.ts';
import { deleteOptions } from './delete-options.ts';
import { readPage } from './list.ts';
import { listOptions } from './parameters.ts';
import type { ObjectReply, ResourceRequest } from './resource-request.ts';
import { selectionOf } from './selection.ts';

/** Deletes everything that the request selects and answers with it as it was. @throws {ApiError} */
export function removeCollection(context: OperationsContext, request: ResourceRequest): ObjectReply {
  const { definition, version, query, representation } = request;
  if (!definition.isNamespaced) throw methodNotAllowed();
  const lists = listOptions(query);
  const selection = selectionOf(request, lists);
  const options = deleteOptions(request);
  const { items, metadata } = readPage(context.store, definition.storage, lists, selection);
  for (const { key } of items) {
    const live = context.store.get(definition.storage, key);
    if (live === undefined) continue;
    checkPreconditions(live.object, options);
    removeStored(context, definition.storage, live, options);
  }
  const shown = items.map(({ object }) => version.fromHub(object));
  return { kind: 'object', code: 200, body: representation.showList(shown, metadata, definition, version) };
}
