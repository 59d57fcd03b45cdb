import { isDeepStrictEqual } from 'node:util';
import type { Steps } from '../../support/event-loop.ts';
import type { JsonObject } from '../../support/json.ts';
import { badRequest, conflict, forbiddenRequest, notFound, timedOut } from '../errors/api-error.ts';
import { type FieldError, invalid, notSupported } from '../errors/field-error.ts';
import { type ApiObject, text } from '../schema/api-object.ts';
import { field, struct, type TypeSchema } from '../schema/schema.ts';
import type { StoredObject } from '../storage/stored-objects.ts';
import { decodedAs, parseBody } from './body.ts';
import {
  booleanParameter,
  dryRunProblems,
  integerParameter,
  invalidOptions,
  listOptions,
} from './parameters.ts';
import { listReply, readPage, selectionOf } from './read.ts';
import {
  type ListReply,
  liveObject,
  type ObjectReply,
  type OperationsContext,
  type ResourceRequest,
  resourceOf,
  storedKindOf,
  timestamp,
  withMetadata,
} from './request.ts';

/** Deletes an object, or marks it as being deleted if it has finalizers. @throws {ApiError} */
export function remove(context: OperationsContext, request: ResourceRequest): ObjectReply {
  const { definition, version, name = '', representation } = request;
  const options = deleteOptions(request);
  const live = liveObject(context, request, name);
  if (live === undefined) throw notFound(resourceOf(request), name);
  checkPreconditions(live.object, options);
  const show = (object: ApiObject) => representation.show(version.fromHub(object), version);
  if (definition.storage === 'namespaces') {
    return { kind: 'object', code: 200, body: show(deleteNamespace(context, request, live, options)) };
  }
  const marked = removeStored(context, definition.storage, live, options);
  if (marked === undefined) return { kind: 'object', code: 200, body: deleted(request, live.object) };
  // kube-apiserver answers 202 if the deprecated option is set.
  return { kind: 'object', code: options.orphanDependents === false ? 202 : 200, body: show(marked) };
}

/** Deletes an object. An object with finalizers is marked as being deleted and returned. */
export function removeStored(
  context: Pick<OperationsContext, 'store' | 'clock'>,
  storage: string,
  live: StoredObject,
  { isDryRun, propagation }: Pick<DeleteOptions, 'isDryRun' | 'propagation'>,
): ApiObject | undefined {
  const finalizers = finalizersFor(live.object, propagation);
  if (finalizers.length === 0) {
    if (!isDryRun) context.store.remove(storage, live.key);
    return undefined;
  }
  const { metadata } = live.object;
  const marked = withMetadata(live.object, {
    finalizers,
    deletionTimestamp: metadata.deletionTimestamp ?? timestamp(context.clock),
    deletionGracePeriodSeconds: 0,
    ...(metadata.deletionTimestamp === undefined &&
      metadata.generation !== undefined && { generation: metadata.generation + 1 }),
  });
  if (isDeepStrictEqual(marked, live.object)) return live.object;
  return isDryRun ? marked : context.store.put(storage, marked).object;
}

/** @throws {ApiError} 409 if uid or resourceVersion differ from the preconditions. */
function checkPreconditions(object: ApiObject, { preconditions }: DeleteOptions): void {
  const { metadata } = object;
  const { uid, resourceVersion } = preconditions;
  if (uid !== undefined && uid !== metadata.uid) {
    const problem = `the uid is ${metadata.uid}, and the precondition is ${uid}`;
    throw conflict(storedKindOf(object), metadata.name, problem);
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    const problem = `the resourceVersion is ${metadata.resourceVersion}, and the precondition is ${resourceVersion}`;
    throw conflict(storedKindOf(object), metadata.name, problem);
  }
}

function deleted({ definition }: ResourceRequest, { metadata }: ApiObject): JsonObject {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: {
      name: metadata.name,
      ...(definition.group !== '' && { group: definition.group }),
      kind: definition.resource,
      uid: metadata.uid,
    },
  };
}

/** Maximum number of deletions before a pause, so that watchers can keep up. */
const MAX_IN_A_ROW = 50;
/** Timeout, as in kube-apiserver. Objects that were deleted before the timeout stay deleted. */
const MAX_MS = 34_000;

/** Deletes the selected objects and returns them. @throws {ApiError} */
export function* removeCollection(context: OperationsContext, request: ResourceRequest): Steps<ListReply> {
  const { store, clock } = context;
  const { definition, query } = request;
  const until = clock.now() + MAX_MS;
  const lists = listOptions(query);
  const selection = selectionOf(request, lists);
  const options = deleteOptions(request);
  const page = yield* readPage(store, definition, lists, selection);
  for (const [index, { key }] of page.items.entries()) {
    yield index % MAX_IN_A_ROW === MAX_IN_A_ROW - 1 ? 'rest' : undefined;
    if (clock.now() > until) throw timedOut();
    const live = store.get(definition.storage, key);
    if (live === undefined) continue;
    checkPreconditions(live.object, options);
    removeStored(context, definition.storage, live, options);
  }
  return listReply(request, page);
}

/** Namespaces that clients cannot delete. */
const IMMORTAL: readonly string[] = ['default', 'kube-system', 'kube-public'];

