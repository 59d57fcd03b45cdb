// Simulates the programs of sim-programs.ts, which starts this process and sends it commands.
import { readFile } from 'node:fs/promises';
import { Agent } from 'node:https';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { apiRequest } from '../../control-plane/api-request.ts';
import {
  candidatePath,
  candidatesPath,
  createCandidate,
  createLease,
  type Lease,
  leasePath,
  leasesPath,
  microTime,
} from '../../control-plane/cluster-objects.ts';
import type { CoordinationServer } from '../../control-plane/coordination-plane.ts';
import { followObjects } from '../../control-plane/followed-objects.ts';
import type { WatchedCandidate, WatchedLease } from '../../control-plane/watched-objects.ts';
import { obey } from './commanded-process.ts';
import type { Command, SimProgram, SimSite } from './sim-programs.ts';

/** client-go reads every 2 s, times a random 1 to 2.2: by then it has seen its grant. */
const LONGEST_LOOK_MS = 4_400;

/** How long client-go waits after a renewal that failed. */
const RETRY_MS = 2_000;

/** As many parallel requests as a kube-apiserver handles by default for writes. */
const CONNECTIONS = 200;

/** A Lease and its simulated holder. */
interface Seat {
  object: Lease;
  holder: string | undefined;
  /** The next renewal. */
  timer: NodeJS.Timeout | undefined;
  /** The renewal in flight. */
  renewing: Promise<void> | undefined;
}

const site = JSON.parse(process.argv[2] ?? '') as SimSite;
const { namespace } = site;
const plane = await connect();
const alive = new Map<string, SimProgram>();
const seats = new Map<string, Seat>();
let { renewEveryMs, leaseDurationSeconds } = { renewEveryMs: 0, leaseDurationSeconds: 15 };
let acks = 0;

async function connect(): Promise<CoordinationServer> {
  const ca = await readFile(site.caFile, 'utf8');
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const access = { url: site.url, ca, token: site.adminToken, agent };
  return {
    ...site,
    async request<T>(method: string, path: string, body?: unknown): Promise<T> {
      const { status, text } = await apiRequest(access, method, path, body);
      if (status < 200 || status > 299) throw new Error(`${method} ${path}: ${status} ${text.trim()}`);
      return JSON.parse(text) as T;
    },
  };
}

/** Like client-go: an unconditional update, and after a conflict it uses the next version of the object. */
function answerPing(candidate: WatchedCandidate): void {
  const { metadata, spec } = candidate;
  const { pingTime, renewTime = '' } = spec;
  if (pingTime === undefined || pingTime <= renewTime || !alive.has(metadata.name)) return;
  const path = candidatePath({ namespace, name: metadata.name });
  plane.request('PUT', path, { ...candidate, spec: { ...spec, renewTime: microTime() } }).then(
    () => {
      acks += 1;
    },
    () => {},
  );
}

function seeLease(object: Lease): void {
  const { name } = object.metadata;
  const seat = seats.get(name) ?? { object, holder: undefined, timer: undefined, renewing: undefined };
  seats.set(name, seat);
  // A watch that is behind reports versions that were overwritten long ago.
  if (revisionOf(object) < revisionOf(seat.object)) return;
  seat.object = object;
  const { holderIdentity = '' } = object.spec;
  if (holderIdentity !== seat.holder) {
    clearTimeout(seat.timer);
    seat.timer = undefined;
    seat.holder = holderIdentity;
  }
  if (!seat.timer && !seat.renewing) scheduleRenewal(seat, untilNextLookMs());
}

/** A grant comes at any time between two reads. */
function untilNextLookMs(): number {
  return Math.random() * Math.min(renewEveryMs, LONGEST_LOOK_MS);
}

/** client-go never renews an expired Lease, or one with another preferredHolder. */
function isToRenew({ object }: Seat): boolean {
  const { holderIdentity = '', preferredHolder = '' } = object.spec;
  return alive.has(holderIdentity) && preferredHolder === '' && expiryOf(object) > Date.now();
}

/** The API server's resourceVersions are increasing numbers, as Kubernetes guarantees since 1.35. */
function revisionOf({ metadata }: Lease): number {
  return Number(metadata.resourceVersion);
}

function expiryOf({ spec }: Lease): number {
  return Date.parse(spec.renewTime ?? '') + (spec.leaseDurationSeconds ?? 0) * 1000;
}

function scheduleRenewal(seat: Seat, delayMs: number): void {
  if (!isToRenew(seat)) return;
  seat.timer = setTimeout(() => {
    seat.timer = undefined;
    if (!isToRenew(seat)) return;
    seat.renewing = renew(seat);
  }, delayMs);
}

