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
import type { ElectionInput } from '../election/election-input.ts';
import type { ElectionSettings } from '../election/model.ts';
import type { Now } from '../election/time.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { discoverServed } from '../kubernetes/discovery.ts';
import { ApiError } from '../kubernetes/errors.ts';
import { listAllPages } from '../kubernetes/list-pages.ts';
import { isKubernetesObject, type KubernetesObject } from '../kubernetes/objects.ts';
import type { Query } from '../kubernetes/request-subject.ts';
import type { Clock } from '../support/clock.ts';
import { seeCandidateFirst, seeLeaseFirst } from './first-sight.ts';

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
export interface LookRequest {
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

/** A candidate may name a Lease by what means something else in a selector. */
function escaped(value: string): string {
  return value.replace(/[\\,=]/g, '\\$&');
}

/** The elections among what is recorded, and those asked for by name. */
export function electionsIn(
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
