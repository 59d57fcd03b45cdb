import { isApplied } from '../../src/controller/controller-event.ts';
import { ElectionController } from '../../src/controller/election-controller.ts';
import { CoordinatorLock } from '../../src/controller/lock/coordinator-lock.ts';
import { replicaIdentity } from '../../src/controller/lock/lock-record.ts';
import { RENEW_DEADLINE_MS } from '../../src/controller/lock/lock-settings.ts';
import { createApiLockStorage, type LockStorage } from '../../src/controller/lock/lock-storage.ts';
import { watchedNamespaces } from '../../src/coordination/resource-paths.ts';
import type { Action, Decision, Reason } from '../../src/election/decision.ts';
import type { ElectionSettings } from '../../src/election/model.ts';
import type { Instant } from '../../src/support/clock.ts';
import type { SimConnection } from './sim-connection.ts';
import type { ShardPlan } from './sim-plan.ts';
import type { SimProcess } from './sim-process.ts';
import { SpentAckCheck } from './spent-ack-check.ts';

/** The dependencies of a replica. */
export interface SimReplicaParts {
  readonly name: string;
  readonly process: SimProcess;
  readonly client: SimConnection;
  readonly lockClient: SimConnection;
  readonly settings: ElectionSettings;
  readonly shard: ShardPlan;
  readonly takeOver: boolean;
  readonly trace: (text: () => string) => void;
  readonly onViolation: (what: string) => void;
  /**
   * Until when the replica believes that it is the coordinator, in the world's time, unless it renews; undefined: it
   * does not believe so.
   */
  readonly onDuty: (until: Instant | undefined) => void;
  /** A decision of this replica. */
  readonly onDecision?: (decision: Decision) => void;
}

/** One replica of the coordinator: the real controller behind the real lock, wired as in the program. */
export class SimReplica {
  readonly name: string;
  readonly process: SimProcess;
  readonly client: SimConnection;
  readonly lockClient: SimConnection;
  readonly controller: ElectionController;
  readonly lock: CoordinatorLock;
  readonly #shard: ShardPlan;
  readonly #onDuty: SimReplicaParts['onDuty'];
  readonly #reasons = new Map<string, Reason>();
  /** By Lease: the longest duration that its watch has shown, in seconds. */
  readonly #shownSeconds = new Map<string, number>();
  #renewalSentAt: Instant = 0;
  #isStopping = false;