async function renew(seat: Seat): Promise<void> {
  const { holder } = seat;
  const spec = {
    ...seat.object.spec,
    renewTime: microTime(),
    leaseDurationSeconds,
  };
  const wasRenewed = await writeLease(seat, spec);
  seat.renewing = undefined;
  if (seat.holder !== holder) scheduleRenewal(seat, untilNextLookMs());
  else scheduleRenewal(seat, wasRenewed ? renewEveryMs : RETRY_MS);
}

/** Whether the server accepted it. */
async function writeLease(seat: Seat, spec: Lease['spec']): Promise<boolean> {
  const path = leasePath({ namespace, name: seat.object.metadata.name });
  try {
    takeNewer(seat, await plane.request<Lease>('PUT', path, { ...seat.object, spec }));
    return true;
  } catch {
    return false;
  }
}

/** An answer may arrive after the watch has reported a later version, for example the next grant. */
function takeNewer(seat: Seat, object: Lease): void {
  if (revisionOf(object) > revisionOf(seat.object)) seat.object = object;
}

async function start(programs: readonly SimProgram[]): Promise<void> {
  for (const program of programs) if (!program.isSilent) alive.set(program.name, program);
  const holders = programs.filter(({ isHolder }) => isHolder);
  await inTurn(holders, async ({ lease, name }) => {
    const now = microTime();
    const created = await createLease(
      plane,
      { namespace, name: lease },
      {
        holderIdentity: name,
        leaseDurationSeconds,
        acquireTime: now,
        renewTime: now,
        strategy: 'OldestEmulationVersion',
      },
    );
    // A caller that knows that they have started may crash one before the watch has reported its Lease.
    seeLease(created);
  });
  await inTurn(programs, ({ name, lease, emulationVersion, renewedAgoMs = 0 }) =>
    createCandidate(plane, {
      namespace,
      name,
      lease,
      binaryVersion: '1.40.0',
      emulationVersion,
      renewedAgoMs,
    }),
  );
}

/** The creation time is set when the candidate's turn comes, not while it waits for a connection. */
async function inTurn<T>(items: readonly T[], handle: (item: T) => Promise<unknown>): Promise<void> {
  const rest = [...items].reverse();
  const work = async () => {
    for (let item = rest.pop(); item !== undefined; item = rest.pop()) await handle(item);
  };
  await Promise.all(Array.from({ length: CONNECTIONS / 4 }, work));
}

async function crash(name: string): Promise<number> {
  return expiryOf((await stop(name)).object);
}

async function release(name: string): Promise<number> {
  const seat = await stop(name);
  for (;;) {
    const now = microTime();
    const { leaseTransitions } = seat.object.spec;
    const isReleased = await writeLease(seat, {
      holderIdentity: '',
      leaseDurationSeconds: 1,
      acquireTime: now,
      renewTime: now,
      ...(leaseTransitions === undefined ? {} : { leaseTransitions }),
    });
    if (isReleased) return 0;
    // Another client has written since the last read: read again.
    await sleep(10);
    takeNewer(seat, await plane.request('GET', leasePath({ namespace, name: seat.object.metadata.name })));
    if (seat.object.spec.holderIdentity !== name)
      throw new Error(`${name} lost its Lease before it released it`);
  }
}

/** From now on it neither renews nor answers, after the write in progress. */
async function stop(name: string): Promise<Seat> {
  const seat = seats.get(alive.get(name)?.lease ?? '');
  if (seat?.object.spec.holderIdentity !== name) throw new Error(`${name} holds no Lease`);
  alive.delete(name);
  clearTimeout(seat.timer);
  await seat.renewing;
  return seat;
}

async function execute(command: Command): Promise<number> {
  switch (command.op) {
    case 'pace':
      ({ renewEveryMs, leaseDurationSeconds = 15 } = command.pace);
      return 0;
    case 'start':
      await start(command.programs);
      return 0;
    case 'crash':
      return crash(command.name);
    case 'release':
      return release(command.name);
    case 'remove':
      await inTurn(command.names, (name) => plane.request('DELETE', candidatePath({ namespace, name })));
      return 0;
    case 'countAcks':
      return acks;
    case 'lateness': {
      const late = delay.percentile(99) / 1e6 - delayResolutionMs;
      delay.reset();
      return Math.max(0, late);
    }
  }
}

async function follow(): Promise<void> {
  await followObjects<WatchedLease>(plane, leasesPath(namespace), (type, object) => {
    if (type !== 'DELETED') seeLease(object);
  });
  await followObjects<WatchedCandidate>(plane, candidatesPath({ namespace }), (type, object) => {
    if (type !== 'DELETED') answerPing(object);
  });
}

const delayResolutionMs = 5;
const delay = monitorEventLoopDelay({ resolution: delayResolutionMs });
delay.enable();

const following = follow();
obey<Command>(async (command) => {
  await following;
  return execute(command);
});
