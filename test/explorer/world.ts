import type { Action, CreateLease, UpdateLease } from '../../src/election/decision.ts';
import type { ObservedPod } from '../../src/election/holder-binding.ts';
import type { Lease, LeaseCandidate, MicroTime, Now } from '../../src/election/model.ts';
import type { PodState } from './kubelet-steps.ts';
import { type Known, type LeaseSight, type TermView, withNotes, withoutNotes } from './rules.ts';

/** All time passes in ticks of this length. Durations of the rules are whole ticks. */
export const TICK_MS = 5000;
/** Of a grant, in ticks. */
export const GRANT_TICKS = 2;
/** Of a renewal, in ticks: as long a program believes in it, from when it began to renew. */
export const BELIEF_TICKS = 3;
/** So long after its last renewal a program gives up, in ticks. */
export const DEADLINE_TICKS = 2;
/** A replica lets go of the lock, or loses it, no sooner than so many ticks after it got it. */
export const LOCK_TICKS = 2;
export const STRATEGY = 'OldestEmulationVersion';
/** Who a vandal writes into a Lease: nobody's name. */
export const STRANGER = 'stranger';

const WALL_START: MicroTime = BigInt(Date.UTC(2026, 0, 1)) * 1000n;

/** The whole of a small cluster at one moment. Immutable: each step makes the next one. */
export interface World {
  readonly tick: number;
  /** Counts what must be unique: resourceVersions, uids, and moments within a tick. */
  readonly serial: number;
  readonly lease: Lease | undefined;
  /** Who wrote each of its fields last, as the server's field ownership has it. */
  readonly owners: Owners;
  /** Who wrote the Lease's holder into it; undefined: nobody holds it. */
  readonly grantor: Grantor | undefined;
  readonly candidates: readonly LeaseCandidate[];
  readonly programs: readonly Program[];
  readonly coordinators: readonly Coordinator[];
  /** The Pods of the programs, in their order; empty where there is no kubelet. */
  readonly pods: readonly PodState[];
  /** Which coordinator holds the lock; `builtIn`: the one built into the API server does. */
  readonly active: number | 'builtIn';
  /** Since when. */
  readonly activeSince: number;
  /** How many faults of each kind are still to come at the most. */
  readonly faults: Faults;
  /** Terms that were led under numbers which the Lease may still be given. */
  readonly terms: readonly PastTerm[];
  /** Whether a program that is late has started: one does, once. */
  readonly hasStarted: boolean;
  /** For how many ticks nobody has led although a program was able to. */
  readonly unledTicks: number;
}

const OWNED_FIELDS = [
  'holderIdentity',
  'renewTime',
  'acquireTime',
  'leaseDurationSeconds',
  'preferredHolder',
] as const;

export type Manager = 'coordinator' | 'participant' | 'clientGo' | 'builtIn' | 'vandal';
export type Owners = Readonly<Partial<Record<(typeof OWNED_FIELDS)[number], Manager>>>;

export type Grantor = 'coordinator' | 'builtIn' | 'vandal';

export interface PastTerm {
  readonly uid: string;
  readonly number: number;
  readonly who: string;
}

/** What may go wrong; each number counts down. */
export interface Faults {
  /** A vandal deletes the Lease. */
  readonly deletions: number;
  /** A vandal writes that nobody holds the Lease. */
  readonly emptyings: number;
  /** A vandal writes another name into the Lease. */
  readonly thefts: number;
  /** Another client writes a duration of one second into the Lease. */
  readonly shortenings: number;
  /** A coordinator's watch of the Lease breaks, until it lists again. */
  readonly gaps: number;
  /** The answer to a write of the Lease gets lost. */
  readonly losses: number;
  /** The lock passes to another coordinator. */
  readonly failovers: number;
  /** A coordinator is started again, and knows nothing. */
  readonly restarts: number;
  readonly crashes: number;
  /** A program is paused. */
  readonly sleeps: number;
  /** A program is asked to stop, and releases the Lease. */
  readonly stops: number;
  /** A tick passes although a coordinator has something to do. */
  readonly pauses: number;
  /** A tick passes although a program that is awake has something to do. */
  readonly lags: number;
  /** The monotonic clock of a program falls behind by a tick, once at the most for each. */
  readonly slips: number;
  /** A kubelet loses sight of a container that runs, and reports an end that it has made up. */
  readonly falseEnds: number;
}

