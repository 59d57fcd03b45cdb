import { type CandidateSource, coordinatorLease, type ElectionSettings } from '../../src/election/model.ts';
import { defaultSettings, NEWEST, OLDEST } from '../support/election-builders.ts';
import { Chance } from './chance.ts';
import { FAULTS, type FaultKind } from './faults/faults.ts';
import { QUICK_TIMING, type SimElectorTiming, USUAL_TIMING } from './sim-candidate.ts';

/** A Lease, and the shared settings of its programs. */
export interface LeasePlan {
  readonly namespace: string;
  readonly name: string;
  readonly timing: SimElectorTiming;
}

/** A place in which programs run one after the other, like a replica of a Deployment. */
export interface SlotPlan {
  readonly name: string;
  readonly lease: LeasePlan;
  readonly binaryVersion: string;
  readonly emulationVersion: string;
  readonly strategy: string;
  /** The group of its LeaseCandidate. */
  readonly source: CandidateSource;
  /** A plain elector has no LeaseCandidate. */
  readonly isPlain: boolean;
  /** Whether its programs use this project's participant, and not client-go's elector. */
  readonly isParticipant: boolean;
  /** Whether each program has the name of its predecessor. */
  readonly keepsName: boolean;
  readonly watchesForDeletion: boolean;
  readonly wallMs: number;
  readonly rate: number;
  readonly startsAtMs: number;
}

export interface ReplicaPlan {
  readonly name: string;
  readonly wallMs: number;
  readonly rate: number;
}

/** The part of a cluster that belongs to a coordinator and its standbys. */
export interface ShardPlan {
  /** Empty: all. */
  readonly namespaces: readonly string[];
  readonly lock: { readonly namespace: string; readonly name: string };
}

/** A coordinator of the whole cluster. */
export const WHOLE_CLUSTER: ShardPlan = { namespaces: [], lock: coordinatorLease };

/** A planned fault: its kind, time and target. */
export interface FaultPlan {
  /** Its number in the plan of its seed. */
  readonly id: number;
  readonly kind: FaultKind;
  readonly atMs: number;
  readonly args: unknown;
}

/** All decisions about a run that are made before it begins. */
export interface SimPlan {
  readonly seed: number;
  readonly settings: ElectionSettings;
  readonly takeOver: boolean;
  readonly hasBuiltIn: boolean;
  /** Whether the servers have this project's custom resource. */
  readonly hasCustomCandidates: boolean;
  /** Whether the servers keep strategy and preferredHolder of Leases, except while a fault turns the gate (rule 14). */
  readonly hasGate: boolean;
  /** Requests per second that both API servers answer together; undefined: unlimited. */
  readonly requestsPerSecond: number | undefined;
  /** See {@link InvariantSettings}. */
  readonly clockTolerance: number;
  readonly leases: readonly LeasePlan[];
  readonly slots: readonly SlotPlan[];
  readonly replicas: readonly ReplicaPlan[];
  readonly faults: readonly FaultPlan[];
  /** When the last fault ends, in milliseconds. */
  readonly troubleEndsMs: number;
}

/** A reduction of a plan. */
export interface Reduction {
  /** Numbers of the faults to keep; undefined: all. */
  readonly faults?: readonly number[] | undefined;
  /** Names of the slots and replicas to remove. */
  readonly without?: readonly string[] | undefined;
}

const TROUBLE_BEGINS_MS = 30_000;
const TROUBLE_ENDS_MS = 250_000;
/** Long enough for a candidate to be deleted: after its validity, coordinators watch it for ten minutes (rule 1). */
const LONG_TROUBLE_ENDS_MS = 1_000_000;
const LONG_RUN_EVERY = 50;
/** The supported clock rates: 5 % fast or slow. */
const DRIFT = 0.05;
const HOUR_MS = 3_600_000;

