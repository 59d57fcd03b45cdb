import { setTimeout as sleep } from 'node:timers/promises';
import { type ListWish, readList } from './lists.ts';
import { mergePatch, namespaces, objectPath, preconditions, resources, wholeObject } from './objects.ts';
import { type Content, contentOf, type HistoryFile, type Key, now, type Operation } from './records.ts';
import type { Connection, Reply } from './requests.ts';
import type { Slots } from './slots.ts';

/** The dependencies of a client. */
export interface ClientOptions {
  readonly id: number;
  readonly connection: Connection;
  /** The random numbers that choose its operations. */
  readonly random: () => number;
  readonly slots: Slots;
  readonly history: HistoryFile;
  /** Average time between two operations. */
  readonly pauseMs: number;
  /** A number that changes when the server is killed, and when it is ready again; odd while it is down. */
  readonly serverState: () => number;
  /** Called before it writes so much in a row that the server has to wait for watchers that do not read. */
  readonly onFlood: (resource: string) => void;
  /** The share of requests whose answers it does not await. */
  readonly impatience: number;
}

type Verb = Operation['verb'];

/** The weights of a client's operations. */
const verbs: readonly (readonly [Verb | 'list', number])[] = [
  ['get', 28],
  ['put', 24],
  ['patch', 22],
  ['create', 7],
  ['delete', 7],
  ['list', 8],
];

/** In characters. The server accepts bodies of up to 32 KiB. */
const LARGE = 20_000;
const LARGE_SHARE = 0.04;
const FLOOD = { share: 0.0007, writes: 250, characters: 30_000 };

/** How long to wait for a server that is down. */
const ABSENT_MS = 50;

/** A client of the server. It performs one operation after the other and records it. */
export class Client {
  readonly #options: ClientOptions;
  /** The last seen objects, possibly long ago: the server then refuses the write, or must refuse it. */
  readonly #seen = new Map<string, Content>();
  #writes = 0;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /**
   * Runs until the signal is aborted.
   * @throws {Error} on an answer that the server must not give
   */
  async run(signal: AbortSignal): Promise<void> {
    const { random, pauseMs, slots } = this.#options;
    while (!signal.aborted) {
      const verb = this.#drawnVerb();
      const { key, isLast } = slots.pick(random);
      if (isLast) await this.operate('delete', key, {});
      else if (random() < FLOOD.share) await this.#flood(key);
      else if (verb === 'list') await this.#list();
      else await this.#drawn(verb, key);
      // Half of the operations follow at once: bursts cause contention.
      if (random() < 0.5) await sleep(-2 * pauseMs * Math.log(1 - random()));
    }
  }

