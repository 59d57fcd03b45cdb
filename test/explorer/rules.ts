import { decodeLease } from '../../src/coordination/lease.ts';
import { leasePatch, newLease, pingPatch } from '../../src/coordination/lease-patch.ts';
import { specOf } from '../../src/coordination/raw-object.ts';
import { observeCandidate } from '../../src/election/candidate-observation.ts';
import { decideElection } from '../../src/election/decide.ts';
import type { Action, Decision, LeaseChange, PingCandidate } from '../../src/election/decision.ts';
import { type Beginning, observeBeginning, observeNewcomer } from '../../src/election/former-holders.ts';
import { type Grant, noMemory } from '../../src/election/lease-memory.ts';
import {
  type ElectionSettings,
  type Instant,
  type Lease,
  type LeaseCandidate,
  type MicroTime,
  NO_PRIORITY,
  type Now,
} from '../../src/election/model.ts';
import { changedNotes, hasDroppedFields, withNotes, withoutNotes } from '../../src/election/notes.ts';
import { observeLease, observeUnseen } from '../../src/election/observe-lease.ts';
import {
  recordDecision,
  recordFailure,
  recordRefusal,
  recordSending,
  recordSuccess,
} from '../../src/election/record-action.ts';
import type { ElectionInput } from '../../src/election/view.ts';
import type { LeaseWrite } from './world.ts';

export {
  decideElector,
  type ElectorStep,
  hasExpired,
  isGrant,
  isRenewedByRival,
  isTaken,
  type LeaseSight,
  observe as observeSight,
  type TermView,
} from '../../src/participant/elector-decision.ts';
export { hasDroppedFields, withNotes, withoutNotes };

/** The only file of the explorer that calls the rules. If their signatures change, change this file. */

/** A coordinator's memory of its single Lease. */
export type Known = ElectionInput;

/** The rules. Tests replace one of them with a wrong one. */
export interface Rules {
  readonly begin: (known: Known, beginning: Beginning, now: Now) => Known;
  readonly decide: (known: Known, now: Now) => Decision;
  /** `isFirstList`: the state comes from the first list. */
  readonly seeLease: (
    known: Known,
    lease: Lease | undefined,
    now: Now,
    coordinatingSince?: Instant,
    isFirstList?: boolean,
  ) => Known;
  /** Whether the server refuses a write because it was decided on another state of the Lease (rule 8). */
  readonly isOutdated: (action: LeaseWrite, lease: Lease | undefined) => boolean;
}

export const realRules: Rules = {
  begin: (known, beginning, now) => ({ ...known, memory: observeBeginning(known, now, beginning) }),
  decide: (known, now) => decideElection(known, now),
  seeLease: (known, lease, now, coordinatingSince, isFirstList = false) => {
    const isNewcomer =
      lease !== undefined && coordinatingSince !== undefined && !isFirstList && known.lease === undefined;
    const before = isNewcomer ? observeNewcomer(known.memory, lease, now.monotonic) : known.memory;
    return { ...known, lease, memory: observeLease(before, lease, now, known.settings, coordinatingSince) };
  },
  isOutdated: (action, lease) =>
    lease !== undefined &&
    (action.kind === 'CreateLease' || action.resourceVersion !== lease.resourceVersion),
};

const NAMESPACE = 'default';
const NAME = 'election';

/** Returns the memory of a coordinator that has just started and seen nothing. */
export function nothingKnown(settings: ElectionSettings): Known {
  return {
    namespace: NAMESPACE,
    name: NAME,
    lease: undefined,
    memory: noMemory,
    candidates: [],
    dropsFields: undefined,
    settings,
  };
}

/** Returns the memory of a coordinator after its first list, before which it knew nothing. */
export function list(
  rules: Rules,
  settings: ElectionSettings,
  lease: Lease | undefined,
  candidates: readonly LeaseCandidate[],
  now: Now,
): Known {
  const known = candidates.reduce(
    (known, candidate) => seeCandidate(known, candidate, now),
    nothingKnown(settings),
  );
  return rules.begin(
    lease ? rules.seeLease(known, lease, now, Number.POSITIVE_INFINITY, true) : known,
    'firstList',
    now,
  );
}

/** `isNew`: the Lease was created just now. */
export function seeCandidate(known: Known, candidate: LeaseCandidate, now: Now, isNew = false): Known {
  const former = known.candidates.find((other) => other.candidate.name === candidate.name);
  const observation = observeCandidate(former?.observation, candidate, now, known.settings, isNew);
  const candidates = former
    ? known.candidates.map((other) => (other === former ? { candidate, observation } : other))
    : [...known.candidates, { candidate, observation }];
  return { ...known, candidates };
}

export function dropCandidate(known: Known, name: string): Known {
  return { ...known, candidates: known.candidates.filter(({ candidate }) => candidate.name !== name) };
}

/** The created Lease is not seen yet. */
export function noteUnseen(known: Known, now: Now): Known {
  return { ...known, memory: observeUnseen(known.memory, now) };
}

export function noteDecision(known: Known, decision: Decision, now: Now): Known {
  return recordDecision(known, decision, now.monotonic);
}

export function noteSending(known: Known, action: Action, now: Now): Known {
  return recordSending(known, action, now.monotonic);
}

export function notePinged(known: Known, ping: PingCandidate, now: Now): Known {
  return recordSuccess(known, ping, now.monotonic, now.monotonic);
}

