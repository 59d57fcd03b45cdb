import { assembleCoordinator, type Coordinator } from '../controller/coordinator.ts';
import { leaseKey } from '../coordination/lease-key.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import type { RunSettings } from '../settings/run-settings.ts';
import type { StatusPage } from '../status-page/status-page.ts';
import type { Clock } from '../support/clock.ts';
import { candidateRow, compareForElection } from './candidate-row.ts';
import { CoordinatorReport } from './coordinator-report.ts';
import type { CandidateRow, DemoState, LeaseState } from './demo-state.ts';
import { ElectionView } from './election-view.ts';
import type { Happening, Tell } from './happening.ts';
import { type DemoCommands, SampleCast } from './sample-cast.ts';
import type { SampleTiming } from './sample-identity.ts';

/** What a {@link DemoWorld} is made of. */
export interface DemoWorldParts {
  readonly clock: Clock;
  /** Makes a client with so many connections; the world closes it. */
  readonly connect: (connections: number) => KubernetesClient;
  readonly settings: RunSettings;
  readonly timing: SampleTiming;
  /** Shows the coordinator, if given. */
  readonly statusPage?: StatusPage | undefined;
}

/** The one Lease that the demo is about. */
const NAMESPACE = 'default';
const LEASE_NAME = 'demo';
/** How many happenings are remembered: more than any terminal has lines. */
const REMEMBERED = 200;
/** Each candidate watches, renews and looks at the Lease. */
const CONNECTIONS = 8;

/** A coordinator and sample candidates on one Lease, with everything that happens among them. */
export class DemoWorld {
  readonly #parts: DemoWorldParts;
  readonly #client: KubernetesClient;
  readonly #coordinator: Coordinator;
  readonly #report: CoordinatorReport;
  readonly #view: ElectionView;
  readonly #cast: SampleCast;
  readonly #changeListeners = new Set<() => void>();
  readonly #happeningListeners = new Set<(happening: Happening) => void>();
  #happenings: readonly Happening[] = [];
  #isStopping = false;

  constructor(parts: DemoWorldParts) {
    const { clock, connect, settings, timing, statusPage } = parts;
    this.#parts = parts;
    this.#client = connect(CONNECTIONS);
    this.#report = new CoordinatorReport(this.tell, leaseKey(NAMESPACE, LEASE_NAME));
    const { lockObserver } = this.#report;
    const observer = statusPage?.observe(this.#report.observer) ?? this.#report.observer;
    this.#coordinator = assembleCoordinator({ clock, connect, settings, observer, lockObserver });
    statusPage?.watch(this.#coordinator);
    const onChange = () => this.#changed();
    const ours = { client: this.#client, clock, namespace: NAMESPACE, leaseName: LEASE_NAME, onChange };
    this.#view = new ElectionView(ours);
    this.#cast = new SampleCast({ ...ours, timing, tell: this.tell });
  }

  get commands(): DemoCommands {
    return this.#cast;
  }

  /** Starts the candidates, then the coordinator: its first election is between all of them. */
  async start(): Promise<void> {
    this.#view.start();
    await this.#cast.start();
    if (!this.#isStopping) this.#coordinator.start();
  }

  /** Ends everything, at whatever point it is. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#happeningListeners.clear();
    this.#changeListeners.clear();
    await this.#cast.stop();
    await this.#coordinator.stop();
    await this.#view.stop();
    await this.#client.close();
  }

  /** Calls back whenever {@link DemoWorld.state} has changed otherwise than by the passing of time. */
  onChange(listener: () => void): () => void {
    this.#changeListeners.add(listener);
    return () => this.#changeListeners.delete(listener);
  }

  onHappening(listener: (happening: Happening) => void): void {
    this.#happeningListeners.add(listener);
  }

  readonly tell: Tell = (what) => {
    const happening = { at: this.#parts.clock.wallTime(), ...what };
    this.#happenings = [...this.#happenings, happening].slice(-REMEMBERED);
    for (const listener of this.#happeningListeners) listener(happening);
    this.#changed();
  };

  state(): DemoState {
    const key = leaseKey(NAMESPACE, LEASE_NAME);
    const { lease } = this.#view;
    return {
      leaseKey: key,
      lease,
      candidates: this.#candidates(lease),
      reason: this.#report.lastReason(key),
      happenings: this.#happenings,
    };
  }

  #changed(): void {
    for (const listener of this.#changeListeners) listener();
  }

  #candidates(lease: LeaseState | undefined): readonly CandidateRow[] {
    const { clock, settings } = this.#parts;
    const freshSince = clock.now() - settings.electionDurationMs;
    return this.#view.candidates
      .toSorted((a, b) => compareForElection(a.candidate, b.candidate))
      .map(({ candidate, renewedAt }) =>
        candidateRow(candidate, this.#cast.member(candidate.name), lease, renewedAt > freshSince),
      );
  }
}
