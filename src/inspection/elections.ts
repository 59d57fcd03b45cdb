import { CandidateSourcesWatch } from '../controller/candidate-sources-watch.ts';
import { ElectionRecords } from '../controller/election-records.ts';
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
import type { ElectionInput } from '../election/election-input.ts';
import type { ElectionSettings, Lease, LeaseCandidate } from '../election/model.ts';
import type { MicroTime, Now } from '../election/time.ts';
import type { HeardDate, KubernetesClient } from '../kubernetes/client.ts';
import { discoverServed } from '../kubernetes/discovery.ts';
import { ApiError } from '../kubernetes/errors.ts';
import { listAllPages } from '../kubernetes/list-pages.ts';
import { isKubernetesObject, type KubernetesObject } from '../kubernetes/objects.ts';
import { Reflector } from '../kubernetes/reflector.ts';
import type { Query } from '../kubernetes/request-subject.ts';
import { type Clock, type Instant, sleep } from '../support/clock.ts';

/** One Lease, existing or only stood for, with all that is known of its election. */
export interface ObservedElection {
  readonly input: ElectionInput;
  /** The Lease as the server has it; undefined where there is none. */
  readonly rawLease: KubernetesObject | undefined;
}

/** What was found in one look at a cluster. */
export interface ObservedElections {
  /** What the server serves LeaseCandidates as; nothing: nobody can be a candidate. */
  readonly candidateApis: readonly CandidateApiVersion[];
  /** Those of them that these credentials may not list, so that it is not known who is a candidate there; never all. */
  readonly forbiddenApis: readonly CandidateApiVersion[];
  readonly now: Now;
  /** Those that somebody is a candidate for or that name a strategy, in the order of namespace and name. */
  readonly elections: readonly ObservedElection[];
}

/** What to look at. */
interface LookRequest {
  readonly client: KubernetesClient;
  readonly clock: Clock;
  readonly settings: ElectionSettings;
  /** Empty: all. */
  readonly namespace: string;
  /** Only this Lease, which then is in the result whether it exists or not. */
  readonly leaseName?: string;
  readonly signal?: AbortSignal;
}

const PAGE_DEADLINE_MS = 60_000;

/** What the server serves LeaseCandidates as, of each source in the newest version. Rejects as the client does. */
export async function servedCandidateApis(
  client: KubernetesClient,
  signal?: AbortSignal,
): Promise<readonly CandidateApiVersion[]> {
  const served = await Promise.all(
    candidateSources.map((source) => discoverServed(client, candidateResources[source], signal)),
  );
  return served.filter((apiVersion) => apiVersion !== undefined);
}

/** Looks once at Leases and their candidates. Rejects as the client does, and if no candidates may be listed at all. */
export async function lookAtElections(request: LookRequest): Promise<ObservedElections> {
  const { client, clock, settings, namespace, leaseName, signal } = request;
  const candidateApis = await servedCandidateApis(client, signal);
  const [leases, ...lists] = await Promise.all([
    listObjects(
      client,
      resourcePaths.leases(namespace),
      { fieldSelector: leaseName && `metadata.name=${escaped(leaseName)}` },
      signal,
    ),
    ...candidateApis.map((apiVersion) => listUnlessForbidden(request, apiVersion)),
  ]);
  const refusals = lists.filter((objects) => objects instanceof ApiError);
  if (refusals[0] && refusals.length === lists.length) throw refusals[0];
  const candidates = lists.flatMap((objects) => (objects instanceof ApiError ? [] : objects));
  const now: Now = { monotonic: clock.now(), wall: clock.wallTime() };
  const records = new ElectionRecords(settings);
  const rawLeases = new Map<LeaseKey, KubernetesObject>();
  for (const raw of leases) {
    const lease = decodeLease(raw);
    rawLeases.set(leaseKey(lease.namespace, lease.name), raw);
    seeLeaseFirst(records, lease, now);
  }
  for (const raw of candidates) {
    const candidate = decodeLeaseCandidate(raw);
    // Not every server can select candidates by their leaseName.
    if (leaseName === undefined || candidate.leaseName === leaseName) {
      seeCandidateFirst(records, candidate, now, settings);
    }
  }
  const asked = leaseName === undefined ? [] : [leaseKey(namespace, leaseName)];
  const forbiddenApis = candidateApis.filter((_, index) => lists[index] instanceof ApiError);
  return { candidateApis, forbiddenApis, now, elections: electionsIn(records, rawLeases, asked) };
}

