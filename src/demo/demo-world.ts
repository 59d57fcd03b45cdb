import { assembleCoordinator, type Coordinator } from '../controller/coordinator.ts';
import { leaseKey } from '../coordination/lease-key.ts';
import { decideElection } from '../election/decide.ts';
import type { LeaseCandidate, Now } from '../election/model.ts';
import { strategies } from '../election/strategies.ts';
import { type Standing, surveyElection } from '../election/view.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import type { RunSettings } from '../settings/run-settings.ts';
import type { StatusPage } from '../status-page/status-page.ts';
import type { Clock } from '../support/clock.ts';
import { createReport } from './coordinator-report.ts';
import type { CandidateRow, Condition, DemoEvent, DemoState, LeaseState, Tell } from './demo-state.ts';
import type { SampleLife, SampleTiming } from './sample-candidate.ts';
import { type DemoCommands, SampleCast } from './sample-cast.ts';

export interface DemoWorldParts {
  readonly clock: Clock;
  /** Creates a client with this number of connections. The world closes it. */
  readonly connect: (connections: number) => KubernetesClient;
  readonly settings: RunSettings;
  readonly timing: SampleTiming;
  readonly statusPage?: StatusPage | undefined;
  readonly onEvent?: ((event: DemoEvent) => void) | undefined;
}

const NAMESPACE = 'default';
const LEASE_NAME = 'demo';
const LEASE_KEY = leaseKey(NAMESPACE, LEASE_NAME);

/** Number of stored events: more than a terminal has lines. */
const REMEMBERED = 200;

/** Connections of the candidates: each candidate watches and renews. */
const CONNECTIONS = 8;

/** A coordinator and sample candidates for one Lease, and the events among them. */
export class DemoWorld {
  readonly #clock: Clock;
  readonly #client: KubernetesClient;
  readonly #coordinator: Coordinator;
  readonly #cast: SampleCast;
  #onEvent: (event: DemoEvent) => void;
  #events: readonly DemoEvent[] = [];
  #isStopping = false;

  constructor({ clock, connect, settings, timing, statusPage, onEvent = () => {} }: DemoWorldParts) {
    this.#clock = clock;
    this.#client = connect(CONNECTIONS);
    this.#onEvent = onEvent;
    const report = createReport(this.tell, LEASE_KEY, () => this.#now());
    this.#coordinator = assembleCoordinator({
      clock,
      connect,
      settings,
      observe(event) {
        report(event);
        statusPage?.observe(event);
      },
    });
    statusPage?.watch(this.#coordinator);
    this.#cast = new SampleCast({
      client: this.#client,
      clock,
      namespace: NAMESPACE,
      leaseName: LEASE_NAME,
      timing,
      tell: this.tell,
    });
  }

  get commands(): DemoCommands {
    return this.#cast;
  }

  /** Starts the candidates before the coordinator, so that its first election includes all of them. */
  async start(): Promise<void> {
    await this.#cast.start();
    if (!this.#isStopping) this.#coordinator.start();
  }

  /** Stops everything. May be called at any time. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#onEvent = () => {};
    this.#cast.stop();
    await this.#coordinator.stop();
    await this.#client.close();
  }

  readonly tell: Tell = (who, text, isTrouble = false) => {
    const event = { at: this.#clock.wallTime(), who, text, isTrouble };
    this.#events = [...this.#events, event].slice(-REMEMBERED);
    this.#onEvent(event);
  };

  /** Returns the coordinator's view of the election, and the state of the candidates' programs. */
  state(): DemoState {
    const now = this.#now();
    const input = this.#coordinator.controller.gather(LEASE_KEY);
    const { tenure, standings } = surveyElection(input, now);
    const lease = input.lease && {
      holder: input.lease.holderIdentity ?? '',
      preferredHolder: input.lease.preferredHolder ?? '',
      strategy: input.lease.strategy ?? '',
      transitions: input.lease.leaseTransitions,
      durationMs: (input.lease.leaseDurationSeconds ?? 0) * 1000,
      remainingMs: tenure.kind === 'held' ? tenure.expiresAt - now.monotonic : 0,
    };
    return {
      leaseKey: LEASE_KEY,
      lease,
      candidates: standings
        .toSorted((a, b) => compareForElection(a.candidate, b.candidate))
        .map((standing) => candidateRow(standing, this.#cast.member(standing.candidate.name), lease)),
      reason: decideElection(input, now).reason,
      events: this.#events,
    };
  }

  #now(): Now {
    return { monotonic: this.#clock.now(), wall: this.#clock.wallTime() };
  }
}

export interface SampleProgram {
  readonly life: SampleLife;
  readonly isLeading: boolean;
}

/**
 * Describes a candidate.
 * @param program undefined for a candidate that the demo does not run.
 */
export function candidateRow(
  { candidate, state }: Pick<Standing, 'candidate' | 'state'>,
  program: SampleProgram | undefined,
  lease: LeaseState | undefined,
): CandidateRow {
  const { name, binaryVersion = '', emulationVersion = '', preference } = candidate;
  const strategy = preference.kind === 'strategy' ? preference.strategy : preference.strategies.join(' > ');
  const byElection = state.toLowerCase() as Lowercase<typeof state>;
  const condition = conditionOf(name, program, lease) ?? byElection;
  return { name, binaryVersion, emulationVersion, strategy, condition };
}

/** Orders candidates: the best first; candidates that can never lead last. */
export function compareForElection(a: LeaseCandidate, b: LeaseCandidate): number {
  const order = strategies.get('OldestEmulationVersion');
  const [isElectableA, isElectableB] = [order?.isElectable(a) ?? false, order?.isElectable(b) ?? false];
  if (order && isElectableA && isElectableB) return order.compare(a, b);
  if (isElectableA !== isElectableB) return isElectableA ? -1 : 1;
  return a.name < b.name ? -1 : 1;
}

function conditionOf(
  name: string,
  program: SampleProgram | undefined,
  lease: LeaseState | undefined,
): Condition | undefined {
  if (program?.life === 'crashed' || program?.life === 'paused') return program.life;
  const isHolding = lease?.holder === name && lease.remainingMs > 0;
  // If the demo does not run the candidate's program, only the Lease shows whether the candidate leads.
  const isLeading = program?.isLeading ?? isHolding;
  if (isLeading) return isHolding && lease.preferredHolder !== '' ? 'yielding' : 'leading';
  if (isHolding) return 'elected';
  return lease?.preferredHolder === name ? 'preferred' : undefined;
}