/** Marks a namespace as being deleted. The server removes the namespace when it is empty. @throws {ApiError} 403 */
function deleteNamespace(
  context: OperationsContext,
  request: ResourceRequest,
  live: StoredObject,
  { isDryRun, propagation }: DeleteOptions,
): ApiObject {
  const { name, deletionTimestamp, generation } = live.object.metadata;
  if (IMMORTAL.includes(name)) {
    throw forbiddenRequest(resourceOf(request), name, 'this namespace may not be deleted');
  }
  if (deletionTimestamp !== undefined) return live.object;
  const finalizers = finalizersFor(live.object, propagation);
  const status = live.object['status'] as object | undefined;
  const marked: ApiObject = {
    ...withMetadata(live.object, {
      deletionTimestamp: timestamp(context.clock),
      ...(propagation !== undefined && { finalizers: finalizers.length > 0 ? finalizers : undefined }),
      ...(generation !== undefined && { generation: generation + 1 }),
    }),
    status: { ...status, phase: 'Terminating' },
  };
  return isDryRun ? marked : context.store.put('namespaces', marked).object;
}

interface DeleteOptions {
  readonly isDryRun: boolean;
  /** Undefined: the default of the resource. */
  readonly propagation: 'Background' | 'Foreground' | 'Orphan' | undefined;
  /** The deprecated form of `propagation`. */
  readonly orphanDependents: boolean | undefined;
  readonly preconditions: { readonly uid?: string; readonly resourceVersion?: string };
}

/** The finalizers that the garbage collector handles. */
export const ORPHAN = 'orphan';
export const FOREGROUND = 'foregroundDeletion';

const POLICIES = ['Foreground', 'Background', 'Orphan'] as const;

const META = 'io.k8s.apimachinery.pkg.apis.meta.v1';
const optional = (type: TypeSchema) => field(type, 'keep', '');
const preconditions = struct(`${META}.Preconditions`, '', {
  uid: optional(text),
  resourceVersion: optional(text),
});

export const deleteOptionsSchema = struct(`${META}.DeleteOptions`, '', {
  apiVersion: optional(text),
  kind: optional(text),
  gracePeriodSeconds: optional({ kind: 'int64' }),
  preconditions: optional(preconditions),
  orphanDependents: optional({ kind: 'boolean' }),
  propagationPolicy: optional(text),
  dryRun: optional({ kind: 'list', items: text, listType: 'atomic' }),
  ignoreStoreReadErrorWithClusterBreakingPotential: optional({ kind: 'boolean' }),
});

/** Reads the options from the body, or from the query if there is no body. @throws {ApiError} 400 or 422. */
function deleteOptions({ query, body, contentType }: ResourceRequest): DeleteOptions {
  const given = body.length > 0 ? fromBody(body, contentType) : fromQuery(query);
  const problems: FieldError[] = [];
  const { orphanDependents, propagationPolicy: policy, dryRun } = given;
  if (orphanDependents !== undefined && policy !== undefined) {
    problems.push(
      invalid('propagationPolicy', policy, 'orphanDependents and deletionPropagation cannot be both set'),
    );
  }
  const propagation = POLICIES.find((each) => each === policy);
  if (policy !== undefined && propagation === undefined) {
    problems.push(notSupported('propagationPolicy', policy, POLICIES));
  }
  problems.push(...dryRunProblems(dryRun));
  if (problems.length > 0) throw invalidOptions('DeleteOptions', problems);
  return {
    isDryRun: dryRun.length > 0,
    propagation: orphanDependents === undefined ? propagation : orphanDependents ? 'Orphan' : 'Background',
    orphanDependents,
    preconditions: given.preconditions,
  };
}

/** Returns the finalizers of an object that is deleted with this propagation policy. */
function finalizersFor({ metadata }: ApiObject, propagation: DeleteOptions['propagation']): string[] {
  const given = metadata.finalizers ?? [];
  if (propagation === undefined) return [...given];
  const others = given.filter((each) => each !== ORPHAN && each !== FOREGROUND);
  if (propagation === 'Orphan') return [...others, ORPHAN];
  return propagation === 'Foreground' ? [...others, FOREGROUND] : others;
}

interface Given {
  readonly orphanDependents: boolean | undefined;
  readonly propagationPolicy: string | undefined;
  readonly dryRun: readonly string[];
  readonly preconditions: DeleteOptions['preconditions'];
}

function fromQuery(query: URLSearchParams): Given {
  integerParameter(query, 'gracePeriodSeconds');
  return {
    orphanDependents: booleanParameter(query, 'orphanDependents'),
    propagationPolicy: query.get('propagationPolicy') ?? undefined,
    dryRun: query.getAll('dryRun'),
    preconditions: {},
  };
}

function fromBody(body: Buffer, contentType: string): Given {
  const { object } = parseBody(body, contentType);
  const { kind = 'DeleteOptions', apiVersion = '' } = object;
  const isOther = kind !== 'DeleteOptions' || String(apiVersion).split('/').length > 2;
  if (isOther) throw badRequest(`expected DeleteOptions, found ${String(kind)} of ${String(apiVersion)}`);
  const { value } = decodedAs(deleteOptionsSchema, object, badRequest);
  return {
    orphanDependents: value['orphanDependents'] as boolean | undefined,
    propagationPolicy: value['propagationPolicy'] as string | undefined,
    dryRun: (value['dryRun'] ?? []) as readonly string[],
    preconditions: (value['preconditions'] ?? {}) as DeleteOptions['preconditions'],
  };
}
