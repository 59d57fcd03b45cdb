import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type EmbeddedPlane, startEmbeddedPlane } from '../control-plane/embedded-plane.ts';
import type { Judgement } from '../support/judged-run.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { checkHistory, type Verdict } from './checker.ts';
import { Client } from './client.ts';
import { readList } from './lists.ts';
import { namespaces, resources } from './objects.ts';
import { HistoryFile, now } from './records.ts';
import { connect } from './requests.ts';
import { Slots } from './slots.ts';
import { Watcher } from './watcher.ts';

/** The options of a run. */
export interface HistoriesOptions {
  /** How long the clients run. */
  readonly seconds: number;
  /** The seed of clients, watchers and kills. */
  readonly seed: number;
  /** Average time between two kills of the server; 0: none. */
  readonly secondsBetweenKills: number;
  /** Default 8. */
  readonly clients?: number;
  /** Average time between two operations of a client, in ms; default 15. */
  readonly pauseMs?: number;
  /** The path of the checker. */
  readonly checker: string;
  /** An existing, empty folder for the record of the run. */
  readonly directory: string;
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
  /** Whether the server has a data directory; default true. */
  readonly keepsData?: boolean;
  /** Starts a proxy between the clients and the server. Returns its address. */
  readonly between?: (url: string) => Promise<string>;
}

export const HISTORY_FILE = 'history.jsonl';
/** Maximum time until watchers get the last write. */
const CATCH_UP_MS = 60_000;

/**
 * Records the operations of clients and watchers of an embedded server while it is killed repeatedly, and checks the
 * record.
 */
export async function runHistories(options: HistoriesOptions): Promise<Judgement> {
  const { seed, directory, say, checker } = options;
  const history = new HistoryFile(join(directory, HISTORY_FILE));
  const { kills, problems } = await record(options, history);
  say('checking');
  const verdict = await checkHistory(checker, history.path, directory);
  const all = [...problems, ...verdict.problems];
  return { problems: all, summary: `seed ${seed}: ${summaryOf(verdict, kills)}` };
}

/** The result of a check, in words. */
export function summaryOf({ figures: f }: Verdict, kills?: number): string {
  return [
    `${f.operations} operations on ${f.objects} objects`,
    `${f.refused} refused`,
    `${f.unknown} with unknown outcome, of which ${f.unknownSeenLater} were seen later`,
    `${f.lists} lists`,
    `${f.watchEvents} watch events and ${f.bookmarks} bookmarks in ${f.watchSpans} spans`,
    `${f.watchesResumed} watches resumed, ${f.watchesExpired} expired`,
    ...(kills === undefined ? [] : [`${kills} kills`]),
    `checked in ${(f.checkMs / 1000).toFixed(1)} s`,
  ].join('; ');
}

