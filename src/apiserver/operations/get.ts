import { notFound } from '../errors/api-error.ts';
import { revisionTooLarge } from '../storage/history.ts';
import { liveObject, type OperationsContext, resourceOf } from './context.ts';
import type { ObjectReply, ResourceRequest } from './resource-request.ts';
import { parseReadVersion } from './resource-version.ts';

/** Reads the object that the request names. @throws {ApiError} 404 when there is none. */
export function get(context: OperationsContext, request: ResourceRequest): ObjectReply {
  const { version, name = '', query } = request;
  const wanted = parseReadVersion(query.get('resourceVersion') ?? '');
  if (wanted > context.store.revision) throw revisionTooLarge(wanted, context.store.revision);
  const found = liveObject(context, request, name);
  if (found === undefined) throw notFound(resourceOf(request), name);
  return {
    kind: 'object',
    code: 200,
    body: request.representation.show(version.fromHub(found.object), version),
  };
}