export function noteWritten(
  known: Known,
  action: LeaseWrite,
  sentAt: number,
  now: Now,
  lease: Lease,
  hasDropped: boolean | undefined,
): Known {
  const written = recordSuccess(known, action, sentAt, now.monotonic, lease);
  return hasDropped === undefined ? written : { ...written, dropsFields: hasDropped };
}

/** `isRefused`: the server has certainly not applied the write. */
export function noteFailed(
  known: Known,
  action: LeaseWrite,
  sentAt: number,
  now: Now,
  isRefused: boolean,
): Known {
  const failed = recordFailure(known, action, sentAt, now.monotonic);
  return isRefused ? recordRefusal(failed, action) : failed;
}

/**
 * Returns the Lease after a write, which uses the real request body. The caller sets its resourceVersion and field
 * owners. `dropsFields`: the server drops `strategy` and `preferredHolder` unless the Lease already has them.
 */
export function written(
  action: LeaseWrite,
  lease: Lease | undefined,
  uid: string,
  dropsFields = false,
): Lease {
  const notes = changedNotes(lease?.notes, action.notes);
  if (action.kind === 'CreateLease') {
    const metadata = { namespace: NAMESPACE, name: NAME, uid, resourceVersion: '' };
    const made = decodeLease({ metadata, spec: specOf(newLease(NAMESPACE, NAME, action)) });
    return withNotes(dropsFields ? { ...made, strategy: undefined } : made, notes);
  }
  if (!lease) throw new Error('there is no Lease to update');
  const before = withoutNotes(lease);
  const spec = specOf(leasePatch(action));
  const fields = Object.entries(decodeLease({ metadata: { name: NAME }, spec }));
  const changed: Partial<Lease> = Object.fromEntries(fields.filter(([field]) => field in spec));
  const made = { ...before, ...changed };
  const isKept = (field: 'strategy' | 'preferredHolder') => !dropsFields || before[field] !== undefined;
  return withNotes(
    {
      ...made,
      strategy: isKept('strategy') ? made.strategy : undefined,
      preferredHolder: isKept('preferredHolder') ? made.preferredHolder : undefined,
    },
    notes,
  );
}

/** Returns the Lease after a change by a program that does not know notes. */
export function edited(lease: Lease, change: Partial<Lease>): Lease {
  return withNotes({ ...withoutNotes(lease), ...change }, lease.notes);
}

/** Whether the server refuses an action because the request's preconditions do not match the current state. */
export function isCompareAndSwap(action: Action): boolean {
  // The server creates no second Lease with the same name.
  if (action.kind === 'CreateLease') return true;
  // The request has them as preconditions.
  if (action.kind === 'DeleteCandidate') return action.uid !== '' && action.resourceVersion !== undefined;
  const { metadata } = action.kind === 'UpdateLease' ? leasePatch(action) : pingPatch(action);
  const { uid, resourceVersion } = Object(metadata);
  return uid === action.uid && resourceVersion === action.resourceVersion && resourceVersion !== undefined;
}

/** A Lease that only its writer has written. */
export function makeLease(uid: string, fields: Partial<Lease>): Lease {
  const metadata = { namespace: NAMESPACE, name: NAME, uid, resourceVersion: '' };
  return { ...decodeLease({ metadata }), ...fields };
}

export function makeCandidate(name: string, version: string, createdAt: MicroTime): LeaseCandidate {
  return {
    source: 'native',
    namespace: NAMESPACE,
    name,
    uid: `uid-${name}`,
    resourceVersion: '',
    creationTimestamp: createdAt,
    isDeleting: false,
    leaseName: NAME,
    binaryVersion: version,
    emulationVersion: version,
    preference: { kind: 'strategy', strategy: 'OldestEmulationVersion' },
    priority: NO_PRIORITY,
    renewTime: createdAt,
    pingTime: undefined,
  };
}

/** Whether the server refuses every outdated write of a coordinator. */
export function areAllWritesCompareAndSwap(): boolean {
  const known = { uid: 'u', resourceVersion: 'v' };
  const grant: Grant = {
    holder: 'a',
    renewTime: 1n,
    former: undefined,
    leaseDurationSeconds: 10,
    hasFormerLapsed: false,
    revises: undefined,
    isPreemption: false,
  };
  const strategy = 'OldestEmulationVersion';
  const changes: readonly LeaseChange[] = [
    { kind: 'grant', grant, leaseTransitions: 1, strategy },
    { kind: 'prefer', preferredHolder: 'a', strategy },
    { kind: 'fence', renewTime: 1n, leaseDurationSeconds: 10, leaseTransitions: 1 },
    { kind: 'release', renewTime: 1n },
    { kind: 'clearPreferredHolder', hasFailed: false },
    { kind: 'strategy', strategy, isHolderAbsent: false, removesPreferredHolder: false },
  ];
  const candidate = { source: 'native', name: 'a', ...known } as const;
  const actions: readonly Action[] = [
    { kind: 'CreateLease', strategy, grant },
    ...changes.map((change) => ({ kind: 'UpdateLease', ...known, change }) as const),
    { kind: 'PingCandidate', ...candidate, pingTime: 1n, purpose: 'election' },
    { kind: 'DeleteCandidate', ...candidate },
  ];
  return actions.every(isCompareAndSwap);
}
