import { ElectionRecords } from '../controller/election-records.ts';
import { decodeLease } from '../coordination/lease.ts';
import { decodeLeaseCandidate } from '../coordination/lease-candidate.ts';
import {
  type LeaseCandidateVersion,
  leaseCandidateResource,
} from '../coordination/lease-candidate-version.ts';
import { type LeaseKey, leaseKey } from '../coordination/lease-key.ts';
import { resourcePaths } from '../coordination/resource-paths.ts';
import type { ElectionInput } from '../election/election-input.ts';
import type { ElectionSettings } from '../election/model.ts';
import type { Now } from '../election/time.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { discoverServedVersion } from '../kubernetes/discovery.ts';
import { listAllPages } from '../kubernetes/list-pages.ts';
import { isKubernetesObject, type KubernetesObject } from '../kubernetes/objects.ts';
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
  /** Undefined: the server serves LeaseCandidates in no version, so that nobody can be a candidate. */
  readonly candidateVersion: LeaseCandidateVersion | undefined;
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

const PAGE_SIZE = 500;
const PAGE_DEADLINE_MS = 60_000;

/** The newest version in which the server has LeaseCandidates; undefined: in none. Rejects as the client does. */
export function servedCandidateVersion(
  client: KubernetesClient,
  signal?: AbortSignal,
): Promise<LeaseCandidateVersion | undefined> {
  return discoverServedVersion(client, leaseCandidateResource, signal);
}

/** Looks once at Leases and their candidates. Rejects as the client does. */
export async function lookAtElections(request: LookRequest): Promise<ObservedElections> {
  const { client, clock, settings, namespace, leaseName, signal } = request;
  const candidateVersion = await servedCandidateVersion(client, signal);
  const [leases, candidates] = await Promise.all([
    list(request, resourcePaths.leases(namespace), leaseName && `metadata.name=${escaped(leaseName)}`),
    candidateVersion === undefined
      ? []
      : list(request, resourcePaths.candidates(candidateVersion, namespace)),
  ]);
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
  return { candidateVersion, now, elections: electionsIn(records, rawLeases, asked) };
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

async function list(
  { client, signal = new AbortController().signal }: LookRequest,
  path: string,
  fieldSelector?: string,
): Promise<readonly KubernetesObject[]> {
  let objects: KubernetesObject[] = [];
  await listAllPages(client, {
    path,
    query: { fieldSelector },
    pageSize: PAGE_SIZE,
    deadlineMs: PAGE_DEADLINE_MS,
    signal,
    begin: () => {
      objects = [];
      return (items) => objects.push(...items.filter(isKubernetesObject));
    },
  });
  return objects;
}
