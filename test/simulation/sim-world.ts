import { createApiLockStorage } from '../../src/controller/lock/api-lock-storage.ts';
import { coordinatorLease } from '../../src/election/coordinator-lease.ts';
import type { ElectionSettings } from '../../src/election/model.ts';
import type { Instant } from '../../src/support/clock.ts';
import { SimBuiltIn } from '../controller/lock/sim-built-in.ts';
import { defaultSettings } from '../support/election-builders.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { CoordinatorDutyCheck } from './coordinator-duty-check.ts';
import { LeaseHistoryCheck } from './lease-history-check.ts';
import { OutdatedWriteCheck } from './outdated-write-check.ts';
import { SimApiServer, type SimWrite, specOf } from './sim-api-server.ts';
import { SimCandidate, type SimElectorTiming } from './sim-candidate.ts';
import { SimConnection, type SimFate } from './sim-connection.ts';
import { SimProcess } from './sim-process.ts';
import { SimReplica } from './sim-replica.ts';

const LOCK_KEY = `${coordinatorLease.namespace}/${coordinatorLease.name}`;
const MAX_TRACE = 400;
const HOUR_MS = 3_600_000;
/** The versions that candidates come in, as binary and emulation. */
const VERSIONS = [
  ['1.36.0', '1.36.0'],
  ['1.36.0', '1.35.0'],
  ['1.37.0', '1.36.0'],
  ['1.35.3', '1.35.0'],
] as const;

/** How bad the network is. */
export interface SimWeather {
  /** The longest that a request or its answer usually travels, in milliseconds. */
  readonly latencyMs: number;
  /** The share of requests that is lost, or answered with an error. */
  readonly loss: number;
  /** The longest that a watch event travels, in milliseconds. */
  readonly watchDelayMs: number;
}

export const CALM: SimWeather = { latencyMs: 20, loss: 0, watchDelayMs: 10 };

/** A cluster in virtual time: an API server, candidates, two replicas of the coordinator, the built-in controller. */
export class SimWorld {
  readonly clock: VirtualClock;
  readonly api: SimApiServer;
  readonly violations: string[] = [];
  readonly leaseKeys: readonly string[];
  candidates: SimCandidate[] = [];
  replicas: SimReplica[] = [];
  weather: SimWeather = CALM;
  settings: ElectionSettings = defaultSettings;
  /** By name of a Lease: how its candidates elect, where that is not as usual. */
  readonly timings = new Map<string, SimElectorTiming>();
  /** No request arrives before. */
  outageUntil: Instant = Number.NEGATIVE_INFINITY;
  /** Until then no memory may be lost, as rule 8 goes by what a coordinator has seen. */
  truceUntil: Instant = Number.NEGATIVE_INFINITY;
  /** Times of the pings to each candidate. */
  readonly pings = new Map<string, Instant[]>();
  /** Who led each Lease last, and changes of it. */
  readonly leaderships = new Map<string, string>();
  leaderChanges = 0;
  #builtIn: { readonly name: string; readonly elector: SimBuiltIn; readonly process: SimProcess } | undefined;
  readonly #trace: string[] = [];
  readonly #history: LeaseHistoryCheck;
  readonly #duty: CoordinatorDutyCheck;
  #lockHolder: unknown;
  /** What must always hold did not: that was said, and it is not looked at any more. */
  #isBroken = false;
  /** By Lease: its record as last written. */
  readonly #records = new Map<string, { readonly holder: string; readonly durationMs: number }>();
  /** By candidate that lost its Lease to another: its record's duration from then, and the replicas that can tell. */
  readonly #losses = new Map<
    string,
    { readonly until: Instant; readonly witnesses: readonly SimReplica[] }
  >();
  #started = 0;

  constructor(seed: number, leaseNames: readonly string[]) {
    this.clock = new VirtualClock({ seed });
    this.api = new SimApiServer(this.clock);
    const onViolation = (what: string) => void this.violations.push(what);
    this.#history = new LeaseHistoryCheck(onViolation);
    this.#duty = new CoordinatorDutyCheck(this.clock, defaultSettings.candidateValidityMs, onViolation);
    this.leaseKeys = leaseNames.map((name) => `default/${name}`);
    this.api.onWrite = (write) => this.#onWrite(write);
  }

  get trace(): string {
    return this.#trace.join('\n');
  }

  upTo(max: number): number {
    return Math.floor(this.clock.random() * max);
  }

  chance(probability: number): boolean {
    return this.clock.random() < probability;
  }

  pick<T>(from: readonly T[]): T | undefined {
    return from[this.upTo(from.length)];
  }

