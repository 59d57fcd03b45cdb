import { ElectionRecords } from '../controller/election-records.ts';
import { CandidateSourcesWatch } from '../controller/watches.ts';
import {
  type CandidateApiVersion,
  candidateResources,
  candidateSources,
} from '../coordination/candidate-sources.ts';
import { decodeLease } from '../coordination/lease.ts';
import { decodeLeaseCandidate } from '../coordination/lease-candidate.ts';
import { type LeaseKey, leaseKey } from '../coordination/lease-key.ts';
import { resourcePaths } from '../coordination/resource-paths.ts';
import { recordPing, recordPingDelivered } from '../election/candidate-observation.ts';
import type { ElectionSettings, Lease, LeaseCandidate, MicroTime, Now } from '../election/model.ts';
import type { ElectionInput } from '../election/view.ts';
import type { HeardDate, KubernetesClient, Query } from '../kubernetes/client.ts';
import { discoverServed } from '../kubernetes/discovery.ts';
import { type ApiError, hasStatus } from '../kubernetes/errors.ts';
import { listAllPages } from '../kubernetes/list-watch.ts';
import { isKubernetesObject, type KubernetesObject } from '../kubernetes/objects.ts';
import { Reflector } from '../kubernetes/reflector.ts';
import { type Clock, sleep } from '../support/clock.ts';

export interface ObservedElection {
  readonly input: ElectionInput;
  /** The Lease as the server sent it; undefined if the Lease does not exist, or if the caller needs only `input`. */
  readonly rawLease: KubernetesObject | undefined;
}

export interface ObservedElections {
  /** The newest served version of each LeaseCandidate API; empty if the server serves no LeaseCandidates. */
  readonly candidateApis: readonly CandidateApiVersion[];
  /** The APIs whose candidates the user may not list. If this applies to all APIs, `observeElections` rejects. */
  readonly forbiddenApis: readonly CandidateApiVersion[];
  readonly now: Now;
  /** The requested Lease, or all Leases with candidates, a strategy or a preferredHolder, sorted by `compareKeys`. */
  readonly elections: readonly ObservedElection[];
}

/** The part of a cluster to inspect, and the settings of the cluster's coordinator. */
export interface ClusterScope {
  readonly client: KubernetesClient;
  readonly clock: Clock;
  readonly settings: ElectionSettings;
  /** The namespace to inspect; empty for all namespaces. */
  readonly namespace: string;
}

const PAGE_DEADLINE_MS = 60_000;

/** Returns the newest version of each LeaseCandidate API that the server serves. Rejects with the client's errors. */
export async function servedCandidateApis(client: KubernetesClient): Promise<readonly CandidateApiVersion[]> {
  const served = await Promise.all(
    candidateSources.map((source) => discoverServed(client, candidateResources[source])),
  );
  return served.filter((apiVersion) => apiVersion !== undefined);
}

/** Reads all elections once. With `leaseName`, returns only that Lease's election, even if there is no such Lease. */
export async function observeElections(
  scope: ClusterScope & { readonly leaseName?: string },
): Promise<ObservedElections> {
  const { client, clock, settings, namespace, leaseName } = scope;
  const candidateApis = await servedCandidateApis(client);
  // Escape the characters that have a meaning in a field selector.
  const fieldSelector = leaseName && `metadata.name=${leaseName.replace(/[\\,=]/g, '\\$&')}`;
  const [leases, { candidates, forbiddenApis }] = await Promise.all([
    listObjects(client, {
      path: resourcePaths.leases(namespace),
      query: { fieldSelector },
      decode: decodeBoth,
    }),
    listCandidates(client, candidateApis, namespace),
  ]);
  const now: Now = { monotonic: clock.now(), wall: clock.wallTime() };
  const records = new ElectionRecords(settings);
  const rawLeases = new Map<LeaseKey, KubernetesObject>();
  for (const { raw, lease } of leases.objects) {
    rawLeases.set(leaseKey(lease.namespace, lease.name), raw);
    recordFirstLease(records, lease, now);
  }
  for (const { candidate } of candidates) {
    // Select the candidates here, because not every server supports a field selector for spec.leaseName.
    if (leaseName === undefined || candidate.leaseName === leaseName)
      recordSeenCandidate(records, candidate, now, settings);
  }
  const asked = leaseName === undefined ? [] : [leaseKey(namespace, leaseName)];
  return { candidateApis, forbiddenApis, now, elections: electionsIn(records, rawLeases, asked) };
}

