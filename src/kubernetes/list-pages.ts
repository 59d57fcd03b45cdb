import { isJsonObject } from '../support/json.ts';
import type { KubernetesClient } from './client.ts';
import { ApiError, ConnectionError } from './errors.ts';
import type { Query } from './request-subject.ts';

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
  /** Items per page. */
  readonly pageSize: number;
  /** For each page, in milliseconds. */
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
  /**
   * Called when the list is begun, and when it is begun anew, so that what was handed over before is void. What it returns
   * takes each page as it arrives, its items not looked at yet: all of them at once would be several times what is kept.
   */
  readonly begin: () => (items: readonly unknown[]) => void;
  /**
   * Resolves once others have had a turn, the request for the next page among them, which is made before a page is handed
   * over: the server then works on it meanwhile.
   */
  readonly giveWay?: () => Promise<void>;
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
  let asked = readPage(client, request, undefined);
  for (let pages = 1; ; pages++) {
    let page: Page;
    try {
      page = await asked;
    } catch (error) {
      // In answer to a list's first page it means something else.
      const isForgotten = pages > 1 && error instanceof ApiError && error.status === 410;
      if (isForgotten && mayBeginAnew) return await listFromStart(client, request, false);
      throw error;
    }
    const { items, token, resourceVersion } = page;
    if (token !== undefined) {
      asked = readPage(client, request, token);
      // Nobody looks at it while the page before it is handed over.
      asked.catch(() => {});
      await request.giveWay?.();
    }
    take(items);
    objects += items.length;
    if (token === undefined) return { resourceVersion, pages, objects };
  }
}

interface Page {
  readonly items: readonly unknown[];
  readonly resourceVersion: string;
  readonly token: string | undefined;
}

async function readPage(
  client: KubernetesClient,
  request: ListRequest,
  token: string | undefined,
): Promise<Page> {
  const { path, query, pageSize, deadlineMs, signal } = request;
  const answer = await client.request({
    method: 'GET',
    path,
    query: { ...query, limit: pageSize, continue: token },
    deadlineMs,
    signal,
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
  return {
    items: items ?? [],
    resourceVersion,
    token: typeof next === 'string' && next !== '' ? next : undefined,
  };
}
