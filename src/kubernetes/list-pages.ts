import { isJsonObject } from '../support/json.ts';
import type { KubernetesClient } from './client.ts';
import { ApiError, ConnectionError } from './errors.ts';
import type { TakeItems } from './read-answer.ts';
import type { Query } from './request-subject.ts';

/** A page costs the server 10 ms beside its objects, which it sends, and this process reads, one after the other. */
const DEFAULT_PAGE_SIZE = 5000;

/** A complete list, whose pages have been handed over. */
export interface ObjectList {
  /** The state of the server that the list shows, and that a watch goes on from. */
  readonly resourceVersion: string;
  readonly pages: number;
  /** How many items they had. */
  readonly objects: number;
}

/** What to list, and how. */
export interface ListRequest {
  readonly path: string;
  readonly query: Query;
  /** Items per page, default 5000. */
  readonly pageSize?: number;
  /** For each page, in milliseconds. */
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
  /**
   * Called when the list is begun, and when it is begun anew, so that what was handed over before is void. What it returns
   * takes the items as they arrive, some at a time, not looked at yet: all of them at once would be several times what is
   * kept. More are read once the promise that it returns has resolved.
   */
  readonly begin: () => TakeItems;
}

/**
 * Lists page by page and resolves once it has the last. When the server has meanwhile forgotten the state that the
 * pages show (410), the list is begun anew, once. Rejects as the client does.
 */
export function listAllPages(client: KubernetesClient, request: ListRequest): Promise<ObjectList> {
  return listFromStart(client, request, true);
}

async function listFromStart(
  client: KubernetesClient,
  request: ListRequest,
  mayBeginAnew: boolean,
): Promise<ObjectList> {
  const take = request.begin();
  let objects = 0;
  let token: string | undefined;
  for (let pages = 1; ; pages++) {
    let page: Page;
    try {
      page = await readPage(client, request, token, take);
    } catch (error) {
      // In answer to a list's first page it means something else.
      const isForgotten = pages > 1 && error instanceof ApiError && error.status === 410;
      if (isForgotten && mayBeginAnew) return await listFromStart(client, request, false);
      throw error;
    }
    objects += page.objects;
    token = page.token;
    if (token === undefined) return { resourceVersion: page.resourceVersion, pages, objects };
  }
}

interface Page {
  readonly objects: number;
  readonly resourceVersion: string;
  readonly token: string | undefined;
}

async function readPage(
  client: KubernetesClient,
  request: ListRequest,
  token: string | undefined,
  take: TakeItems,
): Promise<Page> {
  const { path, query, pageSize = DEFAULT_PAGE_SIZE, deadlineMs, signal } = request;
  let objects = 0;
  const takeItems = (items: readonly unknown[]) => {
    objects += items.length;
    return take(items);
  };
  const answer = await client.request({
    method: 'GET',
    path,
    query: { ...query, limit: pageSize, continue: token },
    deadlineMs,
    signal,
    takeItems,
  });
  const { items, metadata } = answer as { items?: unknown; metadata?: unknown };
  const resourceVersion = isJsonObject(metadata) ? metadata['resourceVersion'] : undefined;
  const next = isJsonObject(metadata) ? metadata['continue'] : undefined;
  // Go writes an empty list that was never allocated as null.
  if (
    !(Array.isArray(items) || items === null) ||
    typeof resourceVersion !== 'string' ||
    resourceVersion === ''
  ) {
    throw new ConnectionError(`GET ${path}: the answer is not a list with a resourceVersion`, {
      code: 'MALFORMED_ANSWER',
    });
  }
  // A client that has its answers whole takes none out of them.
  if (items !== null && items.length > 0) await takeItems(items);
  return { objects, resourceVersion, token: typeof next === 'string' && next !== '' ? next : undefined };
}