const LEASES: readonly [LeasePlan, ...LeasePlan[]] = [
  { namespace: 'default', name: 'scheduler', timing: USUAL_TIMING },
  { namespace: 'default', name: 'controller-manager', timing: USUAL_TIMING },
  { namespace: 'team', name: 'operator', timing: USUAL_TIMING },
  { namespace: 'default', name: 'webhook', timing: QUICK_TIMING },
  {
    namespace: 'team',
    name: 'patient',
    timing: { leaseSeconds: 60, renewDeadlineMs: 40_000, retryMs: 5000 },
  },
];
const LEASES_PER_RUN = 3;
/** Faults that move leaders have numbers after those of all other faults. */
const FIRST_PRIORITY = 1000;
/** The number of faults that end processes, in runs that watch Pods. */
const FIRST_CRASH = 3000;
/** The number of faults by programs that use their participants. */
const FIRST_OF_PARTICIPANTS = 2000;
/**
 * A plain elector reads the Lease four times as often as other programs, and so costs as much as all of them
 * together. One run of four is enough.
 */
const QUICK_LEASE: LeasePlan = {
  namespace: 'team',
  name: 'quick',
  timing: { leaseSeconds: 3, renewDeadlineMs: 2000, retryMs: 500 },
};
/** A Lease that only plain electors want. Its Namespace asks for crash evidence (rule 17). */
export const PLAIN_NAMESPACE = 'plain';
const PLAIN_TIMINGS: readonly [SimElectorTiming, ...SimElectorTiming[]] = [
  USUAL_TIMING,
  { leaseSeconds: 60, renewDeadlineMs: 40_000, retryMs: 5000 },
];
const PLAIN_ELECTORS = 2;
/** The numbers of faults that strike plain electors in Pods. */
const FIRST_OF_PLAIN = 4000;
/** What is not among the faults that chance picks for a run. */
const PLANNED_APART = new Set<FaultKind>(['prioritySet', 'participantResigns', 'participantWithdraws']);
type Versions = readonly [binaryVersion: string, emulationVersion: string];
/** The versions of candidates, as binary and emulation. */
const VERSIONS: readonly [Versions, ...Versions[]] = [
  ['1.36.0', '1.36.0'],
  ['1.36.0', '1.35.0'],
  ['1.37.0', '1.36.0'],
  ['1.35.3', '1.35.0'],
];

/** Returns the plan of a seed. It is always the same. */
export function makePlan(seed: number): SimPlan {
  const chance = new Chance(seed, 'plan');
  const isLong = seed % LONG_RUN_EVERY === 0;
  const hasDrift = chance.is(0.3);
  const rateBy = ({ random }: Chance) => (hasDrift ? 1 - DRIFT + 2 * DRIFT * random() : 1);
  const rate = () => rateBy(chance);
  const hasQuick = chance.is(0.25);
  const usual = pickSome(chance, LEASES, LEASES_PER_RUN - (hasQuick ? 1 : 0));
  const leases = hasQuick ? [...usual, QUICK_LEASE] : usual;
  const hasPlainElector = chance.is(0.15);
  const hasStrategies = chance.is(0.2);
  // Candidates that ask for different strategies are in conflict only if both have the highest version.
  const isConflict = hasStrategies && chance.is(0.5);
  const isTogether = chance.is(0.5);
  const sources = chance.for('sources');
  const hasCustomCandidates = sources.is(0.5);
  const hasGate = !hasCustomCandidates || chance.for('gate').is(0.5);
  const agreed = chance.for('strategy').is(0.2) ? NEWEST : OLDEST;
  const participants = chance.for('participants');
  const hasParticipants = participants.is(0.6);
  const slots = leases.flatMap((lease, place) => {
    const count = 1 + chance.upTo(4);
    return Array.from({ length: count }, (_, index): SlotPlan => {
      const isPlain = hasPlainElector && place === 0 && index === count - 1;
      return candidateSlot(lease, index, chance, {
        ...(isConflict && { binaryVersion: '1.36.0', emulationVersion: '1.36.0' }),
        source: hasCustomCandidates && sources.is(0.5) ? 'custom' : 'native',
        strategy: hasStrategies && chance.is(0.3) ? 'example.com/custom' : agreed,
        isPlain,
        isParticipant: hasParticipants && participants.is(0.5) && !isPlain,
        keepsName: chance.is(0.3),
        watchesForDeletion: chance.is(0.6),
        // Hours off, but not so far behind that the candidate looks silent for candidateGcAfter (rule 1).
        wallMs: chance.is(0.6) ? 0 : chance.upTo(4.5 * HOUR_MS) - 1.5 * HOUR_MS,
        rate: rate(),
        // The candidates start together with the coordinators, or later than a coordinator that may grant a Lease
        // before the best candidate appears (rule 12).
        startsAtMs: (isTogether ? 0 : 20_000) + chance.upTo(2000),
      });
    });
  });
  const replicas = [1, 2].map(
    (index): ReplicaPlan => ({ name: `replica-${index}`, wallMs: chance.upTo(60_000), rate: rate() }),
  );
  const troubleEndsMs = isLong ? LONG_TROUBLE_ENDS_MS : TROUBLE_ENDS_MS;
  const population = { leases, slots, replicas };
  const isCrashEvidenceUsed = chance.for('pods').is(0.4);
  const plain = isCrashEvidenceUsed ? plainSlots(chance.for('plain'), rateBy) : [];
  return {
    seed,
    settings: {
      ...defaultSettings,
      leaseDurationSeconds: chance.pick([10, 10, 6, 15]),
      isCrashEvidenceUsed,
      // Candidates renew every five minutes, so a long run includes the deletion of dead ones.
      ...(isLong && { candidateValidityMs: 330_000, candidateGcAfterMs: 330_000 }),
    },
    takeOver: chance.is(0.75),
    // Servers with the feature gate have it.
    hasBuiltIn: chance.is(0.5) && hasGate,
    hasCustomCandidates,
    hasGate,
    requestsPerSecond: chance.is(0.15) ? 60 : undefined,
    clockTolerance: hasDrift ? (1 - DRIFT) / (1 + DRIFT) : 1,
    leases: [...leases, ...plain.slice(0, 1).map(({ lease }) => lease)],
    slots: [...slots, ...plain],
    replicas,
    faults: [
      ...planFaults(chance.for('faults'), population, troubleEndsMs),
      ...planPriorities(chance.for('priorities'), population, troubleEndsMs),
      ...(isCrashEvidenceUsed ? planCrashes(chance.for('crashes'), population, troubleEndsMs) : []),
      ...planOfParticipants(chance.for('of participants'), population, troubleEndsMs),
      ...planOfPlain(chance.for('of plain'), { ...population, slots: plain }, troubleEndsMs),
    ],
    troubleEndsMs,
  };
}

