import { parseVersion } from '../election/strategies.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import type { Clock } from '../support/clock.ts';
import { messageOf } from '../support/text.ts';
import type { Tell } from './demo-state.ts';
import {
  SampleCandidate,
  type SampleIdentity,
  type SampleLife,
  type SampleTiming,
} from './sample-candidate.ts';

/** Commands for the candidates of the demo. They report errors and never reject. */
export interface DemoCommands {
  killLeader(): Promise<void>;
  /** Pauses the leader. If any candidate is paused, resumes all paused candidates instead. */
  pauseOrResume(): Promise<void>;
  /** Starts a candidate that emulates an older version than all others. */
  addOlder(): Promise<void>;
  /** Starts a candidate that asks for another strategy. If one is running already, stops it instead. */
  conflictOrResolve(): Promise<void>;
  restartCrashed(): Promise<void>;
}

interface SampleCastParts {
  readonly client: KubernetesClient;
  readonly clock: Clock;
  readonly namespace: string;
  readonly leaseName: string;
  readonly timing: SampleTiming;
  readonly tell: Tell;
}

const STRATEGY = 'OldestEmulationVersion';

/** A strategy that this coordinator does not know. */
const OTHER_STRATEGY = 'example.com/NewestFirst';

const FIRST: readonly Pick<SampleIdentity, 'binaryVersion' | 'emulationVersion'>[] = [
  { binaryVersion: '1.36.0', emulationVersion: '1.36.0' },
  { binaryVersion: '1.36.0', emulationVersion: '1.35.0' },
  { binaryVersion: '1.35.0', emulationVersion: '1.35.0' },
];

export class SampleCast implements DemoCommands {
  readonly #parts: SampleCastParts;
  readonly #members = new Map<string, SampleCandidate>();
  #named = 0;

  constructor(parts: SampleCastParts) {
    this.#parts = parts;
  }

  member(name: string): SampleCandidate | undefined {
    return this.#members.get(name);
  }

  /** Starts three candidates with different versions. Resolves when all their LeaseCandidates exist. */
  async start(): Promise<void> {
    await Promise.all(FIRST.map((versions) => this.#add({ ...versions, strategy: STRATEGY })));
  }

  stop(): void {
    for (const member of this.#members.values()) member.crash();
  }

  async killLeader(): Promise<void> {
    const leader = this.#leader();
    if (!leader) return this.#complain('no candidate leads, so there is none to kill');
    this.#tell(leader, 'is killed');
    leader.crash();
  }

  async pauseOrResume(): Promise<void> {
    const paused = this.#having('paused');
    for (const member of paused) {
      this.#tell(member, 'resumes');
      member.resume();
    }
    if (paused.length > 0) return;
    const leader = this.#leader();
    if (!leader) return this.#complain('no candidate leads, so there is none to pause');
    this.#tell(leader, 'is paused: it does not answer and does not renew');
    leader.pause();
  }

  async addOlder(): Promise<void> {
    const minor = Math.min(...this.#all.map(({ identity }) => minorOf(identity.emulationVersion)));
    if (minor <= 0) return this.#complain('there is no older version');
    const version = `1.${minor - 1}.0`;
    await this.#add({ binaryVersion: version, emulationVersion: version, strategy: STRATEGY });
  }

  async conflictOrResolve(): Promise<void> {
    const rivals = this.#all.filter(({ identity }) => identity.strategy !== STRATEGY);
    if (rivals.length > 0) {
      await Promise.all(rivals.map((rival) => this.#dismiss(rival)));
      return;
    }
    const running = this.#having('running');
    if (running.length === 0) return this.#complain('no candidate is running, so there can be no conflict');
    // Only candidates with the highest binaryVersion choose the strategy (rule 4), so this candidate gets that version.
    const minor = Math.max(...running.map(({ identity }) => minorOf(identity.binaryVersion)));
    const version = `1.${minor}.0`;
    await this.#add({ binaryVersion: version, emulationVersion: version, strategy: OTHER_STRATEGY });
  }

  async restartCrashed(): Promise<void> {
    const crashed = this.#having('crashed');
    if (crashed.length === 0) return this.#complain('no candidate has crashed');
    await Promise.all(crashed.map(({ identity }) => this.#launch(identity)));
  }

  async #add(asks: Pick<SampleIdentity, 'binaryVersion' | 'emulationVersion' | 'strategy'>): Promise<void> {
    const { namespace, leaseName } = this.#parts;
    this.#named += 1;
    await this.#launch({ namespace, leaseName, name: `sample-${this.#named}`, ...asks });
  }

  /** Starts a program. Replaces a crashed program with the same name. */
  async #launch(identity: SampleIdentity): Promise<void> {
    const { client, clock, timing, tell } = this.#parts;
    const { binaryVersion, emulationVersion, strategy } = identity;
    const member: SampleCandidate = new SampleCandidate({
      client,
      clock,
      identity,
      timing,
      onLeading: (isLeading) => this.#tell(member, isLeading ? 'leads' : 'no longer leads'),
      onTrouble: (error) => tell(identity.name, `fails: ${messageOf(error)}`, true),
    });
    this.#members.set(identity.name, member);
    const wish = strategy === STRATEGY ? '' : `, wants ${strategy}`;
    this.#tell(member, `starts: version ${binaryVersion}, emulates ${emulationVersion}${wish}`);
    await member.start();
  }

  async #dismiss(member: SampleCandidate): Promise<void> {
    this.#members.delete(member.identity.name);
    this.#tell(member, 'is stopped');
    await member.leave();
  }

  #leader(): SampleCandidate | undefined {
    return this.#having('running').find(({ isLeading }) => isLeading);
  }

  get #all(): readonly SampleCandidate[] {
    return [...this.#members.values()];
  }

  #having(life: SampleLife): readonly SampleCandidate[] {
    return this.#all.filter((member) => member.life === life);
  }

  #tell({ identity }: SampleCandidate, text: string): void {
    this.#parts.tell(identity.name, text);
  }

  #complain(text: string): void {
    this.#parts.tell('you', text, true);
  }
}

function minorOf(version: string): number {
  return parseVersion(version)?.minor ?? 0;
}
