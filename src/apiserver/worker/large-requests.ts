import type { Clock } from '../../support/clock.ts';
import type { Slices } from '../../support/event-loop.ts';
import { conflict } from '../errors/api-error.ts';
import { keyOf, type OperationsContext, resourceOf } from '../operations/context.ts';
import { answer } from '../operations/operations.ts';
import { isLargeObject, isLargeRequest } from '../operations/request-size.ts';
import type { Reply, ResourceRequest } from '../operations/resource-request.ts';
import type { ApiObject } from '../schema/api-object.ts';
import { readObject } from './object-text.ts';
import { refusalOf } from './outcome-errors.ts';
import type { KeptObject, Outcome, RequestFacts, WriteOutcome } from './tasks.ts';
import type { TaskWorker } from './worker.ts';

/** How often a write is worked out anew when others have written to the same object meanwhile. A real server: as often. */
const ATTEMPTS = 5;
/** As many as names are drawn with at most. */
const CHANCES = 40;

/** What large requests are carried out by: a large body by the worker, what is about many objects in slices. */
export interface Helpers {
  readonly worker: TaskWorker;
  readonly slices: Slices;
}

/**
 * Answers a request for a resource. A small one is answered in one turn of the event loop. What a large one leads to is
 * worked out by the worker, from the state that it is given; then, in one turn, it is made so if that state is still the
 * same, or else worked out again. No other request waits for it.
 * @throws {ApiError} at once or as a rejection
 */
export function answerAnySize(
  context: OperationsContext,
  { worker, slices }: Helpers,
  request: ResourceRequest,
): Reply | Promise<Reply> {
  const { verb } = request;
  const small = () => slices.run(answer(context, request));
  if (verb === 'get' || verb === 'list' || verb === 'watch') return small();
  if (verb === 'delete' || verb === 'deletecollection') {
    return isLargeRequest(request) ? removeLarge(context, { worker, slices }, request) : small();
  }
  const live = request.name === undefined ? undefined : liveObject(context, request, request.name);
  const isLarge = isLargeRequest(request) || (live !== undefined && isLargeObject(live));
  return isLarge ? writeLarge(context, { worker, slices }, request) : small();
}

async function removeLarge(
  context: OperationsContext,
  { worker, slices }: Helpers,
  request: ResourceRequest,
): Promise<Reply> {
  const outcome = await worker.perform({ kind: 'deletion', request: factsOf(request) });
  if (outcome.kind !== 'text') throw refusal(outcome, request);
  const read = { ...request, body: Buffer.from(outcome.text), contentType: 'application/json' };
  return slices.run(answer(context, read));
}

async function writeLarge(
  context: OperationsContext,
  { worker, slices }: Helpers,
  request: ResourceRequest,
): Promise<Reply> {
  const { store, clock } = context;
  const facts = factsOf(request);
  let name = request.name;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const objects = objectsFor(context, request, name);
    const outcome = await worker.perform({
      kind: 'write',
      request: facts,
      objects,
      revision: store.revision,
      wallTime: clock.wallTime(),
      chances: drawn(clock),
    });
    if (outcome.kind !== 'write') throw refusal(outcome, request);
    // Reading what the worker found, storing it and showing it each take their time: others are let in between.
    const found = await readObject(outcome.object, slices);
    await slices.turn();
    const { change } = outcome;
    const key = change.kind === 'none' ? undefined : change.key;
    if (isAsItWas(context, request, objects, key)) {
      const object = commit(context, request, outcome, found);
      await slices.turn();
      return {
        kind: 'object',
        code: outcome.code,
        body: request.representation.show(object, request.version),
      };
    }
    // Another object of the name that it is to have may have come about, or have been there all along.
    name ??= key === undefined ? undefined : key.slice(key.indexOf('/') + 1);
  }
  const modified =
    'the object has been modified; please apply your changes to the latest version and try again';
  throw conflict(resourceOf(request), request.name ?? '', modified);
}

/** Makes it so, and returns the object as the version of the request has it. */
function commit(
  { store }: OperationsContext,
  request: ResourceRequest,
  { change, warnings }: WriteOutcome,
  found: ApiObject,
): ApiObject {
  const { definition, version } = request;
  for (const warning of warnings) request.warn(warning);
  if (change.kind === 'put') return version.fromHub(store.put(definition.storage, found).object);
  if (change.kind === 'remove') store.remove(definition.storage, change.key);
  return found;
}

/** All that a write may look at: the object that it is about, and its namespace. */
function objectsFor(
  context: OperationsContext,
  request: ResourceRequest,
  name: string | undefined,
): readonly KeptObject[] {
  const { namespace, definition } = request;
  const place = namespace === undefined ? undefined : context.store.get('namespaces', namespace);
  const live = name === undefined ? undefined : liveObject(context, request, name);
  return [
    ...(place === undefined ? [] : [{ storage: 'namespaces', stored: place }]),
    ...(live === undefined ? [] : [{ storage: definition.storage, stored: live }]),
  ];
}

/** Whether all that was looked at, and whatever is to be written, is still in the state that it was then in. */
function isAsItWas(
  { store }: OperationsContext,
  { namespace, name, definition }: ResourceRequest,
  objects: readonly KeptObject[],
  written: string | undefined,
): boolean {
  const looked = (storage: string, key: string) =>
    objects.find((each) => each.storage === storage && each.stored.key === key)?.stored;
  const isSame = (storage: string, key: string) => store.get(storage, key) === looked(storage, key);
  const keys = new Set([name === undefined ? undefined : keyOf(namespace, name), written]);
  return (
    (namespace === undefined || isSame('namespaces', namespace)) &&
    [...keys].every((key) => key === undefined || isSame(definition.storage, key))
  );
}

function liveObject({ store }: OperationsContext, { definition, namespace }: ResourceRequest, name: string) {
  return store.get(definition.storage, keyOf(namespace, name));
}

function factsOf(request: ResourceRequest): RequestFacts {
  const { verb, definition, version, namespace, name, query } = request;
  const { user, mayCreate, userAgent, contentType, body } = request;
  return {
    verb,
    group: definition.group,
    resource: definition.resource,
    version: version.version,
    namespace,
    name,
    query: query.toString(),
    user,
    mayCreate,
    userAgent,
    contentType,
    body,
  };
}

function drawn(clock: Clock): readonly number[] {
  return Array.from({ length: CHANCES }, () => clock.random());
}

/** What to throw for an outcome that is none that was wanted. Its warnings go along with the answer all the same. */
function refusal(outcome: Outcome, request: ResourceRequest): Error {
  if (outcome.kind === 'refused') for (const warning of outcome.warnings) request.warn(warning);
  return refusalOf(outcome);
}
