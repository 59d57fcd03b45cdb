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

const operations: Readonly<Record<Verb, (context: OperationsContext, request: ResourceRequest) => Reply>> = {
  get,
  list,
  watch,
  create,
  update,
  patch,
  delete: remove,
  deletecollection: removeCollection,
};

/**
 * Answers a request for a resource. All of it happens in one turn of the event loop: nothing else is written between
 * reading the state that a write is decided on and the write.
 * @throws {ApiError} the refusal to answer with
 */
export function answer(context: OperationsContext, request: ResourceRequest): Reply {
  return operations[request.verb](context, request);
}
