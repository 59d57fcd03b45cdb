import { samplesOf, sumOf } from '../e2e/prometheus-text.ts';
import type { Replica } from './replica.ts';

export type Counts = Readonly<Record<string, number>>;

/** The resources of one replica at one moment, after a garbage collection. */
export interface Sample {
  readonly replica: string;
  /** Time since the start of the soak, in milliseconds. */
  readonly atMs: number;
  readonly isActive: boolean;
  /** JavaScript objects, and their buffers outside of the heap. */
  readonly usedBytes: number;
  readonly rssBytes: number;
  /** Open file descriptors by kind. */
  readonly descriptors: Counts;
  /** Resources that keep Node's event loop alive, by kind: timers, sockets, servers. */
  readonly resources: Counts;
  /** Number of elections that this replica has completed. */
  readonly elections: number;
  /** Number of Events that it has sent, even without success: it remembers them. */
  readonly events: number;
}

/** @throws Error if the replica does not answer */
export async function takeSample(replica: Replica, atMs: number): Promise<Sample> {
  await replica.inspector.collectGarbage();
  const descriptors = await replica.descriptors();
  const text = await replica.get('/metrics');
  const usedBytes = sumOf(text, 'nodejs_heap_size_used_bytes') + sumOf(text, 'nodejs_external_memory_bytes');
  return {
    replica: replica.name,
    atMs: Math.round(atMs),
    isActive: sumOf(text, 'leader_election_master_status') === 1,
    usedBytes,
    rssBytes: sumOf(text, 'process_resident_memory_bytes'),
    descriptors,
    resources: Object.fromEntries(
      samplesOf(text, 'nodejs_active_resources').map(({ labels, value }) => [labels['type'] ?? '', value]),
    ),
    elections: sumOf(text, 'cle_elections_total'),
    events:
      sumOf(text, 'cle_events_total', { result: 'written' }) +
      sumOf(text, 'cle_events_total', { result: 'failed' }),
  };
}
