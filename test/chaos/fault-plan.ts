import { seededRandom } from '../support/seeded-random.ts';

/** What a fault does to a link: see `Link`. */
export const linkManners = ['reset', 'stalled', 'requests held', 'answers held', 'throttled'] as const;
export type LinkManner = (typeof linkManners)[number];

type LinkFault<Owner extends string> = `${Owner} link ${LinkManner}`;

/** To one program of one Lease, or to a Lease itself. */
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

/** To one coordinator. */
type CoordinatorFault =
  | 'coordinator killed'
  | 'coordinator terminated'
  | 'coordinator frozen'
  | 'coordinator rerouted'
  | LinkFault<'coordinator'>;

/** To what everybody needs. */
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

/** One fault to come. Whom it strikes is drawn now, as a number, and found then: who leads is not known before. */
export interface Fault {
  readonly kind: FaultKind;
  /** After the beginning of the chaos. */
  readonly atMs: number;
  readonly durationMs: number;
  /** In [0, 1): which of those that it can strike. */
  readonly victim: number;
  /** Whether it strikes who leads, or coordinates, if anybody does. */
  readonly isAimed: boolean;
}

type Range = readonly [min: number, max: number];

interface Stream {
  /** How long each kind lasts; [0, 0]: there is nothing to undo. */
  readonly durations: Readonly<Partial<Record<FaultKind, Range>>>;
  /** From one to the next: from the beginning of the one, or from its end where only one may last at a time. */
  readonly pause: Range;
  readonly oneAtATime: boolean;
}

const INSTANT: Range = [0, 0];
const DISTURBED: Range = [2_000, 25_000];
/** Beyond every timeout: Leases last 15 s at most, and an answer to a ping is awaited for 5 s. */
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
  // A take-over costs 15 s: there must be some elections in between.
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
    // The lock goes to who can elect within 26 s (rule 10): there must be some elections after that.
    'gate off at one': [15_000, 60_000],
    // The lock lasts 15 s, and 30 s after a claim by force: then the built-in coordinator, which looks every 2 s, takes over.
    'coordinators away': [38_000, 48_000],
  } satisfies Record<ClusterFault, Range>,
  pause: [6_000, 14_000],
  oneAtATime: true,
};

const streams = [ofCandidates, ofCoordinators, ofTheCluster];

/** Every kind of fault there is. */
export const faultKinds = streams.flatMap(({ durations }) => Object.keys(durations) as FaultKind[]);

/** What strikes when in a chaos that lasts so long: it follows from the seed alone. In the order of time. */
export function planFaults(seed: number, lastsMs: number): readonly Fault[] {
  const random = seededRandom(seed);
  return streams
    .flatMap((stream) => planStream(stream, seededRandom(random() * 2 ** 32), lastsMs))
    .toSorted((a, b) => a.atMs - b.atMs);
}

/** Each kind comes once before any comes again: so all of them come in a run that is long enough. */
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
