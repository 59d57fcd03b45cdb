import { posix } from 'node:path';
import type { Steps } from '../../support/event-loop.ts';
import { type JsonObject, parseJsonObject } from '../../support/json.ts';
import { ApiError, badRequest, notFound } from '../errors/api-error.ts';
import { apiVersionOf, type ResourceDefinition, type VersionDefinition } from '../kinds/definition.ts';
import type { ApiObject } from '../schema/api-object.ts';
import { decodeObject } from '../schema/decode.ts';
import { fieldSelector } from '../selectors/field-selector.ts';
import { revisionTooLarge } from '../storage/history.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import type { StoredObject } from '../storage/stored-objects.ts';
import { createEventEncoder } from '../watch/event-encoder.ts';
import { startWatch, type WatchStart } from '../watch/served-watch.ts';
import { asObject } from './body.ts';
import { type ListOptions, listOptions } from './parameters.ts';
import {
  type ListReply,
  liveObject,
  type ObjectReply,
  type OperationsContext,
  parseListVersion,
  parseReadVersion,
  type Representation,
  type ResourceRequest,
  resourceOf,
  type StreamReply,
} from './request.ts';

/** Reads an object. @throws {ApiError} 404 */
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

/** A list, or a part of it. */
interface Page {
  readonly items: readonly StoredObject[];
  readonly metadata: JsonObject;
}

const TOO_OLD = 'The resourceVersion for the provided list is too old.';
const CONTINUE_TOO_OLD =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.';

/** Lists the selected objects. @throws {ApiError} */
export function* list(context: OperationsContext, request: ResourceRequest): Steps<ListReply> {
  const options = listOptions(request.query);
  const selection = selectionOf(request, options);
  const page = yield* readPage(context.store, request.definition, options, selection);
  return listReply(request, page);
}

/** Returns a page in the representation of the request. @throws {ApiError} 400 */
export function listReply(request: ResourceRequest, { items, metadata }: Page): ListReply {
  const { definition, version, representation } = request;
  const form = representation.listForm(metadata, definition, version);
  return { kind: 'list', form, objects: items, show: ({ object }) => form.show(version.fromHub(object)) };
}

/** Reads a page. @throws {ApiError} 400, 410 or 504 */
export function* readPage(
  store: ObjectStore,
  { storage, isUncached }: Pick<ResourceDefinition, 'storage' | 'isUncached'>,
  options: ListOptions,
  selection: Selection,
): Steps<Page> {
  const prefix = selection.namespace === undefined ? '' : `${selection.namespace}/`;
  const { revision, all, startKey } = snapshot(store, storage, options, selection, prefix);
  const remaining = startKey === '' ? all : all.slice(firstAtOrAfter(all, startKey));
  // kube-apiserver serves this list from its cache and ignores the limit.
  const limit = options.resourceVersion === '0' && isUncached !== true ? 0 : Math.max(options.limit, 0);
  const items: StoredObject[] = [];
  let evaluated = 0;
  for (const each of remaining) {
    yield;
    evaluated += 1;
    if (selection.selects(each.object)) items.push(each);
    if (limit > 0 && items.length >= limit) break;
  }
  const metadata = { resourceVersion: String(revision) };
  if (evaluated === remaining.length || selection.isOne) return { items, metadata };
  const lastKey = items.at(-1)?.key ?? '';
  return {
    items,
    metadata: {
      ...metadata,
      continue: encodeContinue({ revision, startKey: `${lastKey.slice(prefix.length)}\0` }),
      // With a filter, the number of remaining objects is unknown.
      ...(selection.isEverything && { remainingItemCount: remaining.length - limit }),
    },
  };
}

interface Snapshot {
  readonly revision: number;
  readonly all: readonly StoredObject[];
  /** '' for the beginning of the list. */
  readonly startKey: string;
}

function snapshot(
  store: ObjectStore,
  storage: string,
  { continueToken, limit, resourceVersion, resourceVersionMatch }: ListOptions,
  { namespace, isOne }: Selection,
  prefix: string,
): Snapshot {
  const now = () => ({ revision: store.revision, all: store.list(storage, namespace) });
  if (continueToken !== '') {
    const token = decodeContinue(continueToken);
    if (resourceVersion !== '' && resourceVersion !== '0') {
      throw badRequest('specifying resource version is not allowed when using continue');
    }
    const startKey = `${prefix}${token.startKey}`;
    if (token.revision === undefined) return { ...now(), startKey };
    const all = at(store, storage, token.revision, namespace);
    if (all) return { revision: token.revision, all, startKey };
    const next = encodeContinue({ revision: undefined, startKey: token.startKey });
    throw new ApiError(410, 'Expired', CONTINUE_TOO_OLD, undefined, { continue: next });
  }
  const wanted = parseListVersion(resourceVersion);
  // A list with a limit has exactly the given version, unless it is a list of one object.
  const isPage = resourceVersionMatch === '' && limit > 0 && !isOne;
  const isExact = wanted > 0 && (resourceVersionMatch === 'Exact' || isPage);
  if (wanted > store.revision) throw revisionTooLarge(wanted, store.revision);
  if (!isExact) return { ...now(), startKey: '' };
  const all = at(store, storage, wanted, namespace);
  if (all) return { revision: wanted, all, startKey: '' };
  throw new ApiError(410, 'Expired', TOO_OLD);
}

function at(store: ObjectStore, storage: string, revision: number, namespace: string | undefined) {
  if (revision > store.revision) throw revisionTooLarge(revision, store.revision);
  return store.listAt(storage, revision, namespace);
}

