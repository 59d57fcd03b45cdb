import { CandidateSourcesWatch } from '../controller/candidate-sources-watch.ts';
import { ElectionRecords } from '../controller/election-records.ts';
import { decodeLease } from '../coordination/lease.ts';
import { type LeaseKey, leaseKey } from '../coordination/lease-key.ts';
import { resourcePaths } from '../coordination/resource-paths.ts';
import type { ElectionSettings } from '../election/model.ts';
import type { Now } from '../election/time.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import type { KubernetesObject } from '../kubernetes/objects.ts';
import { Reflector } from '../kubernetes/reflector.ts';
import { type Clock, sleep } from '../support/clock.ts';
import { electionsIn, type ObservedElection } from './elections.ts';
import { seeCandidateFirst, seeLeaseFirst } from './first-sight.ts';

/** What to watch. */
export interface WatchRequest {
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
