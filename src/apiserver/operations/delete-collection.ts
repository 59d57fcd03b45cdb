import type { Steps } from '../../support/event-loop.ts';
import { timedOut } from '../errors/api-error.ts';
import type { OperationsContext } from './context.ts';
import { checkPreconditions, methodNotAllowed, removeStored } from './delete.ts';
import { deleteOptions } from './delete-options.ts';
import { listReply, readPage } from './list.ts';
import { listOptions } from './parameters.ts';
import type { ListReply, ResourceRequest } from './resource-request.ts';
import { selectionOf } from './selection.ts';

/** So few in a row that watchers can follow: their history is bounded. */
const MOST_IN_A_ROW = 50;
/** How long a real server lets it take. What has been deleted by then remains deleted. */
const MOST_MS = 34_000;

/** Deletes everything that the request selects, one object after the other, and answers with it as it was. @throws {ApiError} */
export function* removeCollection(context: OperationsContext, request: ResourceRequest): Steps<ListReply> {
  const { store, clock } = context;
  const { definition, query } = request;
  if (!definition.isNamespaced) throw methodNotAllowed();
  const until = clock.now() + MOST_MS;
  const lists = yield* listOptions(query);
  const selection = selectionOf(request, lists);
  const options = deleteOptions(request);
  const page = yield* readPage(store, definition, lists, selection);
  for (const [index, { key }] of page.items.entries()) {
    yield index % MOST_IN_A_ROW === MOST_IN_A_ROW - 1 ? 'rest' : undefined;
    if (clock.now() > until) throw timedOut();
    const live = store.get(definition.storage, key);
    if (live === undefined) continue;
    checkPreconditions(live.object, options);
    removeStored(context, definition.storage, live, options);
  }
  return listReply(request, page);
}