  /** Most operations make sense: half of the writes follow a read, and missing objects are created. */
  async #drawn(verb: Verb, key: Key): Promise<void> {
    const { random } = this.#options;
    if ((verb === 'put' || verb === 'patch') && random() < 0.5) await this.operate('get', key);
    const isAbsent = verb !== 'get' && !this.#seen.has(objectPath(key));
    await this.operate(isAbsent && random() < 0.7 ? 'create' : verb, key);
  }

  async #flood(key: Key): Promise<void> {
    this.#options.onFlood(key.resource);
    for (let write = 1; write <= FLOOD.writes; write++) {
      await this.operate('patch', key, {}, write === FLOOD.writes ? 0 : FLOOD.characters);
    }
  }

  /** Performs one operation, with random preconditions unless they are given. Returns the object in the answer. */
  async operate(
    verb: Verb,
    key: Key,
    given: Pick<Operation, 'givenUid' | 'givenResourceVersion'> = this.#drawnPreconditions(verb, key),
    padding = this.#options.random() < LARGE_SHARE ? LARGE : 0,
  ): Promise<Content | undefined> {
    const { id: client, random, history, impatience } = this.#options;
    const { path: to, body, asked } = this.#request(verb, key, given, padding);
    const giveUpAfterMs = random() < impatience ? 1 + random() * 4 : undefined;
    const before = this.#options.serverState();
    const call = now();
    const reply = await this.#options.connection.send(methods[verb], to, body, giveUpAfterMs);
    if (reply.kind === 'notSent') {
      await sleep(ABSENT_MS);
      return undefined;
    }
    const isUp = before % 2 === 0 && before === this.#options.serverState();
    if (reply.kind === 'unanswered' && isUp && giveUpAfterMs === undefined) {
      throw new Error(`the server cuts ${methods[verb]} ${to} off, though nobody has killed it`);
    }
    const operation = { kind: 'operation', client, call, verb, ...key, ...asked, ...given } as const;
    const outcome = outcomeOf(reply, `${methods[verb]} ${to} ${JSON.stringify(body)}`);
    if (outcome.outcome === 'unknown') {
      history.write({ ...operation, return: 0, ...outcome });
      return undefined;
    }
    history.write({ ...operation, return: now(), ...outcome });
    const seen = verb === 'delete' ? undefined : (outcome.seen as Content | undefined);
    const path = objectPath(key);
    if (seen !== undefined) this.#seen.set(path, seen);
    else if (outcome.status === 404) this.#seen.delete(path);
    // Sometimes remembers a deleted object, for preconditions that the server must refuse.
    else if (verb === 'delete' && outcome.outcome === 'ok' && random() < 0.5) this.#seen.delete(path);
    return seen;
  }

  #request(
    verb: Verb,
    key: Key,
    given: Pick<Operation, 'givenUid' | 'givenResourceVersion'>,
    padding: number,
  ) {
    const { id, random } = this.#options;
    const path = verb === 'create' ? objectPath(key).replace(/\/[^/]*$/, '') : objectPath(key);
    const required = { uid: given.givenUid, resourceVersion: given.givenResourceVersion };
    // The API allows stale answers here, but this server's documentation excludes them.
    if (verb === 'get') return { path: random() < 0.3 ? `${path}?resourceVersion=0` : path, asked: {} };
    if (verb === 'delete') return { path, body: { preconditions: preconditions(required) }, asked: {} };
    this.#writes += 1;
    const mark = `c${id}-${this.#writes}`;
    const [left, right] = [`l${this.#writes}`, `r${this.#writes}`];
    const isWhole = verb !== 'patch';
    const part = random() < 0.5 ? { left } : { right };
    const asked = { mark, ...(isWhole ? { left, right } : part) };
    const write = id * 1_000_000 + this.#writes;
    const wish = { ...asked, ...required, write, padding };
    return { path, body: isWhole ? wholeObject(key, wish) : mergePatch(key, wish), asked };
  }

  #drawnVerb(): Verb | 'list' {
    let rest = this.#options.random() * verbs.reduce((sum, [, part]) => sum + part, 0);
    for (const [verb, part] of verbs) {
      rest -= part;
      if (rest < 0) return verb;
    }
    return 'get';
  }

  #drawnPreconditions(verb: Verb, key: Key): Pick<Operation, 'givenUid' | 'givenResourceVersion'> {
    const { random } = this.#options;
    const last = this.#seen.get(objectPath(key));
    const chance = random();
    if (last === undefined || verb === 'get' || verb === 'create') return {};
    const uid = { givenUid: last.uid };
    const version = { givenResourceVersion: last.resourceVersion };
    if (verb === 'patch') return chance < 0.6 ? version : {};
    if (verb === 'put') return chance < 0.6 ? { ...uid, ...version } : chance < 0.95 ? version : {};
    return chance < 0.3 ? uid : chance < 0.6 ? version : chance < 0.8 ? { ...uid, ...version } : {};
  }

  async #list(): Promise<void> {
    const { connection, random, history } = this.#options;
    const resource = resources[Math.floor(random() * resources.length)] ?? resources[0];
    const namespace = ['', ...namespaces][Math.floor(random() * (namespaces.length + 1))] ?? '';
    const chance = random();
    const seen = [...this.#seen.values()];
    const past = seen[Math.floor(random() * seen.length)];
    if (resource === undefined) return;
    const wish: ListWish = {
      resource,
      namespace,
      ...(chance < 0.4 && { limit: 1 + Math.floor(random() * 3), pauseMs: random() * 100 }),
      ...(chance > 0.8 && past && { exactly: past.resourceVersion }),
    };
    if ((await readList(connection, wish, history)) === undefined) await sleep(ABSENT_MS);
  }
}

const methods: Readonly<Record<Verb, string>> = {
  get: 'GET',
  create: 'POST',
  put: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
};

function outcomeOf(reply: Reply, request: string): Pick<Operation, 'outcome' | 'status' | 'seen'> {
  // A request that times out may have been executed.
  if (reply.kind !== 'answered' || reply.status === 504) return { outcome: 'unknown', status: 0 };
  const { status, text } = reply;
  if (status === 404 || status === 409 || status === 422) return { outcome: 'refused', status };
  if (status !== 200 && status !== 201) {
    throw new Error(`${request.slice(0, 500)}: ${status} ${text.slice(0, 500)}`);
  }
  const object = JSON.parse(text) as Parameters<typeof contentOf>[0] & {
    readonly kind: string;
    readonly details?: { readonly uid: string };
  };
  if (object.kind !== 'Status') return { outcome: 'ok', status, seen: contentOf(object) };
  return { outcome: 'ok', status, seen: { uid: object.details?.uid ?? '' } };
}