async function record(options: HistoriesOptions, history: HistoryFile) {
  const { seed, say, seconds, secondsBetweenKills } = options;
  const plane = await startEmbeddedPlane({ keepsData: options.keepsData ?? true });
  const stopping = new AbortController();
  const working = new AbortController();
  const problems: string[] = [];
  const randomFor = (actor: number) => seededRandom(seed * 1009 + actor);
  try {
    const url = (await options.between?.(plane.url)) ?? plane.url;
    const link = () => connect(url, plane.adminToken);
    await createNamespaces(plane);
    const slots = new Slots();
    let serverState = 0;
    const watchers = newWatchers(link, history, (index) => randomFor(100 + index));
    const newClient = (id: number, impatience: number) =>
      new Client({
        id,
        connection: link(),
        random: randomFor(id),
        slots,
        history,
        pauseMs: options.pauseMs ?? 15,
        impatience,
        serverState: () => serverState,
        // Half of the watchers.
        onFlood: (resource) => {
          for (const [index, each] of watchers.entries()) {
            if (each.resource === resource && (index + seed) % 2 === 0) each.pause();
          }
        },
      });
    const clients = Array.from({ length: options.clients ?? 8 }, (_, id) => newClient(id, 0.01));
    const fail = (error: unknown) => {
      problems.push(error instanceof Error ? error.message : String(error));
      working.abort();
    };
    const watching = watchers.map((each) => each.run(stopping.signal).catch(fail));
    const writing = clients.map((each) => each.run(working.signal).catch(fail));
    say(`${clients.length} clients, ${watchers.length} watchers`);

    const until = performance.now() + seconds * 1000;
    const random = randomFor(99);
    let kills = 0;
    while (performance.now() < until && !working.signal.aborted) {
      options.signal.throwIfAborted();
      const pause = secondsBetweenKills === 0 ? seconds : secondsBetweenKills * (0.5 + random());
      await rest(Math.min(pause * 1000, until - performance.now()), [working.signal, options.signal]);
      if (secondsBetweenKills === 0 || performance.now() >= until || working.signal.aborted) continue;
      history.write({ kind: 'note', at: now(), text: 'the server is killed' });
      serverState += 1;
      await plane.restart();
      serverState += 1;
      kills += 1;
      history.write({ kind: 'note', at: now(), text: 'the server is ready again' });
      // Not while it starts, because then no request is in flight.
      await rest(500, [working.signal, options.signal]);
    }
    working.abort();
    await Promise.all(writing);
    say(`${kills} kills; reading all that is left`);
    if (problems.length === 0)
      problems.push(...(await readAll(newClient(98, 0), slots, watchers, link(), history)));
    stopping.abort();
    await Promise.all(watching);
    return { kills, problems };
  } finally {
    working.abort();
    stopping.abort();
    await history.close();
    await plane.stop();
  }
}

async function createNamespaces(plane: EmbeddedPlane): Promise<void> {
  for (const name of namespaces) {
    await plane.request('POST', '/api/v1/namespaces', {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name },
    });
  }
}

/** Two for each resource, and one for a namespace of it. */
function newWatchers(
  link: () => ReturnType<typeof connect>,
  history: HistoryFile,
  randomFor: (index: number) => () => number,
): readonly Watcher[] {
  const scopes = resources.flatMap(({ name }) =>
    ['', '', namespaces[0]].map((namespace) => ({ name, namespace })),
  );
  return scopes.map(
    ({ name: resource, namespace }, index) =>
      new Watcher({
        name: `w${index}`,
        resource,
        namespace,
        lists: link(),
        watches: link(),
        random: randomFor(index),
        history,
      }),
  );
}

/** Reads each object and each collection, writes a last time, and waits until all watchers have received that. */
async function readAll(
  client: Client,
  slots: Slots,
  watchers: readonly Watcher[],
  lists: ReturnType<typeof connect>,
  history: HistoryFile,
): Promise<readonly string[]> {
  for (const key of slots.keys()) await client.operate('get', key);
  let last = 0;
  for (const { name: resource } of resources) {
    for (const namespace of [...namespaces].reverse()) {
      const written = await client.operate('create', { resource, namespace, name: 'last' });
      if (written === undefined) return [`the server does not create a last object of ${resource}`];
      last = written.resourceVersion;
    }
  }
  for (const resource of resources) await readList(lists, { resource, namespace: '' }, history);
  const first = last - resources.length * namespaces.length + 1;
  const deadline = performance.now() + CATCH_UP_MS;
  const isBehind = ({ position }: Watcher) => position < first;
  while (watchers.some(isBehind) && performance.now() < deadline) await sleep(50);
  return watchers
    .filter(isBehind)
    .map(({ name, position }) => `watcher ${name} came to revision ${position} of ${first}`);
}

/** Resolves when the time is over or a signal aborts. */
async function rest(ms: number, signals: readonly AbortSignal[]): Promise<void> {
  await sleep(Math.max(ms, 0), undefined, { signal: AbortSignal.any([...signals]) }).catch(() => {});
}
