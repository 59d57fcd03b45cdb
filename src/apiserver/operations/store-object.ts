import type { ApiObject } from '../schema/api-object.ts';
import type { StoredObject } from '../storage/stored-objects.ts';
import type { OperationsContext } from './context.ts';
import type { ObjectReply, ResourceRequest } from './resource-request.ts';
import { storeNew, withoutVersion } from './store-new.ts';
import { storeUpdate } from './store-update.ts';

/**
 * Creates the object where there is none (`live`), or else puts it in the place of that, and answers with what came of it.
 * @throws {ApiError}
 */
export function storeObject(
  context: OperationsContext,
  request: ResourceRequest,
  next: ApiObject,
  live: StoredObject | undefined,
  isDryRun: boolean,
): ObjectReply {
  const { version, representation } = request;
  const stored =
    live === undefined
      ? storeNew(context, request, withoutVersion(next, isDryRun), isDryRun)
      : storeUpdate(context, request, next, live, isDryRun);
  return {
    kind: 'object',
    code: live === undefined ? 201 : 200,
    body: representation.show(version.fromHub(stored), version),
  };
}
