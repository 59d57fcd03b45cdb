import type { CandidateApiVersion } from '../../src/coordination/candidate-sources.ts';
import type { CoordinationServer } from '../control-plane/coordination-plane.ts';
import { type CandidateSpec, candidatePath, createCandidate, microTime } from './cluster-objects.ts';
import { type WatchedCandidate, type WatchedObjects, watchCandidates } from './watched-objects.ts';

/** What a simulated candidate asks for. */
export interface SimCandidateSpec extends Omit<CandidateSpec, 'apiVersion'> {
  readonly namespace: string;
  /** Whether it answers pings; default true. */
  readonly answers?: boolean;
  /** How far its clock is ahead of this machine's, in milliseconds; default 0. */
  readonly clockOffsetMs?: number;
}

/** A LeaseCandidate without an elector behind it: it can only answer pings, or not. */
export interface SimCandidate {
  readonly namespace: string;
  readonly name: string;
  /** How many pings it has been sent. */
  pings(): number;
  /** How many answers of its own the API server has taken. */
  acks(): number;
  /** Resolves once it has been sent that many pings in all; to when that was, by this process's monotonic clock. */
  pinged(count: number, timeoutMs?: number): Promise<number>;
  /** From now on it answers pings, the last one so far included: its program has started. */
  answer(): void;
  /** From now on it answers no ping: its program has crashed. */
  silence(): void;
  /** Deletes its object, as a program that ends in good order does. */
  remove(): Promise<void>;
}

/** LeaseCandidates that only a test speaks for: in versions, with strategies and by clocks that client-go does not know. */
export interface SimCandidates {
  readonly objects: WatchedObjects<WatchedCandidate>;
  /** Creates the LeaseCandidate. @throws Error with the API server's answer when it is refused. */
  start(spec: SimCandidateSpec): Promise<SimCandidate>;
  stop(): void;
}

/**
 * Starts to answer pings for candidates of one group and version, none of which exists yet. Each of their clocks goes
 * `pace` times as fast as this machine's from when it was started, as does that of whoever coordinates them.
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
        // As client-go compares them; both have the same form, so that their order as text is their order in time.
        if (!isAnswering || spec.pingTime === undefined || spec.pingTime <= (spec.renewTime ?? '')) return;
        const body = {
          metadata: { resourceVersion: metadata.resourceVersion },
          spec: { renewTime: ownTime() },
        };
        plane.request('PATCH', path, body).then(
          () => {
            acks += 1;
          },
          // Refused when the object has changed or gone: then there is another change to answer, or nobody who waits.
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
