// The limit of limit.ts, which starts this process and sends it commands.

import { resourcePaths } from '../../../../src/coordination/resource-paths.ts';
import { type ApiRequest, createClient } from '../../../../src/kubernetes/client.ts';
import { loadKubeConfig } from '../../../../src/kubernetes/kubeconfig.ts';
import { LineSplitter, listAllPages, parseWatchEvent } from '../../../../src/kubernetes/list-watch.ts';
import type { KubernetesObject } from '../../../../src/kubernetes/objects.ts';
import { systemClock } from '../../../../src/support/system-clock.ts';
import {
  candidatePath,
  candidatesPath,
  leasePath,
  leasesPath,
  microTime,
} from '../../../control-plane/cluster-objects.ts';
import { BEST, candidateName, leaseOf } from '../casts.ts';
import { obey } from '../commanded-process.ts';
import type { LimitCommand, LimitSite } from './limit.ts';

/** As many as the coordinator has. */
const CONNECTIONS = 32;

/** How long a sign of life counts. */
const FRESH_MS = 5_000;

/**
 * A first election waits for more candidates: until none has appeared for QUIET_MS, at most SETTLE_MS from the first
 * one on (rule 6).
 */
const SETTLE_MS = 1000;
const QUIET_MS = 75;

/** When the next holder of a Lease with missed renewals is pinged, as a share of its duration before the expiry. */
const PINGED_AHEAD = 1 / 3;

/** The duration in a grant until its holder renews it. */
const GRANTED_SECONDS = 10;

interface LeaseObject extends KubernetesObject {
  readonly spec: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    readonly leaseTransitions?: number;
    readonly renewTime?: string;
  };
}

interface CandidateObject extends KubernetesObject {
  readonly spec: { readonly leaseName: string; readonly renewTime?: string };
}

/** A Lease that exists, or that will exist when the write in flight has been answered. */
interface Seat {
  object: LeaseObject | undefined;
  /**
   * When its renewTime was first seen: a Lease's duration counts from then (rule 8). In milliseconds, by
   * performance.now().
   */
  renewalSeenAt: number;
  holder: string;
  timer: NodeJS.Timeout | undefined;
  /** The renewTime before whose expiry the next holder has been pinged. */
  pingedFor: string | undefined;
}

function emptySeat(): Seat {
  return { object: undefined, renewalSeenAt: 0, holder: '', timer: undefined, pingedFor: undefined };
}

const { kubeconfig, namespace } = JSON.parse(process.argv[2] ?? '') as LimitSite;
const client = createClient({
  kubeConfig: loadKubeConfig({ kubeconfig, env: {} }),
  clock: systemClock,
  userAgent: 'the-limit',
  connections: CONNECTIONS,
});
const seats = new Map<string, Seat>();
/** Leases with candidates, and when the first candidate of each appeared. */
const settling = new Map<string, { readonly firstAt: number; readonly timer: NodeJS.Timeout }>();
const candidates = new Map<string, CandidateObject>();
/** The pings whose answers are awaited, by candidate. */
const awaited = new Map<string, { readonly pingTime: string; readonly resolve: () => void }>();

function patch(path: string, body: object): ApiRequest {
  return { method: 'PATCH', path, contentType: 'application/merge-patch+json', body };
}

/** Resolves to the time of the ping; undefined if there is no such candidate. */
async function ping(name: string): Promise<string | undefined> {
  const candidate = candidates.get(name);
  if (!candidate) return undefined;
  const { uid, resourceVersion } = candidate.metadata;
  const pingTime = microTime();
  await client.request(
    patch(candidatePath({ namespace, name }), { metadata: { uid, resourceVersion }, spec: { pingTime } }),
  );
  return pingTime;
}

/** Pings a candidate, and waits for its answer: without it, the rules forbid the grant. */
async function untilAcked(name: string): Promise<void> {
  const pingTime = await ping(name);
  const candidate = candidates.get(name);
  // The watch may show the answer before the request has returned.
  if (pingTime === undefined || !candidate || hasAnswered(candidate, pingTime)) return;
  await new Promise<void>((resolve) => awaited.set(name, { pingTime, resolve }));
}

/** Both times have the same format, so text order is time order. */
function hasAnswered({ spec: { renewTime = '' } }: CandidateObject, pingTime: string): boolean {
  return renewTime >= pingTime;
}

function grantTo(holder: string, leaseTransitions: number) {
  const now = microTime();
  return {
    holderIdentity: holder,
    leaseDurationSeconds: GRANTED_SECONDS,
    acquireTime: now,
    renewTime: now,
    leaseTransitions,
    strategy: 'OldestEmulationVersion',
  };
}

/** Holders only yield to the next best. */
function successorOf(holder: string): string {
  const lease = leaseOf(holder);
  return candidateName(lease, Number(holder.slice(lease.length + 1)) + 1);
}

async function create(lease: string): Promise<void> {
  settling.delete(lease);
  seats.set(lease, emptySeat());
  const holder = candidateName(lease, BEST);
  await client.request({
    method: 'POST',
    path: leasesPath(namespace),
    body: {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { namespace, name: lease },
      spec: grantTo(holder, 0),
    },
  });
}

async function grant(object: LeaseObject, holder: string): Promise<void> {
  const { name, uid, resourceVersion } = object.metadata;
  const { leaseTransitions = 0 } = object.spec;
  await client.request(
    patch(leasePath({ namespace, name }), {
      metadata: { uid, resourceVersion },
      spec: { ...grantTo(holder, leaseTransitions + 1), preferredHolder: null },
    }),
  );
}