/** One of this project's coordinators. */
export interface Coordinator {
  /** What it knows; the candidates are those of the world, in their order. */
  readonly known: Known;
  /** What it has seen of the Pods of the world, in their order. */
  readonly pods: readonly ObservedPod[];
  /** By how many ticks its clock on the wall is ahead. */
  readonly clockTicks: number;
  /** Changes of the Lease that its watch has still to show; undefined: the watch is broken. */
  readonly news: readonly (Lease | undefined)[] | undefined;
  /** A write of the Lease whose answer has not arrived. */
  readonly answer: Answer | undefined;
  /** It writes the Lease no more before its watch shows another version than this one, or until then. */
  readonly expected: { readonly otherThan: string | undefined; readonly untilTick: number } | undefined;
  /** By when it has listed what its watch does not show, after a creation of the Lease that it has not seen. */
  readonly listsByTick: number | undefined;
  /** Whether it has ever listed the Lease anew after a gap, in which the Lease may have come and gone. */
  readonly hasRelisted: boolean;
}

export type LeaseWrite = CreateLease | UpdateLease;

export interface Answer {
  readonly action: LeaseWrite;
  readonly sentTick: number;
  readonly outcome: 'done' | 'conflict' | 'notFound';
  /** Whether the server has dropped fields, as far as the answer tells. */
  readonly hasDropped: boolean | undefined;
  readonly lease: Lease | undefined;
}

export type Program = ClientGo | Participant;

interface ProgramBase {
  readonly name: string;
  /** Asleep: paused, with its LeaseCandidate silent. Down: it has ended, or has never begun. */
  readonly life: 'up' | 'asleep' | 'down';
  /** False: its LeaseCandidate answers, but nothing ever takes a grant up. */
  readonly hasElector: boolean;
  /** For how long it believes in a renewal, in ticks of its own clock. */
  readonly beliefTicks: number;
  /** By how many ticks its monotonic clock has fallen behind. */
  readonly slowBy: number;
  /** By how many ticks its clock on the wall is ahead. */
  readonly clockTicks: number;
}

/** A program with client-go's coordinated elector and ReleaseOnCancel. */
export interface ClientGo extends ProgramBase {
  readonly kind: 'clientGo';
  /** The record that it observed last, if that named it as the holder; undefined otherwise. */
  readonly observed: { readonly record: Lease; readonly sinceTick: number } | undefined;
  /** It has read the Lease, and is about to renew it on that version. */
  readonly renewing: { readonly resourceVersion: string; readonly sinceTick: number } | undefined;
  /** Set while it leads: when the last renewal that it knows of began, and its number. */
  readonly term: { readonly renewedTick: number; readonly number: number } | undefined;
  /** It has stopped leading, and is about to release the Lease; when the last renewal that it knows of began. */
  readonly releasing: { readonly renewedTick: number } | undefined;
  /** Since when the Lease that it has led is not its own any more. */
  readonly lostTick: number | undefined;
}

/** A program with this project's elector. */
export interface Participant extends ProgramBase {
  readonly kind: 'participant';
  readonly view: ParticipantView;
  readonly answer: ParticipantAnswer | undefined;
}

/** What its elector decides on, kept as in src/participant/elector.ts. */
export interface ParticipantView {
  readonly sight: LeaseSight | undefined;
  readonly term: TermView | undefined;
  readonly hasRival: boolean;
  readonly refusal: 'resigned' | 'stopped' | undefined;
  readonly releaseDeadline: number;
}

export interface ParticipantAnswer {
  readonly kind: 'takeUp' | 'renew' | 'release';
  readonly number: number;
  readonly sentTick: number;
  /** The Lease as it was written; undefined: refused. */
  readonly lease: Lease | undefined;
}

/** One thing that may happen next. */
export interface Step {
  /** Who does what: the same text whatever comes of it, so that a transcript can be replayed. */
  readonly choice: string;
  readonly world: World;
  /** Which promise it breaks. */
  readonly violation?: string | undefined;
  /** What a coordinator decided, for people to read. */
  readonly note?: string | undefined;
}

/** What the clocks show now, that on the wall with `clockTicks` added. Two looks at them never agree. */
export function nowIn({ tick, serial }: World, clockTicks = 0): Now {
  const wallMs = (tick + clockTicks) * TICK_MS;
  return { monotonic: tick * TICK_MS, wall: WALL_START + BigInt(wallMs * 1000 + serial) };
}

/** How many ticks ago a wall clock showed this. */
export function ticksSince({ tick }: World, wall: MicroTime): number {
  return tick - wallTickOf(wall);
}

/** The tick at which a wall clock that is right shows this. */
export function wallTickOf(wall: MicroTime): number {
  return Math.floor(Number(wall - WALL_START) / (TICK_MS * 1000));
}

export function withItem<T>(items: readonly T[], index: number, item: T): readonly T[] {
  return items.map((other, at) => (at === index ? item : other));
}

/** The world one moment later, within the same tick. */
export function later(world: World, change: Partial<World> = {}): World {
  return { ...world, ...change, serial: world.serial + 1 };
}

