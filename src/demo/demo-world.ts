import { type ControllerEvent, isApplied } from '../controller/controller-event.ts';
import { assembleCoordinator, type Coordinator } from '../controller/coordinator.ts';
import { decodeLease } from '../coordination/lease.ts';
import { decodeLeaseCandidate } from '../coordination/lease-candidate.ts';
import { type LeaseKey, leaseKey } from '../coordination/lease-key.ts';
import { resourcePaths } from '../coordination/resource-paths.ts';
import { changesCluster, type Decision, type Reason } from '../election/decision.ts';
import type { Lease, LeaseCandidate } from '../election/model.ts';
import { strategies } from '../election/strategies.ts';
import type { ElectionInput } from '../election/view.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { Reflector } from '../kubernetes/reflector.ts';
import type { RunSettings } from '../settings/run-settings.ts';
import type { StatusPage } from '../status-page/status-page.ts';
import type { Clock, Instant } from '../support/clock.ts';
import { messageOf } from '../support/text.ts';
import { isTrouble } from '../telemetry/election-result.ts';
import {
  type CandidateRow,
  type Condition,
  type DemoState,
  describeDecision,
  type Happening,
  type LeaseState,
  type Tell,
} from './demo-state.ts';
import type { SampleLife, SampleTiming } from './sample-candidate.ts';
import { type DemoCommands, SampleCast } from './sample-cast.ts';

interface DemoWorldParts {
  readonly clock: Clock;
  /** Creates a client with this number of connections. The world closes it. */
  readonly connect: (connections: number) => KubernetesClient;
  readonly settings: RunSettings;
  readonly timing: SampleTiming;
  /** The status page to connect to the coordinator. */
  readonly statusPage?: StatusPage | undefined;
}

/** The Lease of the demo. */
const NAMESPACE = 'default';
const LEASE_NAME = 'demo';

/** Number of remembered events: more than the lines of a terminal. */
const REMEMBERED = 200;

/** Connections of the demo: each candidate watches and renews. */
const CONNECTIONS = 8;

