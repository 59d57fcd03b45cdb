// What one coordinator bears, for docs/concepts/scale.md, in four minutes: `npm run bench -- scale [events writes elections]`. All on one
// machine, where the API server, etcd and the programs that are played take their part of the processors.
import { readFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { Channel, readWhole } from '../src/kubernetes/channel.ts';
import {
  createLease,
  createNamespaces,
  leasePath,
  microTime,
} from '../test/control-plane/cluster-objects.ts';
import { type ControlPlane, startControlPlane } from '../test/control-plane/control-plane.ts';
import {
  type WatchedLease,
  type WatchedObjects,
  watchLeases,
} from '../test/control-plane/watched-objects.ts';
import { type Coordinator, installRole, startCoordinator, untilActive } from '../test/e2e/coordinator.ts';
import { castOf, leaseNames } from '../test/e2e/figures/casts.ts';
import { watchUsage } from '../test/e2e/figures/process-usage.ts';
import { type SimPrograms, startSimPrograms } from '../test/e2e/figures/sim-programs.ts';
import { distributionOf } from '../test/e2e/figures/statistics.ts';
import { FRESHNESS_MS } from '../test/e2e/figures/waits.ts';
import { measureEvents } from './many-events.ts';

/** As many as the coordinator has under way at the most, by default. */
const CONNECTIONS = 32;
const WRITES = 3000;
const LEASES = 1000;
const CANDIDATES = 5;
const RENEW_EVERY_MS = 10_000;
/** Renewals per second; the last are as many as can be read. */
const EVENT_RATES = [0.1, 100, 1000, 5000, Number.POSITIVE_INFINITY];
/** Releases per second, each for so long: together no more than there are candidates to follow. */
const RATES = [10, 20, 40, 80, 160];
const RATE_MS = 8000;
/** Once half of the elections take that long there is more to do than can be done. */
const TOO_LONG_MS = 1000;
/** What is left over when a rate is over is waited for so long. */
const LONGEST_REST_MS = 15_000;

const say = (text: string) => void process.stdout.write(`${text}\n`);

/** What the API server and etcd take of a client that does nothing else. */
async function measureWrites(plane: ControlPlane): Promise<void> {
  const namespace = 'written';
  await createNamespaces(plane, namespace);
  const channel = new Channel({ server: plane.url });
  const tls = { ca: await readFile(plane.caFile, 'utf8') };
  const names = leaseNames('written', 200);
  for (const name of names) await createLease(plane, { namespace, name }, { holderIdentity: 'holder' });
  const renew = async (index: number) => {
    const answer = await channel.send({
      method: 'PATCH',
      path: leasePath({ namespace, name: names[index % names.length] ?? '' }),
      headers: {
        authorization: `Bearer ${plane.adminToken}`,
        'content-type': 'application/merge-patch+json',
      },
      body: JSON.stringify({ spec: { renewTime: microTime() } }),
      tls,
      signal: AbortSignal.timeout(LONGEST_REST_MS),
    });
    await readWhole(answer);
    if (answer.statusCode !== 200) throw new Error(`a renewal was answered ${answer.statusCode}`);
  };
  const writeAll = async (count: number) => {
    let next = 0;
    const work = async () => {
      while (next < count) await renew(next++);
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, work));
  };
  await writeAll(WRITES / 3);
  const usages = await Promise.all([plane.apiServer, plane.etcd].map(({ pid }) => watchUsage(pid)));
  const startedAt = performance.now();
  await writeAll(WRITES);
  const seconds = (performance.now() - startedAt) / 1000;
  const [apiServer, etcd] = await Promise.all(usages.map((usage) => usage()));
  say(
    `writes by a bare client with ${CONNECTIONS} connections: ${(WRITES / seconds).toFixed(0)}/s; ` +
      `kube-apiserver kept ${apiServer?.cpus.toFixed(2)} CPUs busy, etcd ${etcd?.cpus.toFixed(2)}`,
  );
  channel.cut();
}

const namespace = 'elected';

/** From each release in [from, to) on, as the watch told of it, to the next holder. */
function waitsOf(leases: WatchedObjects<WatchedLease>, names: readonly string[], from: number, to: number) {
  return names.flatMap((name) => {
    const history = leases.history(namespace, name);
    return history.flatMap(({ at, object }, index) => {
      if (at < from || at >= to || object.spec.holderIdentity !== '') return [];
      const next = history.slice(index).find(({ object: later }) => later.spec.holderIdentity !== '');
      return [(next?.at ?? Number.POSITIVE_INFINITY) - at];
    });
  });
}