/** Returns the error for a missing election. If the user may read all namespaces, names those with a Lease of this name. */
export async function missingElection(leaseName: string, scope: ClusterScope): Promise<Error> {
  const text = `there is no Lease ${leaseName} in namespace ${scope.namespace}, and no candidate for it`;
  const everywhere = await observeElections({ ...scope, namespace: '' }).catch(() => undefined);
  // Do not suggest `status -A`: the user may lack the permission to read all namespaces.
  if (!everywhere) return new Error(`${text}; choose another namespace with -n`);
  const others = everywhere.elections.filter(({ input }) => input.name === leaseName);
  const known = others.map(({ input }) => input.namespace).join(', or -n ');
  const advice = 'status -A lists all Leases with candidates, and audit -A lists every Lease';
  return new Error(`${text}; ${known === '' ? advice : `there is one with -n ${known}`}`);
}

interface ObjectsRequest<T> {
  readonly path: string;
  readonly query?: Query;
  /** Called for each object when it arrives, because all raw Pods of a large cluster would not fit into memory. */
  readonly decode: (raw: KubernetesObject) => T;
  readonly pageSize?: number;
}

/** Lists all objects, page by page. Rejects with the errors of the client. */
export async function listObjects<T>(
  client: KubernetesClient,
  { decode, query = {}, ...request }: ObjectsRequest<T>,
): Promise<{ readonly objects: readonly T[]; readonly resourceVersion: string }> {
  let objects: T[] = [];
  const { resourceVersion } = await listAllPages(client, {
    ...request,
    query,
    deadlineMs: PAGE_DEADLINE_MS,
    signal: new AbortController().signal,
    begin() {
      objects = [];
      return (items) => {
        for (const raw of items.filter(isKubernetesObject)) objects.push(decode(raw));
      };
    },
  });
  return { objects, resourceVersion };
}

/** Number of Pods that one request lists. Small, because Pods are large. */
const PODS_PER_PAGE = 500;

/** Lists the Pods of a namespace, or all Pods if `namespace` is empty. Rejects with the errors of the client. */
export async function listPods<T>(
  client: KubernetesClient,
  namespace: string,
  decode: (raw: KubernetesObject) => T,
): Promise<readonly T[]> {
  const request = { path: resourcePaths.pods(namespace), decode, pageSize: PODS_PER_PAGE };
  return (await listObjects(client, request)).objects;
}

export type ListedCandidate = Awaited<ReturnType<typeof listCandidates>>['candidates'][number];

/**
 * Lists the candidates of all `apis`. Skips an API whose candidates the user may not list. Rejects if this applies to
 * all APIs, or if a request fails for another reason.
 */
export async function listCandidates(
  client: KubernetesClient,
  apis: readonly CandidateApiVersion[],
  namespace: string,
  query: Query = {},
) {
  const refusals = new Map<CandidateApiVersion, ApiError>();
  const lists = await Promise.all(
    apis.map(async (apiVersion) => {
      try {
        const { objects } = await listObjects(client, {
          path: resourcePaths.candidates(apiVersion, namespace),
          query,
          // Items of a list may have no apiVersion. Add it, because it identifies the source.
          decode: (raw) => ({ apiVersion, raw, candidate: decodeLeaseCandidate({ ...raw, apiVersion }) }),
        });
        return objects;
      } catch (error) {
        if (!hasStatus(error, 403)) throw error;
        refusals.set(apiVersion, error);
        return [];
      }
    }),
  );
  const [refusal] = refusals.values();
  if (refusal && refusals.size === apis.length) throw refusal;
  return { candidates: lists.flat(), forbiddenApis: apis.filter((api) => refusals.has(api)) };
}

