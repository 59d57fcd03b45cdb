import { recordUpdate } from '../ownership/ownership.ts';
import { changeBy, type OperationsContext, settled, versionsOf, withMetadata } from './context.ts';
import { decodeBody } from './object-body.ts';
import { warnOfDuplicateOwners, withoutDuplicateOwners } from './owner-references.ts';
import { createOptions } from './parameters.ts';
import type { ObjectReply, ResourceRequest } from './resource-request.ts';
import { inNamespaceOf, storeNew } from './store-new.ts';

/** Creates the object in the body. @throws {ApiError} */
export function create(context: OperationsContext, request: ResourceRequest): ObjectReply {
  const options = createOptions(request.query);
  const decoded = decodeBody(context, request, options.fieldValidation);
  const wiped = withMetadata(decoded, {
    uid: undefined,
    creationTimestamp: undefined,
    deletionTimestamp: undefined,
    deletionGracePeriodSeconds: undefined,
    selfLink: undefined,
  });
  const { object: given, duplicates } = withoutDuplicateOwners(inNamespaceOf(request, wiped));
  warnOfDuplicateOwners(request, duplicates, false);
  const owned = recordUpdate({
    live: undefined,
    next: settled(request, given),
    change: changeBy(context, request, options.fieldManager),
    versions: versionsOf(context, request.definition),
  });
  const stored = storeNew(context, request, owned, options.isDryRun);
  return {
    kind: 'object',
    code: 201,
    body: request.representation.show(request.version.fromHub(stored), request.version),
  };
}
