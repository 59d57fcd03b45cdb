import type { Action, CreateLease, UpdateLease } from '../../src/election/decision.ts';
import type { ObservedPod } from '../../src/election/holder-binding.ts';
import type { Lease, LeaseCandidate, MicroTime, Now } from '../../src/election/model.ts';
import type { PodState } from './kubelet-steps.ts';
import { type Known, type LeaseSight, type TermView, withNotes, withoutNotes } from './rules.ts';

/** Time passes in ticks of this length. Durations of the rules are whole ticks. */
export const TICK_MS = 5000;
/** Duration of a grant, in ticks. */
export const GRANT_TICKS = 2;
/** Duration of a renewal, in ticks: a program trusts a renewal this long, from its start. */
export const BELIEF_TICKS = 3;
/** A program gives up this long after its last renewal, in ticks. */
export const DEADLINE_TICKS = 2;
/** Minimum time between when a replica gets the lock and when it releases or loses it, in ticks. */
export const LOCK_TICKS = 2;
export const STRATEGY = 'OldestEmulationVersion';
/** The name that a vandal writes into a Lease. No program has it. */
export const STRANGER = 'stranger';

const WALL_START: MicroTime = BigInt(Date.UTC(2026, 0, 1)) * 1000n;

/** A small cluster at one moment. Immutable: each step creates the next one. */
export interface World {
  readonly tick: number;
  /** A counter for unique values: resourceVersions, uids, and moments within a tick. */
  readonly serial: number;
  readonly lease: Lease | undefined;
  /** The last writer of each field, as in the server's field ownership. */
  readonly owners: Owners;
  /** Who wrote the holder into the Lease; undefined: it has no holder. */
  readonly grantor: Grantor | undefined;
  readonly candidates: readonly LeaseCandidate[];
  readonly programs: readonly Program[];
  readonly coordinators: readonly Coordinator[];
  /** The Pods of the programs, in their order; empty without a kubelet. */
  readonly pods: readonly PodState[];
  /** The coordinator that holds the lock; `builtIn`: the one built into the API server. */
  readonly active: number | 'builtIn';
  /** Since when. */
  readonly activeSince: number;
  /** The number of remaining faults of each kind. */
  readonly faults: Faults;
  /** Terms with numbers that the Lease may still use again. */
  readonly terms: readonly PastTerm[];
  /** Whether the program that starts late has started. */
  readonly hasStarted: boolean;
  /** Number of ticks without a leader although a program was able to lead. */
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

/** The possible faults, with their remaining numbers. */
export interface Faults {
  /** A vandal deletes the Lease. */
  readonly deletions: number;
  /** A vandal removes the holder from the Lease. */
  readonly emptyings: number;
  /** A vandal writes another name into the Lease. */
  readonly thefts: number;
  /** Another client writes a duration of one second into the Lease. */
  readonly shortenings: number;
  /** A coordinator's watch of the Lease breaks, until it lists again. */
  readonly gaps: number;
  /** The answer to a write of the Lease is lost. */
  readonly losses: number;
  /** The lock passes to another coordinator. */
  readonly failovers: number;
  /** A coordinator restarts with an empty memory. */
  readonly restarts: number;
  readonly crashes: number;
  /** A program is paused. */
  readonly sleeps: number;
  /** A program is asked to stop, and releases the Lease. */
  readonly stops: number;
  /** A tick passes although a coordinator has a pending action. */
  readonly pauses: number;
  /** A tick passes although an awake program has a pending action. */
  readonly lags: number;
  /** The monotonic clock of a program falls behind by a tick, at most once for each. */
  readonly slips: number;
  /** A kubelet loses a running container, and reports an invented end. */
  readonly falseEnds: number;
}

/** A coordinator of this project. */
export interface Coordinator {
  /** Its memory. The candidates are those of the world, in their order. */
  readonly known: Known;
  /** Its observations of the Pods of the world, in their order. */
  readonly pods: readonly ObservedPod[];
  /** Number of ticks by which its wall clock is ahead. */
  readonly clockTicks: number;
  /** Changes of the Lease that its watch has not shown yet; undefined: the watch is broken. */
  readonly news: readonly (Lease | undefined)[] | undefined;
  /** A write of the Lease whose answer has not arrived. */
  readonly answer: Answer | undefined;
  /** It does not write the Lease again before its watch shows another version than this one, or until this time. */
  readonly expected: { readonly baseVersion: string | undefined; readonly untilTick: number } | undefined;
  /** When it will have listed the changes that its watch misses, after an unseen creation of the Lease. */
  readonly listsByTick: number | undefined;
  /** Whether it has ever listed the Lease again after a gap, in which the Lease may have existed for a while. */
  readonly hasRelisted: boolean;
}

export type LeaseWrite = CreateLease | UpdateLease;

export interface Answer {
  readonly action: LeaseWrite;
  readonly sentTick: number;
  readonly outcome: 'done' | 'conflict' | 'notFound';
  /** Whether answers have shown that the server drops fields. */
  readonly hasDropped: boolean | undefined;
  readonly lease: Lease | undefined;
}

export type Program = ClientGo | Participant;

interface ProgramBase {
  readonly name: string;
  /** Asleep: paused, with a silent LeaseCandidate. Down: has exited, or has not started. */
  readonly life: 'up' | 'asleep' | 'down';
  /** False: its LeaseCandidate answers, but its elector takes up no grant. */
  readonly hasElector: boolean;
  /** How long it trusts a renewal, in ticks of its own clock. */
  readonly beliefTicks: number;
  /** Number of ticks by which its monotonic clock has fallen behind. */
  readonly slowBy: number;
  /** Number of ticks by which its wall clock is ahead. */
  readonly clockTicks: number;
}

/** A program with client-go's coordinated elector and ReleaseOnCancel. */
export interface ClientGo extends ProgramBase {
  readonly kind: 'clientGo';
  /** The last observed record, if it names the program as the holder; undefined otherwise. */
  readonly observed: { readonly record: Lease; readonly sinceTick: number } | undefined;
  /** It has read the Lease, and is about to renew that version. */
  readonly renewing: { readonly resourceVersion: string; readonly sinceTick: number } | undefined;
  /** Set while it leads: the start of the last renewal that it knows, and its number. */
  readonly term: { readonly renewedTick: number; readonly number: number } | undefined;
  /** It has stopped leading, and is about to release the Lease: the start of the last renewal that it knows. */
  readonly releasing: { readonly renewedTick: number } | undefined;
  /** Since when it no longer owns the Lease under which it leads. */
  readonly lostTick: number | undefined;
}

/** A program with this project's elector. */
export interface Participant extends ProgramBase {
  readonly kind: 'participant';
  readonly view: ParticipantView;
  readonly answer: ParticipantAnswer | undefined;
}

/** The input of its elector's decisions, as in src/participant/elector.ts. */
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
  /** The Lease as written; undefined: refused. */
  readonly lease: Lease | undefined;
}

