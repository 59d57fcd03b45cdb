import { candidatesPath, leasesPath } from '../../../control-plane/cluster-objects.ts';
import type { CoordinationServer } from '../../../control-plane/coordination-plane.ts';
import { type ChangeType, followObjects } from '../../../control-plane/followed-objects.ts';
import type { WatchedCandidate, WatchedLease } from '../../../control-plane/watched-objects.ts';
import { leaseOf } from '../casts.ts';

/** A Lease has got a holder, or lost its holder. */
export interface Turn {
  /** Empty: none. */
  readonly holder: string;
  /** When it was seen, in milliseconds since the Unix epoch, fractions included. */
  readonly at: number;
  /** Whether the holder has renewed it since. */
  isTakenUp: boolean;
}

/**
 * The holder of each Lease of a namespace, and since when. Nothing else is stored, because there may be tens of
 * thousands of objects.
 */
export class ElectionLog {
  readonly #turns = new Map<string, Turn[]>();
  readonly #appearances = new Map<string, number>();
  readonly #firsts = new Map<string, number>();

  seeLease(type: ChangeType, { metadata, spec }: Pick<WatchedLease, 'metadata' | 'spec'>, at: number): void {
    const turns = this.#turns.get(metadata.name) ?? [];
    this.#turns.set(metadata.name, turns);
    const holder = type === 'DELETED' ? '' : (spec.holderIdentity ?? '');
    const last = turns.at(-1);
    if (last?.holder === holder) last.isTakenUp = true;
    else turns.push({ holder, at, isTakenUp: false });
  }

  seeCandidate(name: string, at: number): void {
    if (this.#appearances.has(name)) return;
    this.#appearances.set(name, at);
    const lease = leaseOf(name);
    if (!this.#firsts.has(lease)) this.#firsts.set(lease, at);
  }

  /** When a candidate was first seen; Infinity if it was not. */
  appearanceOf(candidate: string): number {
    return this.#appearances.get(candidate) ?? Number.POSITIVE_INFINITY;
  }

  /** When the first candidate of a Lease was seen. */
  firstAppearanceFor(lease: string): number {
    return this.#firsts.get(lease) ?? Number.POSITIVE_INFINITY;
  }

  turnsOf(lease: string): readonly Turn[] {
    return this.#turns.get(lease) ?? [];
  }

  /** The present holder of a Lease; undefined if there is none. */
  holderOf(lease: string): string | undefined {
    return this.turnsOf(lease).at(-1)?.holder || undefined;
  }
}

/** An {@link ElectionLog} from its own watches, until it is stopped. */
export async function keepElectionLog(
  plane: CoordinationServer,
  namespace: string,
): Promise<{ readonly log: ElectionLog; stop(): void }> {
  const log = new ElectionLog();
  const now = () => performance.timeOrigin + performance.now();
  const watches = [
    await followObjects<WatchedLease>(plane, leasesPath(namespace), (type, lease) =>
      log.seeLease(type, lease, now()),
    ),
    await followObjects<WatchedCandidate>(plane, candidatesPath({ namespace }), (_, { metadata }) =>
      log.seeCandidate(metadata.name, now()),
    ),
  ];
  return { log, stop: () => watches.forEach((watch) => void watch.stop()) };
}
