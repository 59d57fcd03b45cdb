import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { createInterface, type Interface } from 'node:readline';
import type { CoordinationServer } from './coordination-plane.ts';

/** An object as the API server sends it to watchers. */
export interface WatchedObject {
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly deletionTimestamp?: string;
    readonly [field: string]: unknown;
  };
  readonly spec: Readonly<Record<string, unknown>>;
}

/** A change of an object. */
export type ChangeType = 'ADDED' | 'MODIFIED' | 'DELETED';

/** A watch that runs until it is stopped. */
export interface FollowedObjects {
  /** Why it has ended by itself; undefined while it runs. */
  failure(): unknown;
  stop(): void;
}

/**
 * Calls `see` for each existing object, and then for each change. It sends its own requests, so that a test does not
 * depend on the code under test. It skips no version of an object: if the server ends a watch, for example because
 * the client is too slow, it resumes the watch.
 */
export async function followObjects<T extends WatchedObject>(
  plane: CoordinationServer,
  collection: string,
  see: (type: ChangeType, object: T) => void,
): Promise<FollowedObjects> {
  const stopping = new AbortController();
  const list = await plane.request<{
    readonly items: readonly T[];
    readonly metadata: { readonly resourceVersion: string };
  }>('GET', collection);
  for (const object of list.items) see('ADDED', object);
  let { resourceVersion } = list.metadata;

  const ca = await readFile(plane.caFile, 'utf8');
  const watchOn = async () => {
    const path = `${collection}?watch=1&resourceVersion=${resourceVersion}`;
    const lines = await openWatch(plane, path, ca, stopping.signal);
    lines.on('line', (line) => {
      const { type, object } = JSON.parse(line) as { readonly type: string; readonly object: T };
      // Events would be missing: fail instead of returning a wrong result.
      if (type !== 'ADDED' && type !== 'MODIFIED' && type !== 'DELETED') throw new Error(`${path}: ${line}`);
      resourceVersion = object.metadata.resourceVersion;
      see(type, object);
    });
    // A connection reset ends the watch, too.
    return { ended: once(lines, 'close').catch(() => {}) };
  };
  let failure: unknown;
  let current = await watchOn();
  void (async () => {
    for (;;) {
      await current.ended;
      if (stopping.signal.aborted) return;
      current = await watchOn();
    }
  })().catch((error: unknown) => {
    failure = error;
  });
  return { failure: () => failure, stop: () => stopping.abort() };
}

async function openWatch(
  plane: CoordinationServer,
  path: string,
  ca: string,
  signal: AbortSignal,
): Promise<Interface> {
  const outgoing = request(new URL(path, plane.url), {
    ca,
    agent: false,
    signal,
    headers: { authorization: `Bearer ${plane.adminToken}`, accept: 'application/json' },
  });
  const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.once('response', resolve);
    outgoing.once('error', reject);
    outgoing.end();
  });
  // The end of the lines reports how the request ended.
  outgoing.on('error', () => {});
  incoming.on('error', () => {});
  const lines = createInterface({ input: incoming });
  lines.on('error', () => lines.close());
  return lines;
}