/** All objects of a list that may have several pages. Rejects as the client does. */
export async function listObjects(
  client: KubernetesClient,
  path: string,
  query: Query,
  signal: AbortSignal = new AbortController().signal,
): Promise<readonly KubernetesObject[]> {
  let objects: KubernetesObject[] = [];
  await listAllPages(client, {
    path,
    query,
    deadlineMs: PAGE_DEADLINE_MS,
    signal,
    begin: () => {
      objects = [];
      return (items) => void objects.push(...items.filter(isKubernetesObject));
    },
  });
  return objects;
}

/** What to watch. */
interface WatchRequest {
  readonly client: KubernetesClient;
  readonly clock: Clock;
  readonly settings: ElectionSettings;
  /** Empty: all. */
  readonly namespace: string;
  readonly signal: AbortSignal;
  /** Told of what keeps it from seeing, each time; it goes on trying. */
  readonly onError: (error: unknown) => void;
}

/** How often to look again, in milliseconds: time alone changes what an election comes to. */
const LOOK_PERIOD_MS = 500;

/** The elections as they are, again and again until `signal` aborts; the first time when all is known. */
export async function* watchElections(
  request: WatchRequest,
): AsyncGenerator<{ readonly elections: readonly ObservedElection[]; readonly now: Now }> {
  const { client, clock, settings, namespace, signal, onError } = request;
  const records = new ElectionRecords(settings);
  const rawLeases = new Map<LeaseKey, KubernetesObject>();
  const now = (): Now => ({ monotonic: clock.now(), wall: clock.wallTime() });
  const leases = new Reflector({
    client,
    clock,
    path: resourcePaths.leases(namespace),
    decode: (raw) => ({ raw, lease: decodeLease(raw) }),
    onError,
    handler({ type, object: { raw, lease }, initial }) {
      const key = leaseKey(lease.namespace, lease.name);
      if (type === 'deleted') rawLeases.delete(key);
      else rawLeases.set(key, raw);
      if (initial) seeLeaseFirst(records, lease, now());
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
      else if (type === 'added') seeCandidateFirst(records, object, now(), settings);
      else records.seeCandidate(object, now());
    },
    onHidden: (candidate) => records.dropCandidate(candidate, now(), true),
    onRevealed: (source) => records.reveal(source),
    onSynced: () => {},
    onGone: () => {},
    onSighted: () => {},
    onNotServed: () => onError(new Error('the server serves no LeaseCandidates any more')),
    onDiscoveryError: onError,
    onError,
    observe: () => {},
  });
  leases.start();
  candidates.start();
  try {
    while (!signal.aborted) {
      if (leases.hasSynced() && candidates.hasSynced()) {
        yield { elections: electionsIn(records, rawLeases), now: now() };
      }
      await sleep(clock, LOOK_PERIOD_MS, signal);
    }
  } finally {
    await Promise.all([leases.stop(), candidates.stop()]);
  }
}

/**
 * Takes in a Lease that was never seen before as if it had been watched since its holder renewed it: a coordinator would
 * give it its whole duration from first sight (rule 8), which is right for whoever may give it away, and tells whoever
 * only looks nothing. It is the one place where a clock is held against a holder's.
 */
export function seeLeaseFirst(records: ElectionRecords, lease: Lease, now: Now): void {
  records.seeLease(leaseKey(lease.namespace, lease.name), lease, past(now, lease.renewTime));
}

/**
 * Takes in a candidate that was never seen before. A pingTime after its renewTime is a ping without an answer as yet; who
 * sent it, and what for, cannot be told.
 */
