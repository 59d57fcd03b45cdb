import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiAccess } from '../control-plane/api-request.ts';
import type { ChangeType, WatchedObject } from '../control-plane/followed-objects.ts';
import type { Ask } from './ask.ts';

/** Retry interval while the server is down. */
const RETRY_MS = 300;

/**
 * Reports all objects of a resource, and continues after a restart of the server: it lists everything again, and
 * reports missing objects as deleted. It may skip intermediate states, as programs must tolerate.
 */
export class FollowedCollection<T extends WatchedObject> {
  readonly #access: ApiAccess;
  readonly #ask: Ask;
  readonly #path: string;
  readonly #see: (type: ChangeType, object: T) => void;
  readonly #known = new Map<string, T>();
  readonly #stopping = new AbortController();

  /** Resolves after the first complete list. */
  static async start<T extends WatchedObject>(
    server: { readonly access: ApiAccess; readonly ask: Ask },
    path: string,
    see: (type: ChangeType, object: T) => void,
  ): Promise<FollowedCollection<T>> {
    const collection = new FollowedCollection(server, path, see);
    const resourceVersion = await collection.#list();
    if (resourceVersion === undefined) throw new Error(`${path} cannot be listed`);
    void collection.#run(resourceVersion);
    return collection;
  }

  private constructor(
    { access, ask }: { readonly access: ApiAccess; readonly ask: Ask },
    path: string,
    see: (type: ChangeType, object: T) => void,
  ) {
    this.#access = access;
    this.#ask = ask;
    this.#path = path;
    this.#see = see;
  }

  stop(): void {
    this.#stopping.abort();
  }

  async #run(first: string): Promise<void> {
    const { signal } = this.#stopping;
    for (let from: string | undefined = first; !signal.aborted; from = await this.#list()) {
      // A watch ends with its server or connection, which is normal in a soak.
      if (from !== undefined) await this.#watch(from).catch(() => {});
      await sleep(RETRY_MS);
    }
  }

  /** The revision to watch from; undefined while the server is down. */
  async #list(): Promise<string | undefined> {
    const { object } = await this.#ask('GET', this.#path);
    if (object === undefined) return undefined;
    const { items, metadata } = object as {
      readonly items: readonly T[];
      readonly metadata: { readonly resourceVersion: string };
    };
    const gone = new Map(this.#known);
    for (const item of items) {
      gone.delete(keyOf(item));
      this.#take('MODIFIED', item);
    }
    for (const item of gone.values()) this.#take('DELETED', item);
    return metadata.resourceVersion;
  }

  async #watch(resourceVersion: string): Promise<void> {
    const { url, ca, token } = this.#access;
    const outgoing = request(new URL(`${this.#path}?watch=1&resourceVersion=${resourceVersion}`, url), {
      ca,
      agent: false,
      signal: this.#stopping.signal,
      headers: { authorization: `Bearer ${token}`, accept: 'application/json' },
    });
    const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.once('response', resolve).once('error', reject).end();
    });
    outgoing.on('error', () => {});
    incoming.on('error', () => {});
    for await (const line of createInterface({ input: incoming })) {
      const { type, object } = JSON.parse(line) as { readonly type: string; readonly object: T };
      if (type !== 'ADDED' && type !== 'MODIFIED' && type !== 'DELETED') break;
      this.#take(type, object);
    }
    outgoing.destroy();
  }

  #take(type: ChangeType, object: T): void {
    if (type === 'DELETED') this.#known.delete(keyOf(object));
    else this.#known.set(keyOf(object), object);
    this.#see(type, object);
  }
}

export function keyOf({ metadata }: WatchedObject): string {
  return `${metadata.namespace}/${metadata.name}`;
}