async function seeCandidate(candidate: CandidateObject): Promise<void> {
  const { name } = candidate.metadata;
  const { leaseName, renewTime = '' } = candidate.spec;
  candidates.set(name, candidate);
  const ack = awaited.get(name);
  if (ack && hasAnswered(candidate, ack.pingTime)) {
    awaited.delete(name);
    ack.resolve();
  }
  if (seats.has(leaseName)) return;
  const now = performance.now();
  const { timer, firstAt } = settling.get(leaseName) ?? { timer: undefined, firstAt: now };
  clearTimeout(timer);
  const dueMs = Math.min(QUIET_MS, firstAt + SETTLE_MS - now);
  settling.set(leaseName, { firstAt, timer: setTimeout(() => void create(leaseName).catch(report), dueMs) });
  const isFresh = Date.now() - Date.parse(renewTime) < FRESH_MS;
  if (!timer && !isFresh) await ping(name);
}

async function seeLease(object: LeaseObject): Promise<void> {
  const { name } = object.metadata;
  const seat = seats.get(name) ?? emptySeat();
  seats.set(name, seat);
  const former = seat.holder;
  // The timer is only set again if it would be late; otherwise it sets itself again when it fires.
  if (seat.object?.spec.leaseDurationSeconds !== object.spec.leaseDurationSeconds) {
    clearTimeout(seat.timer);
    seat.timer = undefined;
  }
  if (seat.object?.spec.renewTime !== object.spec.renewTime) seat.renewalSeenAt = performance.now();
  seat.object = object;
  seat.holder = object.spec.holderIdentity || former;
  if (object.spec.holderIdentity) {
    seat.timer ??= setTimeout(() => void whenDue(seat).catch(report), untilDue(seat));
    return;
  }
  clearTimeout(seat.timer);
  seat.timer = undefined;
  if (former === '') return;
  const next = successorOf(former);
  await untilAcked(next);
  await grant(object, next);
}

/** The time until its next holder must be pinged, or get the Lease after the ping. */
function untilDue({ object, renewalSeenAt, pingedFor }: Seat): number {
  if (!object) return 0;
  const { renewTime, leaseDurationSeconds = 0 } = object.spec;
  const aheadMs = pingedFor === renewTime ? 0 : leaseDurationSeconds * 1000 * PINGED_AHEAD;
  return renewalSeenAt + leaseDurationSeconds * 1000 - aheadMs - performance.now();
}

async function whenDue(seat: Seat): Promise<void> {
  seat.timer = undefined;
  const { object } = seat;
  // It has been released or renewed since the timer was set.
  if (!object?.spec.holderIdentity) return;
  const remaining = untilDue(seat);
  if (remaining <= 0) {
    const next = successorOf(object.spec.holderIdentity);
    if (seat.pingedFor === object.spec.renewTime) return grant(object, next);
    seat.pingedFor = object.spec.renewTime;
    void ping(next).catch(report);
  }
  // Node's timers may be early by a fraction of a millisecond.
  seat.timer = setTimeout(() => void whenDue(seat).catch(report), Math.max(0, Math.ceil(untilDue(seat))));
}

/** A failed write is measured as a wait that does not end. */
function report(error: unknown): void {
  process.stderr.write(`the limit: ${String(error)}\n`);
}

/** Calls `see` for each existing object and each change. */
async function follow<T extends KubernetesObject>(
  path: string,
  see: (object: T) => Promise<void>,
): Promise<void> {
  const list = (await client.request({ method: 'GET', path })) as {
    items?: readonly T[];
    metadata?: { resourceVersion?: string };
  };
  for (const item of list.items ?? []) void see(item).catch(report);
  let resourceVersion = list.metadata?.resourceVersion ?? '';
  const watchOn = async () => {
    const events = await client.stream({ method: 'GET', path, query: { watch: '1', resourceVersion } });
    return async () => {
      const lines = new LineSplitter(1 << 22);
      for await (const chunk of events) {
        for (const line of lines.push(chunk)) {
          const event = parseWatchEvent(line, path);
          if (event.type === 'BOOKMARK') continue;
          resourceVersion = event.object.metadata.resourceVersion ?? resourceVersion;
          if (event.type !== 'DELETED') void see(event.object as T).catch(report);
        }
      }
    };
  };
  let read = await watchOn();
  void (async () => {
    for (;;) {
      await read();
      read = await watchOn();
    }
  })();
}

/** Opens all connections and compiles the code, because a limit has no slow first time. */
async function warmUp(): Promise<void> {
  const path = leasesPath('default');
  const names = Array.from({ length: CONNECTIONS }, (_, index) => `warm-up-${index}`);
  const spec = grantTo('nobody', 0);
  await Promise.all(
    names.map(async (name) => {
      const body = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name }, spec };
      await client.request({ method: 'POST', path, body });
      for (let turn = 0; turn < 20; turn += 1)
        await client.request(
          patch(leasePath({ namespace: 'default', name }), { spec: grantTo('nobody', turn) }),
        );
    }),
  );
}

/** As the coordinator lists them. */
async function list(path: string): Promise<void> {
  const { signal } = new AbortController();
  await listAllPages(client, { path, query: {}, deadlineMs: 60_000, signal, begin: () => () => {} });
}

obey<LimitCommand>(async ({ op }) => {
  const startedAt = performance.now();
  if (op === 'list') {
    await Promise.all([
      list(resourcePaths.leases('')),
      list(resourcePaths.candidates('coordination.k8s.io/v1beta1', '')),
    ]);
  } else {
    await warmUp();
    await follow<LeaseObject>(leasesPath(namespace), seeLease);
    await follow<CandidateObject>(candidatesPath({ namespace }), seeCandidate);
  }
  return performance.now() - startedAt;
});