export function seeCandidateFirst(
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

/** Clocks that differ by less do no harm and cannot be told from a slow network, in milliseconds. */
export const SKEW_TOLERATED_MS = 2000;

/** How far the server's clock is ahead of this machine's, in milliseconds: between the two, as it tells whole seconds. */
export interface ServerAhead {
  readonly min: number;
  readonly max: number;
}

/**
 * This machine's clock, whose wall time is the server's where the two differ by more than is tolerated: renewTimes are
 * written by machines of the cluster, and whoever looks at them may sit at any.
 */
export class ClusterClock implements Clock {
  readonly #clock: Clock;
  #serverAheadMs: ServerAhead | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes in the time of an answer. */
  hear({ date, sentAt, answeredAt }: HeardDate): void {
    const milliseconds = Date.parse(date);
    if (Number.isNaN(milliseconds)) return;
    // The server wrote it, cut to the second, at some moment between the two.
    const written = BigInt(milliseconds) * 1000n;
    this.#serverAheadMs = {
      min: Number(written - answeredAt) / 1000,
      max: Number(written + 1_000_000n - sentAt) / 1000,
    };
  }

  /** By the last answer; undefined before the first. */
  get serverAheadMs(): ServerAhead | undefined {
    return this.#serverAheadMs;
  }

  wallTime(): bigint {
    const skew = skewOf(this.#serverAheadMs);
    return this.#clock.wallTime() + (skew === undefined ? 0n : BigInt(Math.round(skew.byMs * 1000)));
  }

  now(): Instant {
    return this.#clock.now();
  }

  setTimer(callback: () => void, delayMs: number): () => void {
    return this.#clock.setTimer(callback, delayMs);
  }

  random(): number {
    return this.#clock.random();
  }
}

/** By how much the server's clock is off this machine's, positive where it is ahead; undefined where that is tolerated. */
export function skewOf(ahead: ServerAhead | undefined): { byMs: number; text: string } | undefined {
  if (ahead === undefined) return undefined;
  if (ahead.min <= SKEW_TOLERATED_MS && ahead.max >= -SKEW_TOLERATED_MS) return undefined;
  const byMs = (ahead.min + ahead.max) / 2;
  const seconds = (Math.abs(byMs) / 1000).toFixed(0);
  return {
    byMs,
    text: `This machine's clock is about ${seconds} s ${byMs > 0 ? 'behind' : 'ahead of'} the server's`,
  };
}

/** A candidate may name a Lease by what means something else in a selector. */
function escaped(value: string): string {
  return value.replace(/[\\,=]/g, '\\$&');
}

/** The elections among what is recorded, and those asked for by name. */
function electionsIn(
  records: ElectionRecords,
  rawLeases: ReadonlyMap<LeaseKey, KubernetesObject>,
  asked: readonly LeaseKey[] = [],
): readonly ObservedElection[] {
  const keys = [...new Set([...asked, ...records.coordinatedLeases()])];
  return keys
    .sort((a, b) => compareKeys(a, b))
    .map((key) => ({ input: records.gather(key), rawLease: rawLeases.get(key) }));
}

function compareKeys(a: LeaseKey, b: LeaseKey): number {
  // A slash sorts after "-" and ".": by the whole key, kube-system/x would come before kube/x.
  const [left, right] = [a.replace('/', '\0'), b.replace('/', '\0')];
  return left < right ? -1 : left > right ? 1 : 0;
}

/** The candidates of one source, or the refusal. */
async function listUnlessForbidden(
  request: LookRequest,
  apiVersion: CandidateApiVersion,
): Promise<readonly KubernetesObject[] | ApiError> {
  try {
    const path = resourcePaths.candidates(apiVersion, request.namespace);
    return await listObjects(request.client, path, {}, request.signal);
  } catch (error) {
    if (error instanceof ApiError && error.status === 403) return error;
    throw error;
  }
}

/** `now`, moved back to `since`; not moved for a moment that is unknown or has yet to come. */
function past(now: Now, since: MicroTime | undefined): Now {
  const agoMs = since === undefined ? 0 : Math.max(0, Number(now.wall - since) / 1000);
  return { monotonic: now.monotonic - agoMs, wall: now.wall - BigInt(Math.round(agoMs * 1000)) };
}