/** Interval between two results of `watchElections`, in ms. Decisions also change with time, without a watch event. */
const LOOK_PERIOD_MS = 500;

/**
 * Yields all elections repeatedly until `signal` aborts, but only while all Leases and candidates are cached. Skips an
 * API that the server does not serve or that the user may not list. Yields nothing while this applies to all APIs. If
 * a watch fails, calls `onError` and watches again.
 */
export async function* watchElections(
  request: ClusterScope & { readonly signal: AbortSignal; readonly onError: (error: unknown) => void },
): AsyncGenerator<{ readonly elections: readonly ObservedElection[]; readonly now: Now }> {
  const { client, clock, settings, namespace, signal, onError } = request;
  const records = new ElectionRecords(settings);
  const rawLeases = new Map<LeaseKey, KubernetesObject>();
  const now = (): Now => ({ monotonic: clock.now(), wall: clock.wallTime() });
  const leases = new Reflector({
    client,
    clock,
    path: resourcePaths.leases(namespace),
    decode: decodeBoth,
    onError,
    handler({ type, object: { raw, lease }, initial }) {
      const key = leaseKey(lease.namespace, lease.name);
      if (type === 'deleted') rawLeases.delete(key);
      else rawLeases.set(key, raw);
      if (type !== 'deleted' && initial) recordFirstLease(records, lease, now());
      else records.seeLease(key, type === 'deleted' ? undefined : lease, now());
    },
  });
  const candidates = new CandidateSourcesWatch({
    client,
    clock,
    namespaces: namespace === '' ? [] : [namespace],
    handler({ type, object, previous }) {
      if (previous && previous.leaseName !== object.leaseName) records.dropCandidate(previous, now());
      if (type === 'deleted') records.dropCandidate(object, now());
      else recordSeenCandidate(records, object, now(), settings);
    },
    onHidden: (candidate) => records.dropCandidate(candidate, now(), true),
    onRevealed: (source) => records.reveal(source),
    onSyncChange: () => {},
    observe: (event) => {
      if (event.type === 'notServed') onError(new Error('the server no longer serves LeaseCandidates'));
      if (event.type === 'discoveryFailed' || event.type === 'watchFailed') onError(event.error);
    },
  });
  leases.start();
  candidates.start();
  try {
    while (!signal.aborted) {
      if (leases.hasSynced() && candidates.hasSynced())
        yield { elections: electionsIn(records, rawLeases), now: now() };
      await sleep(clock, LOOK_PERIOD_MS, signal);
    }
  } finally {
    await Promise.all([leases.stop(), candidates.stop()]);
  }
}

/**
 * Records a Lease as if this process had watched the Lease since its renewTime. Otherwise, a command that reads only
 * once would never find an expired Lease. The coordinator itself does not use renewTime to detect an expiry (rule 8).
 */
export function recordFirstLease(records: ElectionRecords, lease: Lease, now: Now): void {
  records.seeLease(leaseKey(lease.namespace, lease.name), lease, past(now, lease.renewTime));
}

/**
 * Records a candidate. This process sends no pings, so it reads a ping from pingTime: if the candidate has not renewed
 * since then, also records a ping without an ack. Its purpose is not known: the function assumes `election`.
 */
export function recordSeenCandidate(
  records: ElectionRecords,
  candidate: LeaseCandidate,
  now: Now,
  settings: ElectionSettings,
): void {
  records.seeCandidate(candidate, now);
  const { pingTime, renewTime, namespace, leaseName } = candidate;
  if (pingTime === undefined || (renewTime !== undefined && pingTime <= renewTime)) return;
  const key: LeaseKey = leaseKey(namespace, leaseName);
  const sentAt = past(now, pingTime).monotonic;
  records.updateObservation(key, candidate, (known) =>
    recordPingDelivered(recordPing(known, 'election', sentAt, settings), sentAt, sentAt),
  );
}

