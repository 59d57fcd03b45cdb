import type { Steps } from '../../support/event-loop.ts';
import type { JsonObject } from '../../support/json.ts';
import { ApiError, badRequest } from '../errors/api-error.ts';
import type { ResourceDefinition } from '../kinds/definition.ts';
import { revisionTooLarge } from '../storage/history.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import type { StoredObject } from '../storage/stored-objects.ts';
import type { OperationsContext } from './context.ts';
import { decodeContinue, encodeContinue } from './continue-token.ts';
import { type ListOptions, listOptions } from './parameters.ts';
import type { ListReply, ResourceRequest } from './resource-request.ts';
import { parseListVersion } from './resource-version.ts';
import { type Selection, selectionOf } from './selection.ts';

/** Part of a list, or all of it. */
export interface Page {
  readonly items: readonly StoredObject[];
  /** The list's own metadata. */
  readonly metadata: JsonObject;
}

const TOO_OLD = 'The resourceVersion for the provided list is too old.';
const CONTINUE_TOO_OLD =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.';

/** Lists what the request selects. @throws {ApiError} */
export function* list(context: OperationsContext, request: ResourceRequest): Steps<ListReply> {
  const options = yield* listOptions(request.query);
  const selection = selectionOf(request, options);
  const page = yield* readPage(context.store, request.definition, options, selection);
  return listReply(request, page);
}

/** A page as the request wants to see it. @throws {ApiError} 406 */
export function listReply(request: ResourceRequest, { items, metadata }: Page): ListReply {
  const { definition, version, representation } = request;
  const form = representation.listForm(metadata, definition, version);
  return { kind: 'list', form, objects: items, show: ({ object }) => form.show(version.fromHub(object)) };
}

/** Reads the page that the options ask for. @throws {ApiError} 400, 410 or 504 */
export function* readPage(
  store: ObjectStore,
  { storage, isUncached }: Pick<ResourceDefinition, 'storage' | 'isUncached'>,
  options: ListOptions,
  selection: Selection,
): Steps<Page> {
  const prefix = selection.namespace === undefined ? '' : `${selection.namespace}/`;
  const { revision, all, startKey } = snapshot(store, storage, options, selection, prefix);
  const remaining = startKey === '' ? all : all.slice(firstAtOrAfter(all, startKey));
  // A cache answers whole.
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
      // Only where nothing is filtered out can it be known without reading the rest.
      ...(selection.isEverything && { remainingItemCount: remaining.length - limit }),
    },
  };
}

interface Snapshot {
  readonly revision: number;
  readonly all: readonly StoredObject[];
  /** '' for the beginning. */
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
  // A page of a resourceVersion is one of that very version; but what is one object is not read page by page.
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
