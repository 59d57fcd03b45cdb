import { setTimeout as sleep } from 'node:timers/promises';
import { collectionPath, type Resource } from './objects.ts';
import { contentOf, type HistoryFile, now, type ShownObject } from './records.ts';
import type { Connection } from './requests.ts';

/** The parameters of a list. */
export interface ListWish {
  readonly resource: Resource;
  /** '' for all. */
  readonly namespace: string;
  /** The page size; default: a single page. */
  readonly limit?: number;
  /** Time between two pages, in ms, in which others write. */
  readonly pauseMs?: number;
  /** Lists the state at this revision. */
  readonly exactly?: number;
}

interface Page {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  readonly items: readonly ShownObject[];
}

/**
 * Reads and records a list. Returns its resourceVersion; undefined if the connection was cut or the server answers
 * 410.
 * @throws {Error} on any other answer, and if the pages have different resourceVersions
 */
export async function readList(
  connection: Connection,
  { resource, namespace, limit, pauseMs = 0, exactly }: ListWish,
  history: HistoryFile,
): Promise<number | undefined> {
  const call = now();
  const items: ShownObject[] = [];
  const path = collectionPath(resource, namespace);
  let resourceVersion: number | undefined;
  for (let next: string | undefined = ''; next !== undefined; ) {
    const query = new URLSearchParams({
      ...(limit !== undefined && { limit: String(limit) }),
      ...(next === '' && exactly !== undefined
        ? { resourceVersion: String(exactly), resourceVersionMatch: 'Exact' }
        : {}),
      ...(next !== '' && { continue: next }),
    });
    if (next !== '') await sleep(pauseMs);
    const reply = await connection.send('GET', `${path}?${query}`);
    if (reply.kind !== 'answered' || reply.status === 410) return undefined;
    if (reply.status !== 200) throw new Error(`GET ${path}?${query}: ${reply.status} ${reply.text}`);
    const page = JSON.parse(reply.text) as Page;
    const revision = Number(page.metadata.resourceVersion);
    if (resourceVersion !== undefined && revision !== resourceVersion) {
      throw new Error(
        `GET ${path}: a page of revision ${revision} follows one of revision ${resourceVersion}`,
      );
    }
    resourceVersion = revision;
    items.push(...page.items);
    next = page.metadata.continue || undefined;
  }
  if (resourceVersion === undefined) return undefined;
  if (exactly !== undefined && resourceVersion !== exactly) {
    throw new Error(`GET ${path}: revision ${exactly} was asked for, and ${resourceVersion} came`);
  }
  recordList(history, {
    resource,
    namespace,
    call,
    resourceVersion,
    past: exactly !== undefined,
    objects: items,
  });
  return resourceVersion;
}

export function recordList(
  history: HistoryFile,
  list: {
    readonly resource: Resource;
    readonly namespace: string;
    readonly call: number;
    readonly resourceVersion: number;
    readonly past: boolean;
    readonly objects: readonly ShownObject[];
  },
): void {
  const { resource, objects, ...others } = list;
  history.write({
    kind: 'list',
    resource: resource.name,
    return: now(),
    ...others,
    items: objects.map((object) => ({
      namespace: object.metadata.namespace,
      name: object.metadata.name,
      ...contentOf(object),
    })),
  });
}
