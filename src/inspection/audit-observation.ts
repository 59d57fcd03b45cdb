import { decodeLease } from '../coordination/lease.ts';
import { leaseKey } from '../coordination/lease-key.ts';
import { timeField } from '../coordination/raw-object.ts';
import { resourcePaths } from '../coordination/resource-paths.ts';
import {
  type Instant,
  type Lease,
  type LeaseCandidate,
  type MicroTime,
  NODE_LEASES,
  type Now,
} from '../election/model.ts';
import { ApiError, hasStatus } from '../kubernetes/errors.ts';
import { runWatch } from '../kubernetes/list-watch.ts';
import type { KubernetesObject } from '../kubernetes/objects.ts';
import { sleep } from '../support/clock.ts';
import { isJsonObject } from '../support/json.ts';
import { messageOf } from '../support/text.ts';
import { type AuditedPod, decodeAuditedPod } from './audit-pods.ts';
import {
  type ClusterScope,
  listCandidates,
  listObjects,
  listPods,
  servedCandidateApis,
} from './elections.ts';

/** A Lease with the renewals of its present holder, as far as this process has seen them. */
export interface WatchedLease {
  readonly lease: Lease;
  readonly createdAt: MicroTime | undefined;
  readonly renewals: SeenRenewals;
}

/**
 * The renewals that this process has seen. If renewTime equals acquireTime, a client has just taken or granted the Lease.
 * The count and the intervals omit the first renewal after that, because it does not come after the usual interval.
 */
interface SeenRenewals {
  readonly count: number;
  readonly firstAt: Instant;
  /** When this process saw the last renewal. Before any renewal: when it first saw this holder. */
  readonly lastAt: Instant;
  /** The longest wait for a renewal, in milliseconds. Does not include the time since the last renewal. */
  readonly longestMs: number;
  /** The difference between the last two renewTimes in the Lease, in milliseconds; 0 if not known. */
  readonly stampedMs: number;
}

/** A part of the cluster that the audit could not read completely. */
export interface UnreadPart {
  readonly what: 'pods' | 'leasecandidates' | 'renewals';
  /** The server's answer, such as `403 Forbidden`, another error, or how the watch ended. */
  readonly why: string;
  /** The missing permission, such as `list pods`; undefined if the cause is not a missing permission. */
  readonly grant: string | undefined;
}

type Heartbeats = Readonly<Record<'nodes' | 'apiServers', number>>;

export interface AuditObservation {
  readonly leases: readonly WatchedLease[];
  readonly heartbeats: Heartbeats;
  readonly candidates: readonly LeaseCandidate[];
  /** The Pods of the examined namespaces; undefined if the audit could not list Pods. */
  readonly pods: readonly AuditedPod[] | undefined;
  readonly unread: readonly UnreadPart[];
  /** When the observation of the Leases ended. */
  readonly now: Now;
  readonly watchedMs: number;
}

interface AuditRequest extends Omit<ClusterScope, 'settings'> {
  /** How long to watch Leases, in milliseconds. With 0, the audit only lists them once. */
  readonly watchMs: number;
  readonly signal: AbortSignal;
  readonly onWatch: (leases: number) => void;
}

/** Each API server renews its own Lease with this label, to show the other API servers that it runs. */
const API_SERVER_LABEL = 'apiserver.kubernetes.io/identity';
/** Timeout of a watch without events, in ms. Longer than the longest audit (1 h): a lack of renewals is no failure. */
const STALL_MS = 2 * 3_600_000;
/** If the server closes a watch within this time, in ms, the audit reports a problem: a watch requests at least 5 min. */
const MIN_LIFETIME_MS = 60_000;

/**
 * Lists and watches Leases. Lists Pods and LeaseCandidates only afterwards, so that they match the holders at the end
 * of the watch. `unread` contains each list of Pods or LeaseCandidates that the server answers with 403 or 404, and a
 * watch that stalls or fails, or that the server closes in less than MIN_LIFETIME_MS. Rejects with all other errors.
 */
export async function observeForAudit(request: AuditRequest): Promise<AuditObservation> {
  const { client, namespace } = request;
  const watched = await watchLeases(request);
  const apis = await servedCandidateApis(client);
  const pods = await readUnlessRefused('pods', 'list pods', listPods(client, namespace, decodeAuditedPod));
  const lists = await Promise.all(
    apis.map((api) => {
      const right = `list leasecandidates of ${api.split('/', 1)[0]}`;
      return readUnlessRefused('leasecandidates', right, listCandidates(client, [api], namespace));
    }),
  );
  return {
    ...watched,
    candidates: lists.flatMap(({ found }) => found?.candidates.map(({ candidate }) => candidate) ?? []),
    pods: pods.found,
    unread: [...watched.unread, ...[pods, ...lists].flatMap(({ unread }) => unread ?? [])],
  };
}