  constructor({
    name,
    process,
    client,
    lockClient,
    settings,
    shard,
    takeOver,
    trace,
    onViolation,
    onDuty,
    onDecision,
  }: SimReplicaParts) {
    const check = new SpentAckCheck(onViolation);
    this.name = name;
    this.process = process;
    this.client = client;
    this.lockClient = lockClient;
    this.#shard = shard;
    this.#onDuty = onDuty;
    this.lock = new CoordinatorLock({
      clock: process,
      storage: this.#watched(createApiLockStorage(lockClient, process, shard.lock, () => {})),
      identity: replicaIdentity(name, '1'),
      takeOver,
      canCoordinate: () => this.controller.canElect(),
      onChange: (state) => {
        trace(() => `${name} ${state.kind}`);
        this.#tellDuty();
        if (state.kind === 'active') this.controller.takeOver(this.lock.own);
      },
    });
    this.controller = new ElectionController({
      client,
      clock: process,
      settings,
      namespaces: shard.namespaces,
      workers: 8,
      isDryRun: false,
      mayWrite: () => this.lock.isActive(),
      onCanElectChange: () => this.lock.reconsider(),
      observe: (event) => {
        switch (event.type) {
          case 'decided': {
            const { key, decision, input } = event;
            check.decided(key, decision, input, process.now());
            onDecision?.(decision);
            if (decision.actions.length > 0 || decision.reason !== this.#reasons.get(key))
              trace(() => `${name} ${key} ${describe(decision)}`);
            this.#reasons.set(key, decision.reason);
            break;
          }
          case 'written': {
            const { key, action, error, decision, lease } = event;
            if (error !== undefined)
              trace(() => `${name} ${key} ${action.kind} failed: ${String(error).slice(0, 100)}`);
            if (isApplied(event)) check.applied(key, decision, lease, process.now());
            break;
          }
          case 'seen': {
            const { leaseDurationSeconds = 0 } = this.controller.gatherHolder(event.key).lease ?? {};
            const known = this.#shownSeconds.get(event.key) ?? 0;
            this.#shownSeconds.set(event.key, Math.max(known, leaseDurationSeconds));
            break;
          }
          case 'synced':
            trace(() => `${name} synced`);
            break;
          case 'watchFailed':
            trace(() => `${name} ${event.context.during} failed: ${String(event.error)}`);
            break;
          case 'reflected':
            trace(() => `${name} ${event.resource} ${event.observation.type}`);
            break;
          case 'decisionFailed':
            throw new Error(`${name} could not decide about ${event.key}`, { cause: event.error });
          default:
        }
      },
    });
  }

  /** The reason of its latest decision about a Lease. */
  reasonFor(key: string): Reason | undefined {
    return this.#reasons.get(key);
  }

  /** Whether its watch has ever shown the Lease with this duration or a longer one. */
  hasShown(key: string, durationMs: number): boolean {
    return (this.#shownSeconds.get(key) ?? 0) * 1000 >= durationMs;
  }

  /** Whether it may write now. */
  isActive(): boolean {
    return this.process.isAlive && this.lock.isActive();
  }

  /** Whether it runs and its memory is complete: it has seen all objects, and no event is in flight to it. */
  get isUpToDate(): boolean {
    return (
      this.isRunning &&
      !this.process.isPaused &&
      this.hasSynced &&
      this.client.openWatches === this.#watches &&
      !this.client.isBehind
    );
  }

  /** Number of objects of each kind in its namespaces. */
  get #watches(): number {
    return (1 + this.controller.candidateApis.length) * watchedNamespaces(this.#shard.namespaces).length;
  }

  /** Whether it runs and has listed everything once. From then on it sees all changes, perhaps late. */
  get hasSynced(): boolean {
    return (
      this.isRunning && this.controller.hasSynced('leases') && this.controller.hasSynced('leasecandidates')
    );
  }

  get isRunning(): boolean {
    return this.process.isAlive && !this.#isStopping;
  }

  /** Its own storage of the lock, which records when its last write was sent. */
  #watched(storage: LockStorage): LockStorage {
    const after = async <T>(sent: Promise<T>): Promise<T> => {
      const sentAt = this.process.world.now();
      const answer = await sent;
      this.#renewalSentAt = sentAt;
      // The lock handles the answer before this runs.
      this.process.world.setTimer(() => this.#tellDuty(), 0);
      return answer;
    };
    return {
      ...storage,
      create: (lease) => after(storage.create(lease)),
      update: (lease) => after(storage.update(lease)),
    };
  }

  #tellDuty(): void {
    const untilMs = RENEW_DEADLINE_MS / this.process.rate;
    this.#onDuty(this.isActive() ? this.#renewalSentAt + untilMs : undefined);
  }

  start(): void {
    this.controller.start();
    this.lock.start();
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.controller.scheduler.close();
    await this.lock.stop();
    await this.controller.stop();
    this.process.kill();
    this.#onDuty(undefined);
  }

  crash(): void {
    this.process.kill();
    this.#onDuty(undefined);
    this.client.breakWatches();
    this.lockClient.breakWatches();
  }
}

function describe({ reason, actions }: Decision): string {
  return `${reason}: ${actions.map(describeAction).join(', ')}`;
}

function describeAction(action: Action): string {
  switch (action.kind) {
    case 'CreateLease':
      return `create for ${action.grant?.holder ?? 'nobody'}`;
    case 'UpdateLease':
      return action.change.kind === 'grant'
        ? `grant to ${action.change.grant.holder}`
        : describeChange(action.change);
    default:
      return `${action.kind} ${action.name}`;
  }
}

function describeChange(change: Extract<Action, { kind: 'UpdateLease' }>['change']): string {
  return change.kind === 'prefer' ? `prefer ${change.preferredHolder}` : change.kind;
}
