import { expect, onTestFinished, test } from 'vitest';
import { PRIORITY_ANNOTATION } from '../../src/coordination/candidate-priority.ts';
import { specOf } from '../../src/coordination/raw-object.ts';
import { Participant } from '../../src/participant/participant.ts';
import type { Term } from '../../src/participant/term.ts';
import { Chance } from '../simulation/chance.ts';
import { SimApiServer } from '../simulation/sim-api-server.ts';
import { SimConnection, type SimFate } from '../simulation/sim-connection.ts';
import { SimProcess } from '../simulation/sim-process.ts';
import { SimReplica } from '../simulation/sim-replica.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const LEASE = 'default/checkout';
const SEEDS = 40;
const STEP_MS = 100;
const FAULTS_MS = 240_000;
/** More than any outage, pause and Lease takes, and the time for which a program that let grants lapse is passed over. */
const CALM_MS = 180_000;
const PROGRAMS = 3;

/** One process of a program that takes part, from its start to its end. */
interface Life {
  readonly process: SimProcess;
  readonly connection: SimConnection;
  readonly participant: Participant;
  readonly stopping: AbortController;
  term: Term | undefined;
  hasEnded: boolean;
}

/** A coordinator, and programs that take part, while everything fails that may. */
class Trial {
  readonly clock: VirtualClock;
  readonly api: SimApiServer;
  readonly violations: string[] = [];
  readonly lives: (Life | undefined)[] = [];
  terms = 0;
  #chance: Chance;
  #greatest = -1;
  #isCalm = false;
  #pods = 0;

  constructor(seed: number) {
    this.#chance = new Chance(seed, 'trial');
    this.clock = new VirtualClock({ seed });
    this.api = new SimApiServer(this.clock, undefined, false);
    this.api.isGateOn = this.#chance.is(0.5);
    this.api.hasCustomCandidates = !this.api.isGateOn || this.#chance.is(0.5);
    if (!this.api.isGateOn) this.api.candidateVersions = [];
  }

  async run(): Promise<void> {
    this.#startCoordinator();
    for (let index = 0; index < PROGRAMS; index++) this.#start(index, this.#newPod(index));
    for (let at = 0; at < FAULTS_MS; at += STEP_MS) {
      this.#disturb();
      await this.#step();
    }
    this.#calm();
    for (let at = 0; at < CALM_MS; at += STEP_MS) await this.#step();
  }

  get leaders(): readonly Life[] {
    return this.#living().filter(({ participant }) => participant.state.role === 'leading');
  }

  end(): void {
    for (const { process } of this.#living()) process.kill();
  }

  async #step(): Promise<void> {
    await this.clock.advance(STEP_MS);
    const believers = this.#living().filter(({ term }) => term !== undefined && term.until() > 0);
    if (believers.length > 1)
      this.violations.push(
        `${this.clock.now()}: ${believers.map(({ participant }) => participant.identity).join(' and ')} lead`,
      );
    this.lives.forEach((life, index) => {
      if (life?.hasEnded) this.#start(index, life.participant.identity);
    });
  }

