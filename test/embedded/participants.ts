import {
  createSampleCandidate,
  type SampleCandidate,
  type SampleIdentity,
  type SampleTiming,
} from '../../src/demo/sample-candidate.ts';
import { createClient } from '../../src/kubernetes/client.ts';
import { type Leadership, overlapsOf } from '../control-plane/leaderships.ts';
import { Changes } from './changes.ts';
import type { EmbeddedCluster } from './embedded-cluster.ts';
import { patientClock } from './patient-clock.ts';

/** A program that takes part in an election. */
export interface Participant {
  readonly name: string;
  /** Resolves as soon as it leads. */
  leads(): Promise<unknown>;
  /** Resolves as soon as it stops leading. */
  leadsNoLonger(): Promise<unknown>;
  readonly isLeading: boolean;
  /** Ends it as SIGKILL would: it no longer releases, answers or renews. */
  crash(): Promise<void>;
}

/** The options of a participant. */
export type ParticipantSpec = Pick<SampleIdentity, 'namespace' | 'leaseName' | 'name'> &
  Partial<SampleIdentity>;

/** Many participants, with a record of who led when. */
export interface Participants {
  /** Resolves when its LeaseCandidate exists. */
  start(spec: ParticipantSpec): Promise<Participant>;
  /** Describes each time that two led the same Lease at once; empty if all is well. */
  overlaps(): readonly string[];
  /** How often a participant has begun to lead. */
  readonly leaderships: number;
  stop(): Promise<void>;
}

/** Roughly the proportions of client-go: a leader that stops renewing stops leading long before its Lease expires. */
export const timing: SampleTiming = {
  leaseDurationMs: 2000,
  renewDeadlineMs: 1000,
  retryPeriodMs: 200,
  stoppingMs: 600,
};

export function startParticipants(cluster: EmbeddedCluster): Participants {
  const client = createClient({
    kubeConfig: cluster.kubeConfigOf('admin'),
    clock: patientClock,
    userAgent: 'test',
    connections: 8,
  });
  const started: SampleCandidate[] = [];
  const led = new Map<string, Leadership[]>();
  const changes = new Changes();

  return {
    async start({ namespace, leaseName, name, ...asked }) {
      const identity: SampleIdentity = {
        binaryVersion: '1.36.0',
        emulationVersion: '1.36.0',
        strategy: 'OldestEmulationVersion',
        ...asked,
        namespace,
        leaseName,
        name,
      };
      const key = `${namespace}/${leaseName}`;
      const all = led.get(key) ?? [];
      led.set(key, all);
      const hasLed = () => all.some(({ id }) => id === name);

      function endLeadership(): void {
        const index = all.findIndex(({ id, until: end }) => id === name && end === undefined);
        const open = all[index];
        if (open) all[index] = { ...open, until: nowMicros() };
      }
      const candidate = createSampleCandidate({
        client,
        clock: patientClock,
        identity,
        timing,
        onLeading(isLeading) {
          if (isLeading) all.push({ id: name, from: nowMicros(), until: undefined });
          else endLeadership();
          changes.notify();
        },
      });
      started.push(candidate);
      await candidate.start();
      return {
        name,
        leads: () =>
          changes.until(
            () => candidate.isLeading || undefined,
            () => `${key}: ${name} leads`,
          ),
        leadsNoLonger: () =>
          changes.until(
            () => (hasLed() && !candidate.isLeading) || undefined,
            () => `${key}: ${name} leads no longer`,
          ),
        get isLeading() {
          return candidate.isLeading;
        },
        async crash() {
          candidate.crash();
          endLeadership();
        },
      };
    },
    overlaps: () =>
      [...led].flatMap(([key, all]) => overlapsOf(all, 0, nowMicros()).map((each) => `${key}: ${each}`)),
    get leaderships() {
      return [...led.values()].flat().length;
    },
    async stop() {
      for (const candidate of started) candidate.crash();
      await client.close();
    },
  };
}

function nowMicros(): number {
  return (performance.timeOrigin + performance.now()) * 1000;
}
