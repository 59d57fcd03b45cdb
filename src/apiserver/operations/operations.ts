import type { Steps } from '../../support/event-loop.ts';
import { finalizedNamespaces } from '../kinds/namespaces.ts';
import { remove, removeCollection } from './delete.ts';
import { patch } from './patch.ts';
import { get, list, watch } from './read.ts';
import type { OperationsContext, Reply, ResourceRequest, Verb } from './request.ts';
import { create, update } from './write.ts';

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
 * Answers a request for a resource. An operation on one object is a single step: no other write can happen
 * between its read and its write.
 * @throws {ApiError} the error response
 */
export function* answer(context: OperationsContext, request: ResourceRequest): Steps<Reply> {
  const done = operations[request.verb](context, request);
  return 'kind' in done ? done : yield* done;
}