  #living(): readonly Life[] {
    return this.lives.filter(
      (life) => life !== undefined && !life.hasEnded && life.process.isAlive,
    ) as Life[];
  }

  #newPod(index: number): string {
    return `p${index}-${this.#pods++}`;
  }

  #start(index: number, identity: string): void {
    const chance = this.#chance;
    const process = new SimProcess(this.clock, { wallMs: chance.between(-20_000, 20_000) });
    const connection = new SimConnection(this.api, process, identity, { fate: () => this.#fate() });
    const stopping = new AbortController();
    const participant = new Participant(
      {
        lease: 'checkout',
        namespace: 'default',
        binaryVersion: '1.4.2',
        emulationVersion: `1.${index}.0`,
        identity,
        client: connection,
        clock: process,
        signal: stopping.signal,
      },
      (term) => this.#lead(life, term),
    );
    const life: Life = { process, connection, participant, stopping, term: undefined, hasEnded: false };
    this.lives[index] = life;
    participant.run().then(
      () => {
        life.hasEnded = true;
      },
      () => {
        life.hasEnded = true;
      },
    );
  }

  async #lead(life: Life, term: Term): Promise<void> {
    const chance = this.#chance;
    this.terms++;
    if (term.fencingToken <= this.#greatest)
      this.violations.push(`${this.clock.now()}: ${term.holder} has the number ${term.fencingToken} again`);
    this.#greatest = Math.max(this.#greatest, term.fencingToken);
    life.term = term;
    const sleep = (ms: number) => new Promise<void>((resolve) => void life.process.setTimer(resolve, ms));
    const told = new Promise<void>((resolve) => {
      if (term.signal.aborted) resolve();
      else term.signal.addEventListener('abort', () => resolve(), { once: true });
    });
    const isBrief = !this.#isCalm && chance.is(0.1);
    await (isBrief ? Promise.race([told, sleep(chance.between(0, 20_000))]) : told);
    // Most end soon, some take longer than they may.
    await sleep(chance.is(0.1) ? chance.between(0, 30_000) : chance.between(0, 2000));
    life.term = undefined;
    if (!this.#isCalm && chance.is(0.1)) throw new Error('the callback fails');
  }

  #fate(): SimFate {
    const chance = this.#chance;
    if (this.#isCalm) return { requestMs: 2, answerMs: 2 };
    const travel = { requestMs: chance.upTo(100), answerMs: chance.upTo(100), arrivesLate: chance.is(0.5) };
    if (chance.is(0.02)) return { ...travel, requestMs: chance.upTo(12_000) };
    if (chance.is(0.02)) return { ...travel, answerMs: chance.upTo(12_000) };
    if (chance.is(0.02))
      return {
        ...travel,
        outcome: chance.pick<'lost' | 'dropped' | number>(['lost', 'dropped', 503, 504, 429]),
      };
    return travel;
  }

  #disturb(): void {
    const chance = this.#chance;
    if (chance.is(0.003)) {
      this.api.isDown = true;
      this.clock.setTimer(() => {
        this.api.isDown = false;
      }, chance.upTo(20_000));
    }
    this.lives.forEach((life, index) => {
      if (life && !life.hasEnded) this.#strike(life, index);
    });
  }

  #strike(life: Life, index: number): void {
    const chance = this.#chance;
    const { process, connection, participant, stopping } = life;
    if (chance.is(0.002)) process.pause(chance.upTo(30_000));
    if (chance.is(0.002)) connection.breakWatches();
    if (chance.is(0.002)) connection.silenceWatches();
    if (chance.is(0.002)) void participant.resign();
    if (chance.is(0.002)) void participant.withdraw();
    if (chance.is(0.01)) participant.stand();
    if (chance.is(0.002)) this.#prioritize(participant.identity, chance.between(-5, 5));
    if (chance.is(0.001)) stopping.abort();
    if (chance.is(0.002)) {
      process.kill();
      connection.breakWatches();
      // The same container again, or another pod.
      const identity = chance.is(0.5) ? participant.identity : this.#newPod(index);
      this.clock.setTimer(() => this.#start(index, identity), chance.upTo(5000));
      this.lives[index] = undefined;
    }
  }

  #prioritize(name: string, priority: number): void {
    for (const resource of ['leasecandidates', 'customcandidates'] as const) {
      const before = this.api.store.get(resource, `default/${name}`);
      if (!before) continue;
      const annotations = { [PRIORITY_ANNOTATION]: String(priority) };
      this.api.store.update(resource, before, { ...before, metadata: { ...before.metadata, annotations } });
    }
  }

  #startCoordinator(): void {
    const process = new SimProcess(this.clock);
    const connect = (name: string) =>
      new SimConnection(this.api, process, name, { fate: () => this.#fate() });
    const replica = new SimReplica({
      name: 'coordinator',
      process,
      client: connect('coordinator'),
      lockClient: connect('coordinator'),
      settings: {
        electionDurationMs: 5000,
        leaseDurationSeconds: 10,
        candidateValidityMs: 1_800_000,
        candidateGcAfterMs: 7_200_000,
      },
      takeOver: true,
      trace: () => {},
      onViolation: (what) => this.violations.push(what),
      onDuty: () => {},
    });
    replica.start();
  }

  #calm(): void {
    this.#isCalm = true;
    this.api.isDown = false;
    for (const { process, connection, participant } of this.#living()) {
      process.resume();
      connection.reset();
      participant.stand();
    }
  }
}

test('participants lead one at a time, each under a number of its own, whatever fails; and one leads when nothing does (rule 15)', async () => {
  let terms = 0;
  for (let seed = 1; seed <= SEEDS; seed++) {
    const trial = new Trial(seed);
    onTestFinished(() => trial.end());
    await trial.run();
    expect({ seed, violations: trial.violations }).toEqual({ seed, violations: [] });
    const holders = trial.leaders.map(({ participant }) => participant.identity);
    expect({ seed, holders }).toEqual({
      seed,
      holders: [specOf(trial.api.lease(LEASE) ?? {})['holderIdentity']],
    });
    terms += trial.terms;
  }
  // Enough of them for that to mean something.
  expect(terms).toBeGreaterThan(10 * SEEDS);
}, 120_000);