/** A coordinator and sample candidates on one Lease, and what happens among them. */
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
    const observe = (event: ControllerEvent) => {
      this.#report.observe(event);
      statusPage?.observe(event);
    };
    this.#coordinator = assembleCoordinator({ clock, connect, settings, observe });
    statusPage?.watch(this.#coordinator);
    const onChange = () => this.#changed();
    const ours = { client: this.#client, clock, namespace: NAMESPACE, leaseName: LEASE_NAME, onChange };
    this.#view = new ElectionView(ours);
    this.#cast = new SampleCast({ ...ours, timing, tell: this.tell });
  }

  get commands(): DemoCommands {
    return this.#cast;
  }

  /** Starts the candidates, then the coordinator, so that all candidates take part in its first election. */
  async start(): Promise<void> {
    this.#view.start();
    await this.#cast.start();
    if (!this.#isStopping) this.#coordinator.start();
  }

  /** Stops everything, at any time. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#happeningListeners.clear();
    this.#changeListeners.clear();
    await this.#cast.stop();
    await this.#coordinator.stop();
    await this.#view.stop();
    await this.#client.close();
  }

  /** Calls `listener` when {@link DemoWorld.state} has changed, except by the passing of time. */
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

/** The program of a candidate. */
export interface SampleProgram {
  readonly life: SampleLife;
  readonly isLeading: boolean;
}

/**
 * Describes a candidate.
 *
 * @param program undefined for a candidate that does not belong to the demo.
 * @param isFresh whether it has renewed within the time that an election waits for answers.
 */
export function candidateRow(
  candidate: LeaseCandidate,
  program: SampleProgram | undefined,
  lease: LeaseState | undefined,
  isFresh: boolean,
): CandidateRow {
  const { name, binaryVersion = '', emulationVersion = '', preference } = candidate;
  return {
    name,
    binaryVersion,
    emulationVersion,
    strategy: preference.kind === 'strategy' ? preference.strategy : preference.strategies.join(' > '),
    condition: conditionOf(candidate, program, lease, isFresh),
    isHolder: lease?.holder === name,
    isPreferred: lease?.preferredHolder === name,
  };
}

/** Orders candidates: the best first, candidates that can never lead last. */
export function compareForElection(a: LeaseCandidate, b: LeaseCandidate): number {
  const order = strategies.get('OldestEmulationVersion');
  const [isElectableA, isElectableB] = [order?.isElectable(a) ?? false, order?.isElectable(b) ?? false];
  if (order && isElectableA && isElectableB) return order.compare(a, b);
  if (isElectableA !== isElectableB) return isElectableA ? -1 : 1;
  return a.name < b.name ? -1 : 1;
}

/** A candidate, and the time of its last observed renewal. */
interface SeenCandidate {
  readonly candidate: LeaseCandidate;
  readonly renewedAt: Instant;
}

/** Callbacks must not throw. */
interface ElectionViewParts {
  readonly client: KubernetesClient;
  readonly clock: Clock;
  readonly namespace: string;
  readonly leaseName: string;
  readonly onChange: () => void;
}

/** Watches a Lease and its candidates. */
class ElectionView {
  readonly #parts: ElectionViewParts;
  readonly #leases: Reflector<Lease>;
  readonly #candidates: Reflector<LeaseCandidate>;
  readonly #seen = new Map<string, SeenCandidate>();
  #lease: Lease | undefined;
  /** Since when this process has seen the current state of the Lease. */
  #since: Instant = 0;

  constructor(parts: ElectionViewParts) {
    const { client, clock, namespace, leaseName } = parts;
    this.#parts = parts;
    this.#leases = new Reflector({
      client,
      clock,
      path: resourcePaths.leases(namespace),
      query: { fieldSelector: `metadata.name=${leaseName}` },
      decode: decodeLease,
      handler: ({ type, object }) => this.#seeLease(type === 'deleted' ? undefined : object),
    });
    this.#candidates = new Reflector({
      client,
      clock,
      path: resourcePaths.candidates('coordination.k8s.io/v1beta1', namespace),
      decode: decodeLeaseCandidate,
      handler: ({ type, object }) => this.#seeCandidate(object, type === 'deleted'),
    });
  }

  start(): void {
    this.#leases.start();
    this.#candidates.start();
  }

  async stop(): Promise<void> {
    await Promise.all([this.#leases.stop(), this.#candidates.stop()]);
  }

  get lease(): LeaseState | undefined {
    if (!this.#lease) return undefined;
    const { holderIdentity, preferredHolder, strategy, leaseTransitions, leaseDurationSeconds } = this.#lease;
    const durationMs = (leaseDurationSeconds ?? 0) * 1000;
    const holder = holderIdentity ?? '';
    const leftMs = this.#since + durationMs - this.#parts.clock.now();
    return {
      holder,
      preferredHolder: preferredHolder ?? '',
      strategy: strategy ?? '',
      transitions: leaseTransitions,
      durationMs,
      remainingMs: holder === '' ? 0 : Math.max(0, leftMs),
    };
  }

  get candidates(): readonly SeenCandidate[] {
    return [...this.#seen.values()];
  }

  #seeLease(lease: Lease | undefined): void {
    const before = this.#lease;
    const isSame =
      before?.uid === lease?.uid &&
      before?.holderIdentity === lease?.holderIdentity &&
      before?.renewTime === lease?.renewTime &&
      before?.leaseDurationSeconds === lease?.leaseDurationSeconds;
    if (!isSame) this.#since = this.#parts.clock.now();
    this.#lease = lease;
    this.#parts.onChange();
  }

  #seeCandidate(candidate: LeaseCandidate, isDeleted: boolean): void {
    const { leaseName, clock, onChange } = this.#parts;
    const { name } = candidate;
    if (isDeleted || candidate.leaseName !== leaseName) this.#seen.delete(name);
    else {
      const before = this.#seen.get(name);
      const hasRenewed = before?.candidate.renewTime !== candidate.renewTime;
      this.#seen.set(name, { candidate, renewedAt: hasRenewed ? clock.now() : (before?.renewedAt ?? 0) });
    }
    onChange();
  }
}

const WHO = 'coordinator';

/** Reports the coordinator's decisions and writes. Repeated decisions are reported once. */
class CoordinatorReport {
  readonly #tell: Tell;
  /** The Lease of the demo, whose name is omitted. */
  readonly #ownLease: LeaseKey;
  readonly #reasons = new Map<LeaseKey, Reason>();

  constructor(tell: Tell, ownLease: LeaseKey) {
    this.#tell = tell;
    this.#ownLease = ownLease;
  }

  observe(event: ControllerEvent): void {
    switch (event.type) {
      case 'decided':
        // A write is reported once it has succeeded.
        if (!changesCluster(event.decision)) this.#decided(event.key, event.decision, event.input);
        break;
      case 'written':
        if (isApplied(event)) this.#decided(event.key, event.decision, event.input);
        break;
      case 'forgotten':
        this.#reasons.delete(event.key);
        break;
      case 'gone':
        this.#trouble(`the API server serves no ${event.apiVersion} LeaseCandidates any more`);
        break;
      case 'twinSeen':
        this.#trouble(`two candidates for ${event.key} are named ${event.name}`);
        break;
      case 'priorityUnreadable':
        this.#trouble(`the priority of ${event.name} cannot be read: ${event.annotation}`);
        break;
      case 'notServed':
        this.#trouble('the API server does not serve LeaseCandidates');
        break;
      case 'discoveryFailed':
        this.#trouble('cannot ask what the API server serves', event.error);
        break;
      case 'watchFailed':
        this.#trouble('cannot watch', event.error);
        break;
      case 'decisionFailed':
        this.#trouble(`cannot decide about ${event.key}`, event.error);
        break;
      case 'lockChanged': {
        const { kind, holder } = event.state;
        const by = holder === undefined ? '' : `, held by ${holder}`;
        const text =
          kind === 'active' ? 'holds its lock, and decides' : `does not have its lock: ${kind}${by}`;
        this.#tell({ who: WHO, text, isTrouble: kind !== 'active' });
        break;
      }
      case 'lockWatchFailed':
        this.#trouble('cannot watch its lock', event.error);
        break;
      case 'lockRefused':
        this.#trouble(event.reason);
        break;
      default:
    }
  }

  /** The reason of the last decision about a Lease; undefined if there was none. */
  lastReason(key: LeaseKey): Reason | undefined {
    return this.#reasons.get(key);
  }

  #decided(key: LeaseKey, decision: Decision, input: ElectionInput): void {
    const { reason } = decision;
    const isNews = this.#reasons.get(key) !== reason || changesCluster(decision);
    this.#reasons.set(key, reason);
    if (!isNews) return;
    const about = key === this.#ownLease ? '' : `${key}: `;
    const text = `${about}${describeDecision(decision, input)}`;
    this.#tell({ who: WHO, reason, text, isTrouble: isTrouble(reason) });
  }

  #trouble(what: string, error?: unknown): void {
    const why = error === undefined ? '' : `: ${messageOf(error)}`;
    this.#tell({ who: WHO, text: `${what}${why}`, isTrouble: true });
  }
}

function conditionOf(
  { name, pingTime, renewTime }: LeaseCandidate,
  program: SampleProgram | undefined,
  lease: LeaseState | undefined,
  isFresh: boolean,
): Condition {
  if (program?.life === 'crashed' || program?.life === 'paused') return program.life;
  const isHolding = lease?.holder === name && lease.remainingMs > 0;
  // For a candidate without a program in the demo, only the Lease shows whether it leads.
  const isLeading = program?.isLeading ?? isHolding;
  if (isLeading) return isHolding && lease.preferredHolder !== '' ? 'yielding' : 'leading';
  if (isHolding) return 'elected';
  if (lease?.preferredHolder === name) return 'preferred';
  if (pingTime !== undefined && pingTime > (renewTime ?? 0n)) return 'pinged';
  return isFresh ? 'fresh' : 'idle';
}