  note(text: string): void {
    this.#trace.push(`${(this.clock.now() / 1000).toFixed(3).padStart(9)} ${text}`);
    if (this.#trace.length > MAX_TRACE) this.#trace.shift();
  }

  /** Its clock is right, or hours off, as chance has it where it is not said. */
  startCandidate(leaseName: string, clock?: 'right'): void {
    const [binaryVersion, emulationVersion] = this.pick(VERSIONS) ?? VERSIONS[0];
    const name = `${leaseName}-${++this.#started}`;
    // Hours off, but not so far behind that it looks as if it had not renewed for candidateGcAfter (rule 1).
    const wallMs = clock === 'right' || this.chance(0.5) ? 0 : this.upTo(4.5 * HOUR_MS) - 1.5 * HOUR_MS;
    const process = new SimProcess(this.clock, { monotonicMs: this.upTo(1_000_000), wallMs });
    const candidate = new SimCandidate(
      { namespace: 'default', leaseName, name, binaryVersion, emulationVersion },
      process,
      this.connect(process, name),
      {
        onExit: () => this.#startAgain(candidate),
        mayReleaseAnothers: () => this.#isReleaseDoubted(name) && this.#begTruce(),
        trace: (text) => this.note(text),
      },
      this.timings.get(leaseName),
    );
    this.candidates.push(candidate);
    this.note(`${name} starts, ${binaryVersion} as ${emulationVersion}, clock off by ${wallMs} ms`);
    candidate.start();
  }

  startReplica(takeOver: boolean): SimReplica {
    const name = `replica-${++this.#started}`;
    const process = new SimProcess(this.clock, {
      monotonicMs: this.upTo(1_000_000),
      wallMs: this.upTo(60_000),
    });
    const onViolation = (what: string) => void this.violations.push(what);
    const replica = new SimReplica({
      name,
      process,
      client: this.connect(process, name, new OutdatedWriteCheck(this.clock, onViolation)),
      lockClient: this.connect(process, `${name}-lock`),
      settings: this.settings,
      takeOver,
      trace: (text) => this.note(text),
      onViolation,
    });
    this.replicas.push(replica);
    this.note(`${name} starts`);
    replica.start();
    return replica;
  }

  startBuiltIn(): void {
    this.crashBuiltIn();
    const name = `apiserver-${++this.#started}`;
    const process = new SimProcess(this.clock);
    const storage = createApiLockStorage(this.connect(process, name), process, coordinatorLease, () => {});
    const elector = new SimBuiltIn(process, storage, name);
    this.#builtIn = { name, elector, process };
    void elector.run();
  }

  crashBuiltIn(): void {
    this.#builtIn?.elector.crash();
    this.#builtIn?.process.kill();
    this.#builtIn = undefined;
  }

  /** Somebody deletes a Lease, or empties it, who is no holder of it. */
  vandalise(key: string): void {
    const lease = this.api.lease(key);
    if (!lease || !this.#begTruce()) return;
    // What it does leaves no grant by expiry behind that a release could be doubted for.
    this.#records.delete(key);
    if (this.chance(0.5)) {
      this.note(`a vandal deletes ${key}`);
      this.api.store.remove('leases', lease);
      return;
    }
    this.note(`a vandal empties ${key}`);
    const { preferredHolder: _, ...spec } = specOf(lease);
    this.api.store.update('leases', lease, { ...lease, spec: { ...spec, holderIdentity: '' } });
  }

  /** Runs on, and looks at what must always hold after every single event. */
  async run(ms: number): Promise<void> {
    await this.clock.advance(ms, () => {
      if (!this.#isBroken) this.#check();
    });
  }

  leadersOf(key: string): readonly SimCandidate[] {
    return this.candidates.filter((candidate) => candidate.leaseKey === key && candidate.leads);
  }

  /** The best of the running candidates, by emulationVersion, binaryVersion, age and name. */
  bestOf(key: string): SimCandidate | undefined {
    const rank = ({ identity }: SimCandidate) => {
      const { metadata } = this.api.candidate(`${identity.namespace}/${identity.name}`) ?? {
        metadata: undefined,
      };
      const { emulationVersion, binaryVersion, name } = identity;
      return [emulationVersion, binaryVersion, metadata?.creationTimestamp ?? 'z', name].join(' ');
    };
    const running = this.candidates.filter((candidate) => candidate.leaseKey === key && candidate.isRunning);
    return running.sort((a, b) => (rank(a) < rank(b) ? -1 : 1))[0];
  }

  isRunningFor(leaseName: string): readonly SimCandidate[] {
    return this.candidates.filter(({ identity, isRunning }) => isRunning && identity.leaseName === leaseName);
  }

  #startAgain({ identity }: SimCandidate): void {
    this.clock.setTimer(() => this.startCandidate(identity.leaseName), 1000 + this.upTo(5000));
  }

  /** Rule 8 doubts a release only so long after another got the Lease, where that was seen; the request needs some time. */
  #isReleaseDoubted(name: string): boolean {
    const loss = this.#losses.get(name);
    if (!loss || this.clock.now() + 4000 >= loss.until) return false;
    return this.replicas.every((replica) => !replica.isRunning || loss.witnesses.includes(replica));
  }

  /** Rule 8 protects from what a coordinator could see happen: all have to be awake, and to stay so. */
  #begTruce(): boolean {
    const running = this.replicas.filter(({ isRunning }) => isRunning);
    if (running.length < 2 || !running.every(({ isUpToDate }) => isUpToDate)) return false;
    this.truceUntil = this.clock.now() + 35_000;
    return true;
  }

