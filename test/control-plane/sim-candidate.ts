import type { CandidateApiVersion } from '../../src/coordination/candidate-sources.ts';
import type { CoordinationServer } from '../control-plane/coordination-plane.ts';
import { type CandidateSpec, candidatePath, createCandidate, microTime } from './cluster-objects.ts';
import { type WatchedCandidate, type WatchedObjects, watchCandidates } from './watched-objects.ts';

/** The options of a simulated candidate. */
export interface SimCandidateSpec extends Omit<CandidateSpec, 'apiVersion'> {
  readonly namespace: string;
  /** Whether it answers pings; default true. */
  readonly answers?: boolean;
  /** How far its clock is ahead of this machine's, in milliseconds; default 0. */
  readonly clockOffsetMs?: number;
}

/** A LeaseCandidate without an elector: it answers pings, or does not. */
export interface SimCandidate {
  readonly namespace: string;
  readonly name: string;
  /** Number of received pings. */
  pings(): number;
  /** Number of its answers that the API server has accepted. */
  acks(): number;
  /** Resolves after that many pings, to the time of the last one by this process's monotonic clock. */
  pinged(count: number, timeoutMs?: number): Promise<number>;
  /** Answers pings from now on, including the last one so far: its program has started. */
  answer(): void;
  /** Answers no ping from now on: its program has crashed. */
  silence(): void;
  /** Deletes its object, as a program that shuts down cleanly does. */
  remove(): Promise<void>;
}

/** LeaseCandidates of a test, with versions, strategies and clocks that client-go does not support. */
export interface SimCandidates {
  readonly objects: WatchedObjects<WatchedCandidate>;
  /**
   * Creates the LeaseCandidate.
   * @throws Error with the API server's answer if it is refused
   */
  start(spec: SimCandidateSpec): Promise<SimCandidate>;
  stop(): void;
}

/**
 * Starts to answer pings for candidates of one group and version; none of them exists yet. Each clock runs `pace`
 * times as fast as this machine's from its start, like the clock of their coordinator.
 */
export async function startSimCandidates(
  plane: CoordinationServer,
  apiVersion: CandidateApiVersion = 'coordination.k8s.io/v1beta1',
  pace = 1,
): Promise<SimCandidates> {
  const objects = await watchCandidates(plane, apiVersion);
  return {
    objects,
    async start({ answers = true, clockOffsetMs = 0, ...asked }) {
      const { namespace, name, renewedAgoMs = 0 } = asked;
      const path = candidatePath({ apiVersion, namespace, name });
      const startedAt = performance.now();
      let isAnswering = answers;
      let acks = 0;

      function ownTime(): string {
        return microTime(-clockOffsetMs - (pace - 1) * (performance.now() - startedAt));
      }

      function answerPing({ metadata, spec }: WatchedCandidate): void {
        // Compared as client-go does. Both have the same format, so text order is time order.
        if (!isAnswering || spec.pingTime === undefined || spec.pingTime <= (spec.renewTime ?? '')) return;
        const body = {
          metadata: { resourceVersion: metadata.resourceVersion },
          spec: { renewTime: ownTime() },
        };
        plane.request('PATCH', path, body).then(
          () => {
            acks += 1;
          },
          // Refused because the object has changed or is gone: then there is another change to answer, or no answer
          // is needed.
          () => {},
        );
      }
      objects.onChange(namespace, name, ({ type, object }) => {
        if (type !== 'DELETED') answerPing(object);
      });

      function pingTimes(): readonly number[] {
        const seen = new Map<string, number>();
        for (const { object, at } of objects.history(namespace, name)) {
          const { pingTime } = object.spec;
          if (pingTime !== undefined && !seen.has(pingTime)) seen.set(pingTime, at);
        }
        return [...seen.values()];
      }

      await createCandidate(plane, { ...asked, apiVersion, renewedAgoMs: renewedAgoMs - clockOffsetMs });
      return {
        namespace,
        name,
        pings: () => pingTimes().length,
        acks: () => acks,
        async pinged(count, timeoutMs = 60_000) {
          await objects.waitFor(namespace, name, () => pingTimes().length >= count, { timeoutMs });
          return pingTimes()[count - 1] ?? performance.now();
        },
        answer() {
          isAnswering = true;
          const object = objects.current(namespace, name);
          if (object) answerPing(object);
        },
        silence() {
          isAnswering = false;
        },
        async remove() {
          isAnswering = false;
          await plane.request('DELETE', path);
        },
      };
    },
    stop: () => objects.stop(),
  };
}
