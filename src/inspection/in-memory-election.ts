import { ElectionRecords } from '../controller/election-records.ts';
import { recordDecision, recordSending, recordSuccess } from '../controller/write-outcomes.ts';
import { decodeLease } from '../coordination/lease.ts';
import { type LeaseKey, leaseKey, splitLeaseKey } from '../coordination/lease-key.ts';
import { leasePatch, newLease } from '../coordination/lease-patch.ts';
import { specOf } from '../coordination/raw-object.ts';
import { decideElection } from '../election/decide.ts';
import {
  type Action,
  type CreateLease,
  type Decision,
  isLeaseWrite,
  type UpdateLease,
} from '../election/decision.ts';
import type { Instant, Lease, LeaseCandidate, Now } from '../election/model.ts';
import { changedNotes, withNotes, withoutNotes } from '../election/notes.ts';
import type { ElectionInput } from '../election/view.ts';

/** Simulates the API server and the coordinator for one Lease. The caller simulates the programs and the clock. */
export class InMemoryElection {
  readonly #records: ElectionRecords;
  readonly #key: LeaseKey;
  readonly #clock: () => Now;
  #revision = 0;

  constructor({ namespace, name, lease, memory, candidates, settings }: ElectionInput, clock: () => Now) {
    this.#records = new ElectionRecords(settings);
    this.#key = leaseKey(namespace, name);
    this.#clock = clock;
    if (lease) this.#records.seeLease(this.#key, lease, clock());
    this.#records.updateMemory(this.#key, () => memory);
    for (const { candidate, observation } of candidates) {
      this.#records.seeCandidate(candidate, clock());
      this.#records.updateObservation(this.#key, candidate, () => observation);
    }
  }

  get input(): ElectionInput {
    return this.#records.gather(this.#key);
  }

  get lease(): Lease | undefined {
    return this.#records.lease(this.#key);
  }

  candidate(name: string): LeaseCandidate | undefined {
    return this.#records.observed(this.#key, name)?.candidate;
  }

  decide(): Decision {
    return decideElection(this.input, this.#clock());
  }

  /** Applies a decision as the controller would. The caller simulates the answers of the pinged candidates. */
  carryOut(decision: Decision): void {
    this.accept(decision);
    for (const action of decision.actions) {
      const lease = this.send(action);
      this.see(action, lease);
      this.answer(action, lease);
    }
  }

  /** Records the decision. The caller then calls `send`, `see` and `answer` for each action of the decision. */
  accept(decision: Decision): void {
    recordDecision(this.#records, this.#key, decision, this.#at);
  }

  /** Simulates the request of an action. Returns the written Lease; undefined if no Lease is written. */
  send(action: Action): Lease | undefined {
    recordSending(this.#records, this.#key, action, this.#at);
    return isLeaseWrite(action) ? this.#made(action) : undefined;
  }

  /** Simulates the watch event that an action's write causes. The caller may call `see` before or after `answer`. */
  see(action: Action, lease: Lease | undefined): void {
    if (action.kind === 'DeleteCandidate') {
      this.removeCandidate(action.name);
    } else if (action.kind === 'PingCandidate') {
      const candidate = this.candidate(action.name);
      if (candidate) this.putCandidate({ ...candidate, pingTime: action.pingTime });
    } else if (lease) {
      this.#records.seeLease(this.#key, lease, this.#clock());
    }
  }

  /** Simulates the API server's successful answer to the request of an action. */
  answer(action: Action, lease: Lease | undefined): void {
    const written = lease && { before: undefined, after: lease };
    recordSuccess(this.#records, this.#key, action, this.#at, this.#at, written);
  }

  /** Simulates a write of the Lease by another client. If `lease` is undefined, the other client deletes the Lease. */
  putLease(lease: Lease | undefined): void {
    const stored = lease && { ...withoutOwnership(lease), resourceVersion: this.#nextVersion() };
    this.#records.seeLease(this.#key, stored, this.#clock());
  }

  putCandidate(candidate: LeaseCandidate): void {
    const stored = { ...candidate, resourceVersion: this.#nextVersion() };
    this.#records.seeCandidate(stored, this.#clock());
  }

  removeCandidate(name: string): void {
    const candidate = this.candidate(name);
    if (candidate) this.#records.dropCandidate(candidate, this.#clock());
  }

  get #at(): Instant {
    return this.#clock().monotonic;
  }

  /** Returns the Lease after a write; undefined if the Lease to update does not exist. */
  #made(action: CreateLease | UpdateLease): Lease | undefined {
    const { lease } = this;
    const { namespace, name } = splitLeaseKey(this.#key);
    const resourceVersion = this.#nextVersion();
    if (action.kind === 'CreateLease') {
      const metadata = { namespace, name, uid: `lease-${resourceVersion}`, resourceVersion };
      const made = decodeLease({ metadata, spec: specOf(newLease(namespace, name, action)) });
      return withNotes(made, changedNotes(undefined, action.notes));
    }
    if (!lease) return undefined;
    const spec = specOf(leasePatch(action));
    const fields = Object.entries(decodeLease({ metadata: { name }, spec }));
    const written = Object.fromEntries(fields.filter(([field]) => field in spec));
    const isGrant = action.change.kind === 'grant';
    const made = { ...withoutNotes(isGrant ? withoutOwnership(lease) : lease), ...written, resourceVersion };
    const isOurs = action.change.kind === 'prefer' || made.isPreferredHolderOurs;
    return withNotes(
      { ...made, isPreferredHolderOurs: isOurs && made.preferredHolder !== undefined },
      changedNotes(lease.notes, action.notes),
    );
  }

  #nextVersion(): string {
    this.#revision += 1;
    return `in-memory-${this.#revision}`;
  }
}

/** Drops the signs of an unrenewed grant: the next grant, or a write by another client, is not that grant any more. */
function withoutOwnership({ isUnrenewedGrant: _, isRenewedByCoordinator: __, ...lease }: Lease): Lease {
  return lease;
}