async function watchLeases(request: AuditRequest): Promise<Omit<AuditObservation, 'candidates' | 'pods'>> {
  const { client, clock, namespace, watchMs, onWatch } = request;
  const { objects, resourceVersion } = await listObjects(client, {
    path: resourcePaths.leases(namespace),
    decode: (raw) => heartbeatOf(raw) ?? seeLease(undefined, raw, clock.now()),
  });
  const leases = new Map<string, WatchedLease>();
  const heartbeats = { nodes: 0, apiServers: 0 };
  for (const seen of objects) {
    if (typeof seen === 'string') heartbeats[seen] += 1;
    else leases.set(leaseKey(seen.lease.namespace, seen.lease.name), seen);
  }
  const isWatching = watchMs > 0 && leases.size > 0;
  const startedAt = clock.now();
  if (isWatching) onWatch(leases.size);
  const unread = isWatching ? await followLeases(request, leases, resourceVersion) : [];
  const now = { monotonic: clock.now(), wall: clock.wallTime() };
  const watchedMs = isWatching ? now.monotonic - startedAt : 0;
  return { leases: [...leases.values()], heartbeats, unread, now, watchedMs };
}

/** Updates `leases` for `watchMs`, or until the signal aborts. If the updates end earlier, returns why. */
async function followLeases(
  { client, clock, namespace, watchMs, signal }: AuditRequest,
  leases: Map<string, WatchedLease>,
  resourceVersion: string,
): Promise<readonly UnreadPart[]> {
  const isOver = new AbortController();
  void sleep(clock, watchMs, AbortSignal.any([signal, isOver.signal])).then(() => isOver.abort());
  let version = resourceVersion;
  const watch = () =>
    runWatch(client, clock, {
      path: resourcePaths.leases(namespace),
      query: { fieldSelector: `metadata.namespace!=${NODE_LEASES}` },
      resourceVersion: version,
      stallMs: STALL_MS,
      signal: isOver.signal,
      onEvent(event) {
        if (event.type === 'BOOKMARK') {
          version = event.resourceVersion;
          return;
        }
        const { type, object } = event;
        version = object.metadata.resourceVersion ?? version;
        if (heartbeatOf(object)) return;
        const key = leaseKey(object.metadata.namespace ?? '', object.metadata.name);
        if (type === 'DELETED') leases.delete(key);
        else leases.set(key, seeLease(leases.get(key), object, clock.now()));
      },
    });
  try {
    for (;;) {
      const openedAt = clock.now();
      const end = await watch();
      if (end === 'aborted') return [];
      // Watch again if the server has only closed the watch at the end of its lifetime. Any other end is a problem.
      if (end !== 'closed' || clock.now() - openedAt < MIN_LIFETIME_MS)
        return [{ what: 'renewals', why: `the watch was ${end}`, grant: undefined }];
    }
  } catch (error) {
    return [unreadFor('renewals', error, 'watch leases')];
  } finally {
    isOver.abort();
  }
}

/** Returns the observation of a Lease after this process saw the object `raw` at `at`. */
export function seeLease(before: WatchedLease | undefined, raw: KubernetesObject, at: Instant): WatchedLease {
  const lease = decodeLease(raw, before?.lease);
  const createdAt = timeField(raw.metadata, 'creationTimestamp');
  return { lease, createdAt, renewals: renewalsAfter(before, lease, at) };
}

function renewalsAfter(known: WatchedLease | undefined, after: Lease, at: Instant): SeenRenewals {
  if (known?.lease.uid !== after.uid || known.lease.holderIdentity !== after.holderIdentity)
    return { count: 0, firstAt: at, lastAt: at, longestMs: 0, stampedMs: 0 };
  const { lease: before, renewals } = known;
  const { renewTime } = after;
  if (renewTime === undefined || renewTime === before.renewTime) return renewals;
  if (before.renewTime === before.acquireTime) return { ...renewals, lastAt: at };
  const { count, firstAt, lastAt, longestMs } = renewals;
  return {
    count: count + 1,
    firstAt: count === 0 ? at : firstAt,
    lastAt: at,
    longestMs: Math.max(longestMs, at - lastAt),
    stampedMs: before.renewTime === undefined ? 0 : Number(renewTime - before.renewTime) / 1000,
  };
}

function heartbeatOf({ metadata: { namespace, labels } }: KubernetesObject): keyof Heartbeats | undefined {
  if (namespace === NODE_LEASES) return 'nodes';
  return isJsonObject(labels) && API_SERVER_LABEL in labels ? 'apiServers' : undefined;
}

/** Returns the result of `reading`. If the server answers 403 or 404, returns why the part could not be read. */
async function readUnlessRefused<T>(
  what: UnreadPart['what'],
  right: string,
  reading: Promise<T>,
): Promise<{ readonly found?: T; readonly unread?: UnreadPart }> {
  try {
    return { found: await reading };
  } catch (error) {
    if (!hasStatus(error, 403, 404)) throw error;
    return { unread: unreadFor(what, error, right) };
  }
}

function unreadFor(what: UnreadPart['what'], error: unknown, right: string): UnreadPart {
  if (!(error instanceof ApiError)) return { what, why: messageOf(error), grant: undefined };
  const grant = error.status === 403 ? right : undefined;
  return { what, why: `${error.status} ${error.reason}`.trim(), grant };
}