  get hasTruce(): boolean {
    return this.clock.now() < this.truceUntil;
  }

  connect(process: SimProcess, name: string, check?: OutdatedWriteCheck): SimConnection {
    return new SimConnection(this.api, process, name, {
      fate: (request) => {
        check?.sent(request, name);
        return this.#fate(request.deadlineMs ?? 10_000);
      },
      onAnswer: (request) => check?.answered(request),
      watchDelayMs: () => this.upTo(this.hasTruce ? CALM.watchDelayMs : this.weather.watchDelayMs),
    });
  }

  #fate(deadlineMs: number): SimFate {
    const { latencyMs, loss } = this.weather;
    if (this.clock.now() < this.outageUntil) return { outcome: 'dropped' };
    const slow = loss > 0 && this.chance(0.05) ? 2 * deadlineMs : latencyMs;
    const times = { requestMs: 1 + this.upTo(slow), answerMs: 1 + this.upTo(slow) };
    if (!this.chance(loss)) return times;
    const outcome = this.pick(['lost', 'lost', 'dropped', 500, 504, 429] as const);
    return outcome === undefined ? times : { ...times, outcome };
  }

  #onWrite(write: SimWrite): void {
    const { writer, resource, key, body, status, method } = write;
    const isOurs = writer.startsWith('replica-') && !writer.endsWith('-lock');
    const spec = body['spec'];
    const { holderIdentity } = specOf(this.api.lease(LOCK_KEY));
    if (key === LOCK_KEY && holderIdentity !== this.#lockHolder) {
      this.#lockHolder = holderIdentity;
      this.note(`  ${writer} writes the lock: ${JSON.stringify(spec)}`);
    }
    if (resource === 'leases') {
      const former = this.#records.get(key);
      const { holderIdentity: holder, leaseDurationSeconds } = specOf(this.api.lease(key));
      if (former && former.holder !== holder)
        this.#losses.set(former.holder, {
          until: this.clock.now() + former.durationMs,
          witnesses: this.replicas.filter(({ hasSynced }) => hasSynced),
        });
      this.#records.set(key, { holder: String(holder), durationMs: Number(leaseDurationSeconds) * 1000 });
    }
    if (key !== LOCK_KEY) this.#history.written(write);
    this.#duty.written(write);
    if (isOurs) {
      this.#duty.coordinated(write, this.candidates);
      if (method === 'PATCH' && resource === 'leasecandidates') {
        const times = this.pings.get(key) ?? [];
        times.push(this.clock.now());
        this.pings.set(key, times);
      }
      for (const replica of this.replicas) {
        if (replica.name !== writer && replica.isActive())
          this.violations.push(`${writer} writes ${key} while ${replica.name} is active`);
      }
      if (this.#builtIn?.elector.isActive())
        this.violations.push(`${writer} writes ${key} while ${this.#builtIn.name} is active`);
      this.note(`  ${writer} ${method} ${key} ${status} ${JSON.stringify(spec)}`);
    }
  }

  #check(): void {
    const leaders = new Map<string, string>();
    for (const candidate of this.candidates) {
      if (!candidate.leads) continue;
      const { leaseKey, identity } = candidate;
      const other = leaders.get(leaseKey);
      if (other !== undefined) this.violations.push(`${other} and ${identity.name} both lead ${leaseKey}`);
      leaders.set(leaseKey, identity.name);
      if (this.leaderships.get(leaseKey) !== identity.name) {
        this.leaderships.set(leaseKey, identity.name);
        this.leaderChanges++;
      }
    }
    const active = this.replicas.filter((replica) => replica.isActive()).map(({ name }) => name);
    if (this.#builtIn?.elector.isActive()) active.push(this.#builtIn.name);
    if (active.length > 1) this.violations.push(`${active.join(' and ')} both coordinate`);
    for (const violation of this.violations) this.note(`VIOLATION ${violation}`);
    this.#isBroken = this.violations.length > 0;
  }
}
