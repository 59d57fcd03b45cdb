import { expect, onTestFinished } from 'vitest';
import { formatMicroTime } from '../../src/coordination/micro-time.ts';
import { specOf } from '../../src/coordination/raw-object.ts';
import type { ApiRequest } from '../../src/kubernetes/client.ts';
import type { KubernetesObject } from '../../src/kubernetes/objects.ts';
import { Participant } from '../../src/participant/participant.ts';
import type { ParticipantState, ParticipateOptions } from '../../src/participant/participant-options.ts';
import { type Lead, type Term, TermOver } from '../../src/participant/term.ts';
import type { JsonObject } from '../../src/support/json.ts';
import { SimApiServer } from '../simulation/sim-api-server.ts';
import { SimConnection, type SimFate } from '../simulation/sim-connection.ts';
import { SimProcess } from '../simulation/sim-process.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const LEASE = 'default/checkout';

/** A server on a virtual clock. The test writes in place of a coordinator. */
export class ParticipantStage {
  readonly clock = new VirtualClock();
  readonly api = new SimApiServer(this.clock);
  /** Returns the fate of a request of a participant. */
  fate: (request: ApiRequest) => SimFate = () => ({});

  /** Connects another program. */
  connect(process = new SimProcess(this.clock), name = 'program'): SimConnection {
    return new SimConnection(this.api, process, name, { fate: (request) => this.fate(request) });
  }

  /** Starts a participant and waits until it is published. */
  async started(options?: Partial<ParticipateOptions>, lead?: Lead): Promise<StagedParticipant> {
    const one = new StagedParticipant(this, options, lead).start();
    await this.clock.advance(100);
    return one;
  }

  /** Starts a participant and grants it the Lease. */
  async leading(options?: Partial<ParticipateOptions>, lead?: Lead): Promise<StagedParticipant> {
    const one = await this.started(options, lead);
    this.grant('one');
    await this.clock.advance(10);
    expect(one.terms).toHaveLength(1);
    return one;
  }

  delay(ms: number): Promise<void> {
    return new Promise((resolve) => void this.clock.setTimer(resolve, ms));
  }

  get lease(): JsonObject {
    return this.api.leaseSpec(LEASE);
  }

  get rawLease(): KubernetesObject | undefined {
    return this.api.lease(LEASE);
  }

  /** Grants the Lease, as the coordinator does. */
  grant(holder: string, fields: JsonObject = {}): void {
    const now = formatMicroTime(this.clock.wallTime());
    const { holderIdentity, leaseTransitions = -1 } = this.lease;
    this.writeLease({
      holderIdentity: holder,
      leaseDurationSeconds: 10,
      leaseTransitions: Number(leaseTransitions) + (holderIdentity === holder ? 0 : 1),
      acquireTime: now,
      renewTime: now,
      strategy: 'OldestEmulationVersion',
      ...fields,
    });
  }

  writeLease(spec: JsonObject, metadata: JsonObject = {}): void {
    const before = this.rawLease;
    if (!before) {
      this.api.store.create('leases', {
        metadata: { namespace: 'default', name: 'checkout', ...metadata },
        spec,
      });
      return;
    }
    this.api.store.update('leases', before, {
      ...before,
      metadata: { ...before.metadata, ...metadata },
      spec: { ...specOf(before), ...spec },
    });
  }

  /** Pings the candidate `one`, as the coordinator does. */
  ping(): void {
    const before = this.api.candidate('default/one');
    if (!before) throw new Error('there is no candidate');
    const spec = { ...specOf(before), pingTime: formatMicroTime(this.clock.wallTime()) };
    this.api.store.update('leasecandidates', before, { ...before, spec });
  }

  deleteLease(): void {
    if (this.rawLease) this.api.store.remove('leases', this.rawLease);
  }

  /** The writes of Leases by participants: status and new holder. */
  get leaseWrites(): readonly string[] {
    return this.api.writes
      .filter(({ resource }) => resource === 'leases')
      .map(({ status, body }) => `${status} ${String(specOf(body)['holderIdentity'])}`);
  }
}

/** A participant with the callback of a test. */
export class StagedParticipant {
  readonly participant: Participant;
  readonly terms: Term[] = [];
  readonly states: ParticipantState[] = [];
  readonly stopping = new AbortController();
  readonly process: SimProcess;
  readonly connection: SimConnection;
  /** `pending` until `run` has settled; then `resolved`, or the error. */
  outcome: unknown = 'pending';
  running: Promise<void> | undefined;

  constructor(stage: ParticipantStage, options: Partial<ParticipateOptions> = {}, lead: Lead = untilAborted) {
    this.process = new SimProcess(stage.clock);
    this.connection = stage.connect(this.process, options.identity ?? 'one');
    this.participant = new Participant(
      {
        lease: 'checkout',
        namespace: 'default',
        binaryVersion: '1.4.2',
        identity: 'one',
        client: this.connection,
        clock: this.process,
        onObserved: (state) => this.states.push(state),
        ...options,
      },
      async (term) => {
        this.terms.push(term);
        await lead(term);
      },
    );
    onTestFinished(() => {
      this.process.kill();
    });
  }

  /** The last term that has begun. */
  get term(): Term {
    const term = this.terms.at(-1);
    if (!term) throw new Error('no term has begun');
    return term;
  }

  get isLeading(): boolean {
    return this.participant.state.role === 'leading';
  }

  start(): this {
    this.running = this.participant.run(this.stopping.signal).then(
      () => {
        this.outcome = 'resolved';
      },
      (error: unknown) => {
        this.outcome = error;
      },
    );
    return this;
  }
}

/** A callback that ends with its term. */
export function untilAborted({ signal }: Term): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** Why a term is over; undefined if it is not. */
export function whyOver({ signal }: Term): string | undefined {
  return signal.aborted && signal.reason instanceof TermOver ? signal.reason.why : undefined;
}
