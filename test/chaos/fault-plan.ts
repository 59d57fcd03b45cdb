import { seededRandom } from '../support/seeded-random.ts';

/** The fault of a link: see `Link`. */
export const linkManners = ['reset', 'stalled', 'requests held', 'answers held', 'throttled'] as const;
export type LinkManner = (typeof linkManners)[number];

type LinkFault<Owner extends string> = `${Owner} link ${LinkManner}`;

/** A fault of one program of a Lease, or of the Lease. */
type CandidateFault =
  | 'candidate killed'
  | 'candidate terminated'
  | 'candidate frozen'
  | 'candidate rerouted'
  | LinkFault<'candidate'>
  | 'LeaseCandidate deleted'
  | 'Lease deleted'
  | 'Lease emptied'
  | 'Lease stripped';

/** A fault of one coordinator. */
type CoordinatorFault =
  | 'coordinator killed'
  | 'coordinator terminated'
  | 'coordinator frozen'
  | 'coordinator rerouted'
  | LinkFault<'coordinator'>;

/** A fault of shared servers. */
type ClusterFault =
  | 'etcd killed'
  | 'etcd frozen'
  | 'etcd compacted'
  | 'API server killed'
  | 'API server frozen'
  | LinkFault<'API server'>
  | 'gate off'
  | 'gate off at one'
  | 'coordinators away';

export type FaultKind = CandidateFault | CoordinatorFault | ClusterFault;

/**
 * A planned fault. Its target is a random number now, and is resolved when it strikes, because the leader is not
 * known before.
 */
export interface Fault {
  readonly kind: FaultKind;
  /** After the start of the chaos. */
  readonly atMs: number;
  readonly durationMs: number;
  /** In [0, 1): selects one of the possible targets. */
  readonly victim: number;
  /** Whether it targets the leader or the active coordinator, if there is one. */
  readonly isAimed: boolean;
}

type Range = readonly [min: number, max: number];

interface Stream {
  /** The duration of each kind; [0, 0]: it has no end. */
  readonly durations: Readonly<Partial<Record<FaultKind, Range>>>;
  /** The interval between faults: from the beginning of one, or from its end if only one may last at a time. */
  readonly pause: Range;
  readonly oneAtATime: boolean;
}

const INSTANT: Range = [0, 0];
const DISTURBED: Range = [2_000, 25_000];
/** Longer than every timeout: Leases last at most 15 s, and a ping times out after 5 s. */
const FROZEN: Range = [3_000, 30_000];

function linkFaults<Owner extends string>(owner: Owner): Record<LinkFault<Owner>, Range> {
  const entries = linkManners.map((manner) => [`${owner} link ${manner}`, DISTURBED]);
  return Object.fromEntries(entries) as Record<LinkFault<Owner>, Range>;
}

const ofCandidates: Stream = {
  durations: {
    'candidate killed': INSTANT,
    'candidate terminated': INSTANT,
    'candidate frozen': FROZEN,
    'candidate rerouted': INSTANT,
    ...linkFaults('candidate'),
    'LeaseCandidate deleted': INSTANT,
    'Lease deleted': INSTANT,
    'Lease emptied': INSTANT,
    'Lease stripped': INSTANT,
  } satisfies Record<CandidateFault, Range>,
  pause: [2_000, 6_000],
  oneAtATime: false,
};

const ofCoordinators: Stream = {
  durations: {
    'coordinator killed': [500, 10_000],
    'coordinator terminated': [500, 10_000],
    'coordinator frozen': FROZEN,
    'coordinator rerouted': INSTANT,
    ...linkFaults('coordinator'),
  } satisfies Record<CoordinatorFault, Range>,
  // A take-over costs 15 s: some elections must happen in between.
  pause: [8_000, 24_000],
  oneAtATime: false,
};

const ofTheCluster: Stream = {
  durations: {
    'etcd killed': [500, 5_000],
    'etcd frozen': [4_000, 25_000],
    'etcd compacted': [3_000, 8_000],
    'API server killed': [500, 8_000],
    'API server frozen': [4_000, 30_000],
    ...linkFaults('API server'),
    'gate off': [15_000, 35_000],
    // A coordinator that can elect gets the lock within 26 s (rule 10): some elections must happen after that.
    'gate off at one': [15_000, 60_000],
    // The lock lasts 15 s, and 30 s after a claim by force. Then the built-in coordinator, which reads it every 2 s,
    // takes over.
    'coordinators away': [38_000, 48_000],
  } satisfies Record<ClusterFault, Range>,
  pause: [6_000, 14_000],
  oneAtATime: true,
};

const streams = [ofCandidates, ofCoordinators, ofTheCluster];

/** All kinds of faults. */
export const faultKinds = streams.flatMap(({ durations }) => Object.keys(durations) as FaultKind[]);

/** Returns the faults of a chaos run of this duration, in order of time. Only the seed determines them. */
export function planFaults(seed: number, lastsMs: number): readonly Fault[] {
  const random = seededRandom(seed);
  return streams
    .flatMap((stream) => planStream(stream, seededRandom(random() * 2 ** 32), lastsMs))
    .toSorted((a, b) => a.atMs - b.atMs);
}

/** Each kind comes once before any repeats, so a long enough run has all of them. */
function planStream(
  { durations, pause, oneAtATime }: Stream,
  random: () => number,
  lastsMs: number,
): readonly Fault[] {
  const between = ([min, max]: Range) => min + random() * (max - min);
  const faults: Fault[] = [];
  for (let atMs = between(pause); ; ) {
    const deck = Object.entries<Range>(durations).map((entry) => ({ entry, order: random() }));
    for (const { entry } of deck.toSorted((a, b) => a.order - b.order)) {
      const [kind, range] = entry;
      const durationMs = Math.min(between(range), lastsMs - atMs);
      if (durationMs < range[0] || atMs > lastsMs) return faults;
      faults.push({
        kind: kind as FaultKind,
        atMs,
        durationMs,
        victim: random(),
        isAimed: random() < 0.6,
      });
      atMs += between(pause) + (oneAtATime ? durationMs : 0);
    }
  }
}
