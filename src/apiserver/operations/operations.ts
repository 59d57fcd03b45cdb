import type { Steps } from '../../support/event-loop.ts';
import { finalizedNamespaces } from '../kinds/namespaces.ts';
import type { OperationsContext } from './context.ts';
import { create } from './create.ts';
import { remove } from './delete.ts';
import { removeCollection } from './delete-collection.ts';
import { get } from './get.ts';
import { list } from './list.ts';
import { patch } from './patch.ts';
import type { Reply, ResourceRequest, Verb } from './resource-request.ts';
import { update } from './update.ts';
import { watch } from './watch.ts';

type Operation = (context: OperationsContext, request: ResourceRequest) => Reply | Steps<Reply>;

const operations: Readonly<Record<Verb, Operation>> = {
  get,
  list,
  watch,
  create,
  update,
  finalize: (context, request) => update(context, { ...request, definition: finalizedNamespaces }),
  patch,
  delete: remove,
  deletecollection: removeCollection,
};

/**
 * Answers a request for a resource. What is about one object is a single step: nothing else is written between reading the
 * state that a write is decided on and the write.
 * @throws {ApiError} the refusal to answer with
 */
export function* answer(context: OperationsContext, request: ResourceRequest): Steps<Reply> {
  const done = operations[request.verb](context, request);
  return 'kind' in done ? done : yield* done;
}