/** Stores the Lease as `manager` has written it, and has every unbroken watch tell of it. */
export function putLease(
  world: World,
  lease: Lease | undefined,
  manager: Manager,
  grantor: Grantor | undefined,
): World {
  const serial = world.serial + 1;
  const owners = ownersAfter(world, lease, manager);
  const stored = lease && { ...withOwners(lease, owners), resourceVersion: `v${serial}` };
  const coordinators = world.coordinators.map((coordinator) =>
    coordinator.news ? { ...coordinator, news: [...coordinator.news, stored] } : coordinator,
  );
  return {
    ...world,
    serial,
    lease: stored,
    owners,
    grantor: stored?.holderIdentity ? grantor : undefined,
    coordinators,
    programs: world.programs.map((program) => withLoss(program, world, stored)),
  };
}

/** A program that leads, or believes so, loses the Lease as another is written into it. */
function withLoss(program: Program, { lease, tick }: World, stored: Lease | undefined): Program {
  if (program.kind !== 'clientGo' || lease?.holderIdentity !== program.name) return program;
  const isLost = stored?.holderIdentity !== program.name && (program.term ?? program.releasing) !== undefined;
  return isLost ? { ...program, lostTick: tick } : program;
}

/** A field belongs to whoever has changed its value last. */
function ownersAfter(world: World, lease: Lease | undefined, manager: Manager): Owners {
  if (!lease) return {};
  const before = world.lease?.uid === lease.uid ? withoutNotes(world.lease) : undefined;
  const after = withoutNotes(lease);
  const owned = OWNED_FIELDS.filter((field) => after[field] !== undefined).map(
    (field) => [field, before?.[field] === after[field] ? world.owners[field] : manager] as const,
  );
  return Object.fromEntries(owned);
}

/** The Lease with all that field ownership says, as src/coordination/lease.ts reads it. */
function withOwners(lease: Lease, owners: Owners): Lease {
  const {
    isReleasedByParticipant: _released,
    isRenewedByParticipant: _renewed,
    isUnrenewedGrant: _unrenewed,
    isAcquireTimeHolders: _acquired,
    isDurationHolders: _duration,
    isAcquireTimeRenewers: _acquiring,
    ...fields
  } = withoutNotes(lease);
  const { holderIdentity, renewTime, acquireTime, leaseDurationSeconds } = owners;
  const isHeld = Boolean(fields.holderIdentity);
  const isGrant =
    isHeld &&
    fields.renewTime !== undefined &&
    fields.renewTime === fields.acquireTime &&
    [holderIdentity, renewTime, acquireTime, leaseDurationSeconds].every((owner) => owner === 'coordinator');
  const told: Lease = {
    ...fields,
    isPreferredHolderOurs: owners.preferredHolder === 'coordinator',
    ...(fields.holderIdentity === '' &&
      holderIdentity === 'participant' && { isReleasedByParticipant: true }),
    ...(isHeld && renewTime === 'participant' && { isRenewedByParticipant: true }),
    ...(isGrant && { isUnrenewedGrant: true }),
    ...([renewTime, 'coordinator'].includes(leaseDurationSeconds) && { isDurationHolders: true }),
    ...(isHeld &&
      acquireTime !== undefined &&
      acquireTime === holderIdentity && { isAcquireTimeHolders: true }),
    ...(isHeld &&
      acquireTime !== 'coordinator' &&
      acquireTime !== undefined &&
      acquireTime === renewTime && { isAcquireTimeRenewers: true }),
  };
  return withNotes(told, lease.notes);
}

/** What the monotonic clock of a program shows, in ticks. */
export function ownTick({ tick }: World, { slowBy }: Program): number {
  return tick - slowBy;
}

/** Whether a program believes that it leads, by its own clock. */
export function believes(program: Program, tick: number): boolean {
  if (program.life === 'down') return false;
  const renewedTick =
    program.kind === 'clientGo'
      ? program.term?.renewedTick
      : program.view.term && program.view.term.renewedAt / TICK_MS;
  return renewedTick !== undefined && tick - program.slowBy < renewedTick + program.beliefTicks;
}

/** Whether the LeaseCandidate of a program is renewed: one that only still releases what it held has nothing that does so. */
export function answersPings(program: Program): boolean {
  return program.life === 'up' && !(program.kind === 'clientGo' && program.releasing !== undefined);
}

/** Those who believe that they lead. */
export function believers({ programs, tick }: World): readonly string[] {
  return programs.filter((program) => believes(program, tick)).map(({ name }) => name);
}

/** Whether an action is a write of the Lease. */
export function isLeaseWrite(action: Action): action is LeaseWrite {
  return action.kind === 'CreateLease' || action.kind === 'UpdateLease';
}