/** Tolerated difference between clocks, in ms. A smaller difference hardly changes the ages in the output. */
export const TOLERATED_SKEW_MS = 2000;

/** The server's time minus this machine's time, in ms. A range: the server sends whole seconds, and a request takes time. */
export interface ServerAhead {
  readonly min: number;
  readonly max: number;
}

/** This machine's clock. If it differs too much from the server's clock, `wallTime` follows the server's clock. */
export interface ClusterClock extends Clock {
  /** The difference between the clocks at the last answer with a valid Date header; undefined before the first one. */
  readonly serverAheadMs: ServerAhead | undefined;
  hear(heard: HeardDate): void;
}

export function createClusterClock(clock: Clock): ClusterClock {
  let serverAheadMs: ServerAhead | undefined;
  return {
    now: () => clock.now(),
    setTimer: (callback, delayMs) => clock.setTimer(callback, delayMs),
    random: () => clock.random(),
    wallTime: () => clock.wallTime() + BigInt(Math.round((skewOf(serverAheadMs)?.byMs ?? 0) * 1000)),
    get serverAheadMs() {
      return serverAheadMs;
    },
    hear({ date, sentAt, answeredAt }) {
      const milliseconds = Date.parse(date);
      if (Number.isNaN(milliseconds)) return;
      // The server wrote the date between `sentAt` and `answeredAt`, and truncated it to whole seconds.
      const written = BigInt(milliseconds) * 1000n;
      serverAheadMs = {
        min: Number(written - answeredAt) / 1000,
        max: Number(written + 1_000_000n - sentAt) / 1000,
      };
    },
  };
}

/** Returns how far the server's clock is ahead (negative: behind); undefined if unknown or maybe within TOLERATED_SKEW_MS. */
export function skewOf(ahead: ServerAhead | undefined): { byMs: number; text: string } | undefined {
  if (ahead === undefined) return undefined;
  if (ahead.min <= TOLERATED_SKEW_MS && ahead.max >= -TOLERATED_SKEW_MS) return undefined;
  const byMs = (ahead.min + ahead.max) / 2;
  const seconds = (Math.abs(byMs) / 1000).toFixed(0);
  return {
    byMs,
    text: `This machine's clock is about ${seconds} s ${byMs > 0 ? 'behind' : 'ahead of'} the server's`,
  };
}

function decodeBoth(raw: KubernetesObject): { readonly raw: KubernetesObject; readonly lease: Lease } {
  return { raw, lease: decodeLease(raw) };
}

/** Compares by namespace, then by name. */
export function compareKeys(a: LeaseKey, b: LeaseKey): number {
  // "/" sorts after "-" and ".", so kube-system/x would come before kube/x. "\0" sorts before all characters.
  const [left, right] = [a.replace('/', '\0'), b.replace('/', '\0')];
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Returns the elections of all coordinated Leases in `records`, and of all Leases in `asked`. */
function electionsIn(
  records: ElectionRecords,
  rawLeases: ReadonlyMap<LeaseKey, KubernetesObject>,
  asked: readonly LeaseKey[] = [],
): readonly ObservedElection[] {
  const keys = [...new Set([...asked, ...records.coordinatedLeases()])];
  return keys.sort(compareKeys).map((key) => ({ input: records.gather(key), rawLease: rawLeases.get(key) }));
}

/** Returns the moment `since` on both clocks of `now`. Returns `now` if `since` is undefined or in the future. */
function past(now: Now, since: MicroTime | undefined): Now {
  const agoMs = since === undefined ? 0 : Math.max(0, Number(now.wall - since) / 1000);
  return { monotonic: now.monotonic - agoMs, wall: now.wall - BigInt(Math.round(agoMs * 1000)) };
}