/** Plain electors in Pods, in half of the runs where Pods are watched. */
function plainSlots(chance: Chance, rateBy: (chance: Chance) => number): readonly SlotPlan[] {
  if (!chance.is(0.5)) return [];
  const lease = { namespace: PLAIN_NAMESPACE, name: 'manager', timing: chance.pick(PLAIN_TIMINGS) };
  return Array.from({ length: PLAIN_ELECTORS }, (_, index) =>
    candidateSlot(lease, index, chance, {
      isPlain: true,
      keepsName: chance.is(0.8),
      wallMs: chance.is(0.6) ? 0 : chance.upTo(HOUR_MS) - HOUR_MS / 2,
      rate: rateBy(chance),
      startsAtMs: chance.upTo(30_000),
    }),
  );
}

/** A candidate with a right clock and a version that chance picks. */
export function candidateSlot(
  lease: LeasePlan,
  index: number,
  chance: Chance,
  differing: Partial<SlotPlan>,
): SlotPlan {
  const [binaryVersion, emulationVersion] = chance.pick(VERSIONS);
  return {
    name: `${lease.name}-${index}`,
    lease,
    binaryVersion,
    emulationVersion,
    strategy: OLDEST,
    source: 'native',
    isPlain: false,
    isParticipant: false,
    keepsName: false,
    watchesForDeletion: true,
    wallMs: 0,
    rate: 1,
    startsAtMs: 0,
    ...differing,
  };
}

/** Returns an empty plan, to which tests add what they need. */
export function emptyPlan(seed: number): SimPlan {
  return {
    seed,
    settings: defaultSettings,
    takeOver: true,
    hasBuiltIn: false,
    hasGate: true,
    hasCustomCandidates: false,
    requestsPerSecond: undefined,
    clockTolerance: 1,
    leases: [],
    slots: [],
    replicas: [],
    faults: [],
    troubleEndsMs: 0,
  };
}

/** Returns a reduced plan. */
export function reducePlan(plan: SimPlan, { faults, without = [] }: Reduction): SimPlan {
  return {
    ...plan,
    faults: faults ? plan.faults.filter(({ id }) => faults.includes(id)) : plan.faults,
    slots: plan.slots.filter(({ name }) => !without.includes(name)),
    replicas: plan.replicas.filter(({ name }) => !without.includes(name)),
    hasBuiltIn: plan.hasBuiltIn && !without.includes('built-in'),
  };
}