/** The processors that each keeps busy, as means since it was begun. */
async function watchAll(pids: readonly number[]): Promise<() => Promise<readonly number[]>> {
  const usages = await Promise.all(pids.map((pid) => watchUsage(pid)));
  return async () => (await Promise.all(usages.map((usage) => usage()))).map(({ cpus: busy }) => busy);
}

/** Elections after clean releases, at rates that grow until they take too long; holders renew meanwhile. */
async function measureElections(plane: ControlPlane, coordinator: Coordinator): Promise<void> {
  await createNamespaces(plane, namespace);
  const leases = await watchLeases(plane);
  const programs = await startSimPrograms(plane, namespace);
  const names = leaseNames('elected', LEASES);
  await programs.start(
    names.flatMap((name) => castOf(name, CANDIDATES)),
    RENEW_EVERY_MS,
  );
  await sleep(FRESHNESS_MS + RENEW_EVERY_MS);
  const pids = [coordinator.pid, plane.apiServer.pid, plane.etcd.pid];
  const atRest = await watchAll(pids);
  await sleep(RATE_MS);
  const rest = await atRest();
  say(`${LEASES} Leases renewed every ${RENEW_EVERY_MS} ms: ${inWords(rest, ' CPUs', 3)}`);
  let turn = 0;
  for (const rate of RATES) {
    const busy = await watchAll(pids);
    const from = performance.now();
    let failures = 0;
    for (let released = 0; released < (rate * RATE_MS) / 1000; released++) {
      await sleep(Math.max(0, from + (released * 1000) / rate - performance.now()));
      const name = names[turn++ % names.length] ?? '';
      void releaseOf(name, leases, programs).catch(() => failures++);
    }
    const until = performance.now();
    const areAllOver = () => waitsOf(leases, names, from, until).every(Number.isFinite);
    while (!areAllOver() && performance.now() < until + LONGEST_REST_MS) await sleep(500);
    const seconds = (performance.now() - from) / 1000;
    const during = await busy();
    const waits = waitsOf(leases, names, from, until);
    const { count, p50, p99, max } = distributionOf(waits);
    const each = during.map((cpu, index) => ((cpu - (rest[index] ?? 0)) * seconds * 1000) / count);
    say(
      `${rate} releases/s, ${count} of them, ${failures} failed: p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms, ` +
        `max ${max.toFixed(0)} ms; an election ${inWords(each, ' ms of CPU time', 1)}`,
    );
    if (p50 > TOO_LONG_MS) break;
  }
  await programs.stop();
  leases.stop();
}

function inWords(figures: readonly number[], unit: string, digits: number): string {
  const [ours, apiServer, etcd] = figures.map((figure) => figure.toFixed(digits));
  return `coordinator ${ours}, kube-apiserver ${apiServer}, etcd ${etcd}${unit}`;
}

async function releaseOf(name: string, leases: WatchedObjects<WatchedLease>, programs: SimPrograms) {
  const holder = leases.current(namespace, name)?.spec.holderIdentity;
  if (!holder) throw new Error(`${name} has no holder`);
  await programs.release(holder);
}

const chosen = process.argv.slice(2);
const isChosen = (part: string) => chosen.length === 0 || chosen.includes(part);

say(`${cpus().length} CPUs for everything together`);
if (isChosen('events')) {
  for (const perSecond of EVENT_RATES) {
    const { eventsPerSecond, cpus: busy, microsecondsPerEvent } = await measureEvents(perSecond);
    say(
      `renewals that a coordinator takes from its watch: ${eventsPerSecond.toFixed(0)}/s with ${busy.toFixed(3)} CPUs, ` +
        `${microsecondsPerEvent.toFixed(1)} microseconds of CPU time each`,
    );
  }
}
if (isChosen('writes') || isChosen('elections')) {
  const plane = await startControlPlane();
  try {
    if (isChosen('writes')) await measureWrites(plane);
    if (isChosen('elections')) {
      const coordinator = await startCoordinator(await installRole(plane), ['--log-level', 'info']);
      await untilActive(coordinator);
      await measureElections(plane, coordinator);
      await coordinator.stop();
    }
  } finally {
    await plane.stop();
  }
}
