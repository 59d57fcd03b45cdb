import { parseVersion } from '../election/strategies.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import type { Clock } from '../support/clock.ts';
import { messageOf } from '../support/text.ts';
import type { Tell } from './demo-state.ts';
import {
  createSampleCandidate,
  type SampleCandidate,
  type SampleIdentity,
  type SampleTiming,
} from './sample-candidate.ts';

interface SampleCastParts {
  readonly client: KubernetesClient;
  readonly clock: Clock;
  readonly lease: Pick<SampleIdentity, 'namespace' | 'leaseName'>;
  readonly timing: SampleTiming;
  readonly tell: Tell;
}

const STRATEGY = 'OldestEmulationVersion';
const OTHER_STRATEGY = 'example.com/NewestFirst';

/**
 * Creates the cast of the demo: functions that start and stop its programs, and the commands of the user. If a command
 * is not possible at the moment, it reports this with `tell`, and does not reject.
 */
export function createSampleCast({ client, clock, lease, timing, tell }: SampleCastParts) {
  const members = new Map<string, SampleCandidate>();
  let named = 0;

  const all = () => [...members.values()];
  const having = (life: SampleCandidate['life']) => all().filter((member) => member.life === life);
  const leader = () => having('running').find(({ isLeading }) => isLeading);
  const complain = (text: string) => tell('you', text, true);

  /** Starts a program. Replaces a crashed program with the same name. */
  async function launch(identity: SampleIdentity): Promise<void> {
    const { name, binaryVersion, emulationVersion, strategy } = identity;
    const member = createSampleCandidate({
      client,
      clock,
      identity,
      timing,
      onLeading: (isLeading) => tell(name, isLeading ? 'leads' : 'no longer leads'),
      onTrouble: (error) => tell(name, `fails: ${messageOf(error)}`, true),
    });
    members.set(name, member);
    const wish = strategy === STRATEGY ? '' : `, wants ${strategy}`;
    tell(name, `starts: version ${binaryVersion}, emulates ${emulationVersion}${wish}`);
    await member.start();
  }

  async function add(binaryVersion: string, emulationVersion = binaryVersion, strategy = STRATEGY) {
    named += 1;
    await launch({ ...lease, name: `sample-${named}`, binaryVersion, emulationVersion, strategy });
  }

  async function dismiss(member: SampleCandidate): Promise<void> {
    const { name } = member.identity;
    members.delete(name);
    tell(name, 'is stopped');
    await member.leave();
  }

  const commands = {
    async killLeader(): Promise<void> {
      const victim = leader();
      if (!victim) return complain('no candidate leads, so there is none to kill');
      tell(victim.identity.name, 'is killed');
      victim.crash();
    },
    /** Pauses the leader. If any candidate is paused, resumes all paused candidates instead. */
    async pauseOrResume(): Promise<void> {
      const paused = having('paused');
      for (const { identity, resume } of paused) {
        tell(identity.name, 'resumes');
        resume();
      }
      if (paused.length > 0) return;
      const running = leader();
      if (!running) return complain('no candidate leads, so there is none to pause');
      tell(running.identity.name, 'is paused: it does not answer and does not renew');
      running.pause();
    },
    /** Starts a candidate that emulates an older version than all others. */
    async addOlder(): Promise<void> {
      const minor = Math.min(...all().map(({ identity }) => minorOf(identity.emulationVersion)));
      if (minor <= 0) return complain('there is no older version');
      await add(`1.${minor - 1}.0`);
    },
    /** Starts a candidate that asks for another strategy. If such candidates exist already, stops them instead. */
    async conflictOrResolve(): Promise<void> {
      const rivals = all().filter(({ identity }) => identity.strategy !== STRATEGY);
      await Promise.all(rivals.map(dismiss));
      if (rivals.length > 0) return;
      const running = having('running');
      if (running.length === 0) return complain('no candidate is running, so there can be no conflict');
      // Only candidates with the highest binaryVersion choose the strategy (rule 4), so this candidate gets that version.
      const minor = Math.max(...running.map(({ identity }) => minorOf(identity.binaryVersion)));
      const version = `1.${minor}.0`;
      await add(version, version, OTHER_STRATEGY);
    },
    async restartCrashed(): Promise<void> {
      const crashed = having('crashed');
      if (crashed.length === 0) return complain('no candidate has crashed');
      await Promise.all(crashed.map(({ identity }) => launch(identity)));
    },
  };

  return {
    commands,
    member: (name: string) => members.get(name),
    /** Starts three candidates with different versions. Resolves when all their LeaseCandidates exist. */
    async start(): Promise<void> {
      await Promise.all([add('1.36.0'), add('1.36.0', '1.35.0'), add('1.35.0')]);
    },
    stop(): void {
      for (const member of members.values()) member.crash();
    },
  };
}

export type DemoCommands = ReturnType<typeof createSampleCast>['commands'];

function minorOf(version: string): number {
  return parseVersion(version)?.minor ?? 0;
}