/**
 * A few kinds of faults, each many times: this causes rarer combinations than an equal chance for all kinds in each
 * run.
 */
function planFaults(
  chance: Chance,
  population: Pick<SimPlan, 'leases' | 'slots' | 'replicas'>,
  endsMs: number,
): readonly FaultPlan[] {
  const all = (Object.keys(FAULTS) as FaultKind[]).filter((kind) => !PLANNED_APART.has(kind));
  const share = chance.pick([0.15, 0.3, 0.6, 1]);
  const kinds = all.filter(() => chance.is(share));
  const [first = 'replicaPaused'] = kinds;
  const count = 5 + chance.upTo(45);
  const times = Array.from({ length: count }, () => chance.between(TROUBLE_BEGINS_MS, endsMs - 5000));
  return times
    .sort((a, b) => a - b)
    .map((atMs, id) => {
      const kind = chance.pick(kinds) ?? first;
      return { id, kind, atMs, args: FAULTS[kind].plan(chance, population) };
    });
}

/** Some runs also move leaders. */
function planPriorities(
  chance: Chance,
  population: Pick<SimPlan, 'leases' | 'slots' | 'replicas'>,
  endsMs: number,
): readonly FaultPlan[] {
  const count = chance.is(0.4) ? 1 + chance.upTo(8) : 0;
  return Array.from({ length: count }, (_, index): FaultPlan => {
    const atMs = chance.between(TROUBLE_BEGINS_MS, endsMs - 5000);
    const kind = 'prioritySet';
    return { id: FIRST_PRIORITY + index, kind, atMs, args: FAULTS[kind].plan(chance, population) };
  });
}

/** Runs that watch Pods have more leaders that crash, or that sleep as if they had crashed. */
function planCrashes(
  chance: Chance,
  population: Pick<SimPlan, 'leases' | 'slots' | 'replicas'>,
  endsMs: number,
): readonly FaultPlan[] {
  return Array.from({ length: 3 + chance.upTo(10) }, (_, index): FaultPlan => {
    const atMs = chance.between(TROUBLE_BEGINS_MS, endsMs - 5000);
    const kind = chance.pick(['leaderCrashes', 'leaderCrashes', 'candidateCrashes', 'leaderPaused'] as const);
    return { id: FIRST_CRASH + index, kind, atMs, args: FAULTS[kind].plan(chance, population) };
  });
}

/** Programs that use their participants, in addition to the other faults. */
function planOfParticipants(
  chance: Chance,
  population: Pick<SimPlan, 'leases' | 'slots' | 'replicas'>,
  endsMs: number,
): readonly FaultPlan[] {
  const count = population.slots.some(({ isParticipant }) => isParticipant) ? chance.upTo(5) : 0;
  return Array.from({ length: count }, (_, index): FaultPlan => {
    const atMs = chance.between(TROUBLE_BEGINS_MS, endsMs - 5000);
    const kind = chance.pick(['participantResigns', 'participantWithdraws'] as const);
    return { id: FIRST_OF_PARTICIPANTS + index, kind, atMs, args: FAULTS[kind].plan(chance, population) };
  });
}

/** Plain electors crash and sleep. */
function planOfPlain(
  chance: Chance,
  population: Pick<SimPlan, 'leases' | 'slots' | 'replicas'>,
  endsMs: number,
): readonly FaultPlan[] {
  const count = population.slots.length > 0 ? 5 + chance.upTo(20) : 0;
  return Array.from({ length: count }, (_, index): FaultPlan => {
    const atMs = chance.between(TROUBLE_BEGINS_MS, endsMs - 5000);
    const kind = chance.pick(['candidateCrashes', 'candidateCrashes', 'candidatePaused'] as const);
    return { id: FIRST_OF_PLAIN + index, kind, atMs, args: FAULTS[kind].plan(chance, population) };
  });
}

function pickSome<T>(chance: Chance, from: readonly T[], count: number): readonly T[] {
  const left = [...from];
  return Array.from({ length: count }, () => left.splice(chance.upTo(left.length), 1)).flat();
}