function firstAtOrAfter(sorted: readonly StoredObject[], key: string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const found = sorted[middle];
    if (found !== undefined && found.key < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Without `timeoutSeconds`, a watch ends after 30 to 60 minutes, as in kube-apiserver. */
const SHORTEST_WATCH_MS = 1_800_000;

/** Watches the selected objects. @throws {ApiError} before the server sends the headers of the answer */
export function watch({ store, clock }: OperationsContext, request: ResourceRequest): StreamReply {
  const { definition, version, representation } = request;
  const options = listOptions(request.query);
  const selection = selectionOf(request, options);
  const from = startOf(options, store.revision);
  const timeoutMs = options.timeoutSeconds
    ? options.timeoutSeconds * 1000
    : SHORTEST_WATCH_MS * (1 + clock.random());
  const empty = emptyObject(definition, version);
  const encoderOf = (shown: Representation) =>
    createEventEncoder(
      `${apiVersionOf(definition, version)} ${shown.id}`,
      (object) => shown.show(version.fromHub(object), version),
      empty,
    );
  const encode = encoderOf(representation.following ?? representation);
  return {
    kind: 'stream',
    start: (sink) =>
      startWatch({
        store,
        storage: definition.storage,
        clock,
        sink,
        from,
        selects: (object) => selection.selects(object),
        encode,
        ...(representation.following && { encodeFirst: encoderOf(representation) }),
        bookmarks: options.allowsBookmarks,
        timeoutMs,
      }),
  };
}

function startOf(options: ListOptions, now: number): WatchStart {
  const revision = parseReadVersion(options.resourceVersion);
  if (options.sendInitialEvents) {
    return { kind: 'state', sendBookmark: options.allowsBookmarks, minimum: revision };
  }
  return { kind: 'revision', revision: revision === 0 ? now : revision };
}

/** Returns an object without any field set, in hub form. */
function emptyObject(definition: ResourceDefinition, version: VersionDefinition): ApiObject {
  const { value } = decodeObject(version.schema, {});
  return version.toHub(asObject(value, apiVersionOf(definition, version), definition.kind));
}

/** The objects that a list or a watch selects. */
interface Selection {
  /** The namespace of all selected objects, if known. */
  readonly namespace: string | undefined;
  /** Whether the list has no filter. */
  readonly isEverything: boolean;
  /** Whether the selection contains at most one object, by its name. */
  readonly isOne: boolean;
  /** Takes an object in `namespace`, in hub form. */
  selects(object: ApiObject): boolean;
}

/** Combines the namespace, the name and the selectors of a request. @throws {ApiError} 400 */
export function selectionOf(request: ResourceRequest, options: ListOptions): Selection {
  const { version, name } = request;
  const { matchesLabels, fieldRequirements } = options;
  const fields =
    fieldRequirements.length === 0 ? undefined : fieldSelector(fieldRequirements, fieldsOf(version));
  const wantedName = name ?? fields?.exact('metadata.name');
  if (name !== undefined && fields !== undefined && fields.exact('metadata.name') !== name) {
    throw badRequest("fieldSelector metadata.name doesn't match requested name");
  }
  const namespace = request.definition.isNamespaced
    ? (request.namespace ?? fields?.exact('metadata.namespace'))
    : undefined;
  return {
    namespace,
    isOne: wantedName !== undefined && (namespace !== undefined || !request.definition.isNamespaced),
    isEverything: matchesLabels === undefined && fields === undefined && name === undefined,
    selects(object) {
      const { metadata } = object;
      if (wantedName !== undefined && metadata.name !== wantedName) return false;
      if (namespace !== undefined && metadata.namespace !== namespace) return false;
      if (matchesLabels && !matchesLabels(metadata.labels ?? {})) return false;
      return fields === undefined || fields.matches(version.selectableFields(version.fromHub(object)));
    },
  };
}

function fieldsOf({ selectableFields }: VersionDefinition): readonly string[] {
  return Object.keys(selectableFields({ apiVersion: '', kind: '', metadata: { name: '' } }));
}

/** The position where a list continues. */
interface ContinueToken {
  /** The revision of the list. Undefined: the current revision, because the history no longer has the first one. */
  readonly revision: number | undefined;
  /** The list continues at this key, or at the next key if this one does not exist. */
  readonly startKey: string;
}

const CONTINUE_VERSION = 'meta.k8s.io/v1';
const LATEST = -1;

export function encodeContinue({ revision = LATEST, startKey }: ContinueToken): string {
  return Buffer.from(JSON.stringify({ v: CONTINUE_VERSION, rv: revision, start: startKey })).toString(
    'base64url',
  );
}

/** @throws {ApiError} 400 for a malformed token. */
export function decodeContinue(text: string): ContinueToken {
  const json = /^[\w-]*$/.test(text) ? Buffer.from(text, 'base64url').toString('latin1') : '';
  const { v, rv, start } = parseJsonObject(json) ?? {};
  const path = typeof start === 'string' && start !== '' ? `/${start.replace(/^\//, '')}` : '';
  // Reject a key outside of the list.
  const isInside = path !== '' && posix.normalize(path) === path;
  if (v !== CONTINUE_VERSION || typeof rv !== 'number' || rv === 0 || !isInside) {
    throw badRequest('the continue token is not valid');
  }
  return { revision: rv > 0 ? rv : undefined, startKey: path.slice(1) };
}
