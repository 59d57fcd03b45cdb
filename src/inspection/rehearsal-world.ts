import { ElectionRecords } from '../controller/election-records.ts';
import {
  recordDecision,
  recordDelivered,
  recordLeaseWritten,
  recordSending,
} from '../controller/record-outcome.ts';
import { decodeLease } from '../coordination/lease.ts';
import { leaseKey } from '../coordination/lease-key.ts';
import { leasePatch, newLease } from '../coordination/lease-patch.ts';
import { formatMicroTime } from '../coordination/micro-time.ts';
import type { CandidateObservation } from '../election/candidate-observation.ts';
import type { Action, Decision } from '../election/decision.ts';
import type { ElectionInput } from '../election/election-input.ts';
import type { Lease, LeaseCandidate } from '../election/model.ts';
import type { Instant, Now } from '../election/time.ts';
import { isJsonObject } from '../support/json.ts';

/**
 * One election in memory and virtual time, with the same records as the controller keeps. Everything that is written is
 * seen at once.
 */
export class RehearsalWorld {
  readonly #records: ElectionRecords;
  readonly #key: string;
  readonly #input: ElectionInput;
  readonly #start: Now;
  #at: Instant;
  #revision = 0;

  constructor(input: ElectionInput, start: Now) {
    this.#input = input;
    this.#start = start;
    this.#at = start.monotonic;
    this.#key = leaseKey(input.namespace, input.name);
    this.#records = new ElectionRecords(input.settings);
    if (input.lease) this.#records.seeLease(this.#key, input.lease, start);
    this.#records.updateMemory(this.#key, () => input.memory);
    for (const { candidate, observation } of input.candidates) this.#take(candidate, observation);
  }

  get now(): Now {
    const sinceStartMicros = BigInt(Math.round((this.#at - this.#start.monotonic) * 1000));
    return { monotonic: this.#at, wall: this.#start.wall + sinceStartMicros };
  }

  get input(): ElectionInput {
    return this.#records.gather(this.#key);
  }

  get lease(): Lease | undefined {
    return this.#records.lease(this.#key);
  }

  candidate(name: string): LeaseCandidate | undefined {
    return this.#records.candidate(this.#key, name);
  }

  advanceTo(at: Instant): void {
    this.#at = Math.max(this.#at, at);
  }

  /** Does what a decision says, as the controller would. Pings are left to whoever plays the candidates. */
  carryOut(decision: Decision): void {
    recordDecision(this.#records, this.#key, decision, this.#at);
    for (const action of decision.actions) {
      recordSending(this.#records, this.#key, action, this.#input.settings, this.#at);
      this.#carryOutAction(action);
    }
  }

  /** The holder's program writes its Lease; an undefined field is removed. */
  changeLease(change: Partial<Lease>): void {
    const { lease } = this;
    if (lease) this.#seeLease({ ...lease, ...change });
  }

  putCandidate(candidate: LeaseCandidate): void {
    const resourceVersion = this.#nextRevision();
    this.#records.seeCandidate({ ...candidate, resourceVersion }, this.now);
  }

  removeCandidate(name: string): void {
    const candidate = this.candidate(name);
    if (candidate) this.#records.dropCandidate(candidate, this.now);
  }

  #carryOutAction(action: Action): void {
    const { namespace, name } = this.#input;
    switch (action.kind) {
      case 'CreateLease': {
        const created = decodeLease({
          metadata: { namespace, name, uid: 'planned' },
          ...specIn(newLease(namespace, name, action)),
        });
        this.#written(action, created);
        return;
      }
      case 'UpdateLease': {
        const { lease } = this;
        if (!lease) return;
        const { metadata, spec } = rawOf(lease);
        const changed = decodeLease({ metadata, spec: { ...spec, ...specIn(leasePatch(action)).spec } });
        const isOurs = action.change.kind === 'prefer' || lease.isPreferredHolderOurs;
        this.#written(action, {
          ...changed,
          isPreferredHolderOurs: isOurs && changed.preferredHolder !== undefined,
        });
        return;
      }
      case 'PingCandidate': {
        const candidate = this.candidate(action.name);
        if (candidate) this.putCandidate({ ...candidate, pingTime: action.pingTime });
        recordDelivered(this.#records, this.#key, action, this.#at, this.#at);
        return;
      }
      case 'DeleteCandidate':
        this.removeCandidate(action.name);
    }
  }

  #written(action: Extract<Action, { kind: 'CreateLease' | 'UpdateLease' }>, lease: Lease): void {
    recordLeaseWritten(this.#records, this.#key, action, this.#seeLease(lease), this.#at);
  }

  /** The Lease as it is stored. */
  #seeLease(lease: Lease): Lease {
    const stored = { ...lease, resourceVersion: this.#nextRevision() };
    this.#records.seeLease(this.#key, stored, this.now);
    return stored;
  }

  #take(candidate: LeaseCandidate, observation: CandidateObservation): void {
    this.#records.seeCandidate(candidate, this.#start);
    this.#records.updateObservation(this.#key, candidate, () => observation);
  }

  #nextRevision(): string {
    this.#revision += 1;
    return `planned-${this.#revision}`;
  }
}

function specIn(body: Readonly<Record<string, unknown>>): { spec: Readonly<Record<string, unknown>> } {
  const spec = body['spec'];
  return { spec: isJsonObject(spec) ? spec : {} };
}

/** The Lease as the API has it, as far as an election needs it. */
function rawOf({ namespace, name, uid, resourceVersion, acquireTime, renewTime, ...lease }: Lease) {
  const { holderIdentity, preferredHolder, strategy, leaseDurationSeconds, leaseTransitions } = lease;
  return {
    metadata: { namespace, name, uid, resourceVersion },
    spec: {
      holderIdentity,
      preferredHolder,
      strategy,
      leaseDurationSeconds,
      leaseTransitions,
      acquireTime: acquireTime && formatMicroTime(acquireTime),
      renewTime: renewTime && formatMicroTime(renewTime),
    },
  };
}
