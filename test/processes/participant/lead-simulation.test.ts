import { describe, expect, test } from 'vitest';
import { Participant } from '../../../src/participant/participant.ts';
import { LeadConnections, MAX_PROMISE_MS } from '../../../src/processes/participant/lead-connections.ts';
import { Leadership } from '../../../src/processes/participant/leader-endpoints.ts';
import { ParticipantStage } from '../../participant/participant-stage.ts';
import { SimProcess } from '../../simulation/sim-process.ts';
import { seededRandom } from '../../support/seeded-random.ts';
import { FakeResponse } from './fake-response.ts';

/** A program of the pod, by the monotonic clock that it shares with the sidecar. */
interface SimProgram {
  readonly response: FakeResponse;
  readonly askedAt: number;
  /** How long it takes to stop, in milliseconds; infinite if it ignores the stop. */
  readonly stopMs: number;
  /** Until when it believes that it may lead; undefined if it does not lead. */
  validUntil: number | undefined;
}

/** A pod whose sidecar crashes and restarts, with programs that ask, stop, hang and crash, beside another pod. */
class SimPod {
  readonly #random: () => number;
  readonly stage = new ParticipantStage();
  readonly programs = new Set<SimProgram>();
  readonly violations: string[] = [];
  releases = 0;
  led = 0;
  #process = new SimProcess(this.stage.clock);
  #isSidecarUp = false;
  #connections!: LeadConnections;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
    this.startSidecar();
  }

  startSidecar(): void {
    const { stage } = this;
    const process = new SimProcess(stage.clock);
    this.#process = process;
    this.#isSidecarUp = true;
    const connections: LeadConnections = new LeadConnections({
      clock: process,
      lease: 'default/checkout',
      repeatMs: 2000,
      logger: { info: () => {}, warn: () => {} },
      resign: () => void participant.resign(),
      onChange() {
        if (connections.hasProgram) participant.stand();
        else void participant.withdraw();
      },
    });
    this.#connections = connections;
    const identity = () => 'one';
    const leadership = new Leadership({
      clock: process,
      lease: 'default/checkout',
      identity,
      holder: () => participant.state.holder,
      connections,
    });
    const participant: Participant = new Participant(
      {
        lease: 'checkout',
        namespace: 'default',
        binaryVersion: '1.4.2',
        identity: 'one',
        client: stage.connect(process, 'one'),
        clock: process,
        resumeDelayMs: MAX_PROMISE_MS,
      },
      leadership.lead,
    );
    void participant.withdraw();
    void participant.run();
  }

  crashSidecar(): void {
    this.#process.kill();
    this.#isSidecarUp = false;
    for (const program of this.programs) program.response.destroyed = true;
  }

  /**
   * A program asks for the lead. After a crash of the sidecar, another program may ask before the former one has
   * stopped.
   */
  ask(): void {
    const { clock } = this.stage;
    const stopMs = this.#pick([0, 50, 2000, Number.POSITIVE_INFINITY]);
    const program: SimProgram = {
      response: new FakeResponse(),
      askedAt: clock.now(),
      stopMs,
      validUntil: undefined,
    };
    this.programs.add(program);
    program.response.onTold = ({ leading, validUntilMs }) => {
      const readMs = this.#pick([0, 0, 0, 300, 8000]);
      const read = () => {
        if (!this.programs.has(program)) return;
        if (leading && program.validUntil === undefined) this.led += 1;
        program.validUntil = program.askedAt + validUntilMs;
        if (!leading) clock.setTimer(() => this.close(program), stopMs);
      };
      if (readMs === 0) read();
      else clock.setTimer(read, readMs);
    };
    this.#connections.join(program.response.asResponse);
  }

  /** The program has stopped or crashed. */
  close(program: SimProgram): void {
    if (!this.programs.delete(program)) return;
    program.response.close();
  }

  /** The programs that believe that they lead. */
  get leaders(): readonly SimProgram[] {
    const now = this.stage.clock.now();
    return [...this.programs].filter(({ validUntil = 0 }) => now < validUntil);
  }

  async run(ms: number): Promise<void> {
    const { clock } = this.stage;
    const until = clock.now() + ms;
    while (clock.now() < until) {
      this.#act();
      await clock.advanceWhile(clock.now() + this.#random() * 1000, () => {
        this.#check();
        return true;
      });
    }
  }

  #act(): void {
    const { stage } = this;
    const programs = [...this.programs];
    const { holderIdentity } = stage.lease;
    const dice = this.#random();
    if (programs.length < 3 && dice < 0.35 && this.#isSidecarUp) this.ask();
    else if (dice < 0.45 && programs.length > 0) this.close(this.#pick(programs));
    else if (dice < 0.5) stage.writeLease({ preferredHolder: this.#pick(['two', undefined]) });
    else if (dice < 0.53 && this.#isSidecarUp) {
      this.crashSidecar();
      stage.clock.setTimer(() => this.startSidecar(), this.#random() * 3000);
    } else if (dice < 0.9 && !holderIdentity) {
      stage.grant(stage.api.candidate('default/one') ? 'one' : 'two', { preferredHolder: undefined });
    } else if (holderIdentity === 'two') stage.writeLease({ holderIdentity: '', leaseDurationSeconds: 1 });
  }

  #check(): void {
    const { leaders, stage } = this;
    const now = stage.clock.now();
    const writes = stage.leaseWrites.filter((write) => write.endsWith(' ')).length;
    if (leaders.length > 1) this.violations.push(`${now}: two programs lead`);
    if (writes > this.releases && leaders.some(({ response }) => !response.destroyed))
      this.violations.push(`${now}: released while a program leads`);
    if (leaders.length > 0 && stage.lease['holderIdentity'] !== 'one')
      this.violations.push(
        `${now}: a program leads, but ${String(stage.lease['holderIdentity'])} has the Lease`,
      );
    this.releases = writes;
  }

  #pick<T>(values: readonly T[]): T {
    return values[Math.floor(this.#random() * values.length)] as T;
  }
}

describe('a sidecar whose programs ask, stop, hang and crash (rule 18)', () => {
  test('never releases the Lease while a program leads, and never has two leading programs', async () => {
    let [releases, led] = [0, 0];
    for (let seed = 1; seed <= 30; seed += 1) {
      const pod = new SimPod(seed);
      await pod.run(120_000);
      expect(pod.violations, `seed ${seed}`).toEqual([]);
      releases += pod.releases;
      led += pod.led;
      pod.crashSidecar();
    }
    expect(led).toBeGreaterThan(100);
    expect(releases).toBeGreaterThan(50);
  });
});