/** A possible next step. */
export interface Step {
  /** The actor and the action. The text does not depend on the result, so that a transcript can be replayed. */
  readonly choice: string;
  readonly world: World;
  /** The promise that it breaks. */
  readonly violation?: string | undefined;
  /** The coordinator's decision, for people. */
  readonly note?: string | undefined;
}

/** Returns the current times, with `clockTicks` added to the wall clock. Two calls never return the same wall time. */
export function nowIn({ tick, serial }: World, clockTicks = 0): Now {
  const wallMs = (tick + clockTicks) * TICK_MS;
  return { monotonic: tick * TICK_MS, wall: WALL_START + BigInt(wallMs * 1000 + serial) };
}

/** Returns how many ticks ago a wall clock showed this time. */
export function ticksSince({ tick }: World, wall: MicroTime): number {
  return tick - wallTickOf(wall);
}

/** Returns the tick at which a correct wall clock shows this time. */
export function wallTickOf(wall: MicroTime): number {
  return Math.floor(Number(wall - WALL_START) / (TICK_MS * 1000));
}

export function withItem<T>(items: readonly T[], index: number, item: T): readonly T[] {
  return items.map((other, at) => (at === index ? item : other));
}

/** Returns the world one moment later, within the same tick. */
export function later(world: World, change: Partial<World> = {}): World {
  return { ...world, ...change, serial: world.serial + 1 };
}

/** Stores a write of the Lease by `manager`, and makes every working watch report it. */
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

/** A program that leads, or believes so, loses the Lease because another name is written into it. */
function withLoss(program: Program, { lease, tick }: World, stored: Lease | undefined): Program {
  if (program.kind !== 'clientGo' || lease?.holderIdentity !== program.name) return program;
  const isLost = stored?.holderIdentity !== program.name && (program.term ?? program.releasing) !== undefined;
  return isLost ? { ...program, lostTick: tick } : program;
}

/** The last writer that changes a field's value owns the field. */
function ownersAfter(world: World, lease: Lease | undefined, manager: Manager): Owners {
  if (!lease) return {};
  const before = world.lease?.uid === lease.uid ? withoutNotes(world.lease) : undefined;
  const after = withoutNotes(lease);
  const owned = OWNED_FIELDS.filter((field) => after[field] !== undefined).map(
    (field) => [field, before?.[field] === after[field] ? world.owners[field] : manager] as const,
  );
  return Object.fromEntries(owned);
}

/** Returns the Lease with its field ownership, as src/coordination/lease.ts decodes it. */
function withOwners(lease: Lease, owners: Owners): Lease {
  const {
    isReleasedByParticipant: _released,
    isRenewedByParticipant: _renewed,
    isRenewedByCoordinator: _granted,
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
    ...(isHeld && renewTime === 'coordinator' && { isRenewedByCoordinator: true }),
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

/** The time of a program's monotonic clock, in ticks. */
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

/** Whether a program renews its LeaseCandidate. A program that only has to release its Lease does not. */
export function answersPings(program: Program): boolean {
  return program.life === 'up' && !(program.kind === 'clientGo' && program.releasing !== undefined);
}

/** The programs that believe that they lead. */
export function believers({ programs, tick }: World): readonly string[] {
  return programs.filter((program) => believes(program, tick)).map(({ name }) => name);
}

/** Whether an action is a write of the Lease. */
export function isLeaseWrite(action: Action): action is LeaseWrite {
  return action.kind === 'CreateLease' || action.kind === 'UpdateLease';
}
