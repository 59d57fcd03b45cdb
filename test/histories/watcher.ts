import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { readList, recordList } from './lists.ts';
import { collectionPath, resourceNamed } from './objects.ts';
import { contentOf, type HistoryFile, now, type ShownObject, type WatchRecord } from './records.ts';
import type { Connection } from './requests.ts';

/** The dependencies of a watcher. */
export interface WatcherOptions {
  readonly name: string;
  readonly resource: string;
  /** '' for all. */
  readonly namespace: string;
  /** For lists, and for watches: each connection has one request at a time. */
  readonly lists: Connection;
  readonly watches: Connection;
  /** The random numbers that choose how it watches, and when its connection breaks. */
  readonly random: () => number;
  readonly history: HistoryFile;
}

interface EventLine {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: ShownObject & { readonly code?: number };
}

const ABSENT_MS = 50;
const LONGEST_PAUSE_MS = 3000;

/**
 * Watches one collection like a reflector: lists, watches from there, resumes from the last seen revision after each
 * cut, and lists again after status 410. Records everything.
 */
export class Watcher {
  readonly #options: WatcherOptions;
  #position: number | undefined;
  /** The initial objects of a watch, until the bookmark that ends them. */
  #initial: ShownObject[] | undefined;
  #stream: IncomingMessage | undefined;

  constructor(options: WatcherOptions) {
    this.#options = options;
  }

  get name(): string {
    return this.#options.name;
  }

  get resource(): string {
    return this.#options.resource;
  }

  /** Its progress: the last revision of an event, a bookmark or a list. */
  get position(): number {
    return this.#position ?? 0;
  }

  /** Pauses reading for a while, or breaks the connection during this time. */
  pause(): void {
    const stream = this.#stream;
    stream?.pause();
    setTimeout(() => stream?.resume(), LONGEST_PAUSE_MS);
  }

  /**
   * Runs until the signal is aborted.
   * @throws {Error} on an answer that the server must not give
   */
  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.#stream?.destroy());
    while (!signal.aborted) {
      const isListed = this.#position !== undefined || this.#options.random() < 0.4 || (await this.#list());
      if (!isListed || !(await this.#watch(signal))) await sleep(ABSENT_MS);
    }
  }

  async #list(): Promise<boolean> {
    const { resource, namespace, lists, history } = this.#options;
    this.#position = await readList(lists, { resource: resourceNamed(resource), namespace }, history);
    if (this.#position !== undefined) this.#record({ event: 'LISTED', resourceVersion: this.#position });
    return this.#position !== undefined;
  }

  /** Runs one request until it ends. Returns whether there was an answer. */
  async #watch(signal: AbortSignal): Promise<boolean> {
    const { resource, namespace, watches, random } = this.#options;
    const call = now();
    const query = new URLSearchParams({
      watch: 'true',
      allowWatchBookmarks: 'true',
      // The server sends a bookmark 2 s before the timeout.
      timeoutSeconds: String(3 + Math.floor(random() * 4)),
      ...(this.#position === undefined
        ? { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' }
        : { resourceVersion: String(this.#position) }),
    });
    this.#initial = this.#position === undefined ? [] : undefined;
    const path = `${collectionPath(resourceNamed(resource), namespace)}?${query}`;
    const stream = await watches.open(path).catch(() => undefined);
    if (stream === undefined) return false;
    if (this.#position !== undefined) this.#record({ event: 'RESUMED', resourceVersion: this.#position });
    if (stream.statusCode === 410) {
      stream.resume();
      this.#expire();
      return true;
    }
    if (stream.statusCode !== 200) throw new Error(`GET ${path}: ${stream.statusCode}`);
    this.#stream = stream;
    if (signal.aborted) stream.destroy();
    const disturbances = this.#disturb(stream);
    try {
      await this.#read(stream, call);
    } finally {
      for (const each of disturbances) clearTimeout(each);
      this.#stream = undefined;
    }
    return true;
  }

  /** The connection may break at any time, even within a line, or the client may not read for a while. */
  #disturb(stream: IncomingMessage): readonly NodeJS.Timeout[] {
    const { random } = this.#options;
    const [cutAfter, pauseAfter] = [random() * 5000, random() * 3000];
    const cut = random() < 0.4 ? [setTimeout(() => stream.destroy(), cutAfter)] : [];
    if (random() >= 0.3) return cut;
    const pause = setTimeout(() => stream.pause(), pauseAfter);
    const resume = setTimeout(() => stream.resume(), pauseAfter + random() * LONGEST_PAUSE_MS);
    return [...cut, pause, resume];
  }

  #read(stream: IncomingMessage, call: number): Promise<void> {
    return new Promise((resolve, reject) => {
      let rest = '';
      stream.setEncoding('utf8');
      stream.on('data', (text: string) => {
        const lines = (rest + text).split('\n');
        rest = lines.pop() ?? '';
        try {
          for (const line of lines) this.#take(JSON.parse(line) as EventLine, call);
        } catch (error) {
          reject(error);
          stream.destroy();
        }
      });
      // The close event reports the end of a broken connection.
      stream.on('error', () => {});
      stream.once('close', resolve);
    });
  }

  #take({ type, object }: EventLine, call: number): void {
    const { resource, namespace, history } = this.#options;
    if (type === 'ERROR') {
      if (object.code !== 410) throw new Error(`a watch of ${resource} ends with ${JSON.stringify(object)}`);
      this.#expire();
      return;
    }
    const resourceVersion = Number(object.metadata.resourceVersion);
    if (this.#initial !== undefined && type === 'ADDED') {
      this.#initial.push(object);
      return;
    }
    if (this.#initial !== undefined) {
      const isEnd = object.metadata.annotations?.['k8s.io/initial-events-end'] === 'true';
      if (type !== 'BOOKMARK' || !isEnd) {
        throw new Error(`a watch of ${resource} has ${type} among its initial events`);
      }
      const objects = this.#initial;
      this.#initial = undefined;
      recordList(history, {
        resource: resourceNamed(resource),
        namespace,
        call,
        resourceVersion,
        past: false,
        objects,
      });
      this.#position = resourceVersion;
      this.#record({ event: 'LISTED', resourceVersion });
      return;
    }
    if (type === 'BOOKMARK') this.#record({ event: 'BOOKMARK', resourceVersion });
    else {
      const { namespace: of, name } = object.metadata;
      this.#record({ event: type, namespace: of, name, resourceVersion, seen: contentOf(object) });
    }
    this.#position = Math.max(this.#position ?? 0, resourceVersion);
  }

  #expire(): void {
    this.#record({ event: 'EXPIRED', resourceVersion: this.#position ?? 0 });
    this.#position = undefined;
  }

  #record(what: Pick<WatchRecord, 'event' | 'resourceVersion'> & Partial<WatchRecord>): void {
    const { name: watcher, resource, namespace, history } = this.#options;
    history.write({ kind: 'watch', watcher, at: now(), resource, namespace, name: '', ...what });
  }
}
