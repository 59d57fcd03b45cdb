import type { ControlPlane } from '../control-plane/control-plane.ts';
import { type WatchedObject, type WatchedObjects, watchObjects } from './watched-objects.ts';

/** The version of the LeaseCandidate API that candidates are written in. */
export type CandidateApiVersion = 'v1beta1' | 'v1alpha2' | 'v1alpha1';

/** What a simulated candidate asks for. Whatever is left out is not written at all. */
export interface SimCandidateSpec {
  readonly namespace: string;
  readonly name: string;
  readonly leaseName: string;
  readonly binaryVersion?: string;
  readonly emulationVersion?: string;
  /** v1beta1 and v1alpha2. */
  readonly strategy?: string;
  /** v1alpha1. */
  readonly preferredStrategies?: readonly string[];
  /** Whether it answers pings; default true. */
  readonly answers?: boolean;
  /** How long before its creation it last renewed, in milliseconds; default 0. */
  readonly renewedMsAgo?: number;
  readonly finalizers?: readonly string[];
}

/** A LeaseCandidate as tests see it. */
export interface WatchedCandidate extends WatchedObject {
  readonly spec: { readonly renewTime?: string; readonly pingTime?: string; readonly leaseName?: string };
}

/** A LeaseCandidate without an elector behind it: it can only answer pings, or not. */
export interface SimCandidate {
  readonly namespace: string;
  readonly name: string;
  /** How many pings it has been sent. */
  pings(): number;
  /** Resolves once it has been sent that many pings in all; to when that was, by this process's monotonic clock. */
  pinged(count: number, timeoutMs?: number): Promise<number>;
  /** From now on it answers pings, the last one so far included: its program has started. */
  answer(): void;
  /** From now on it answers no ping: its program has crashed. */
  silence(): void;
  /** Deletes its object, as a program that ends in good order does. */
  remove(): Promise<void>;
}

/** LeaseCandidates that only a test speaks for: in versions that client-go does not know, with strategies of any kind. */
export interface SimCandidates {
  readonly objects: WatchedObjects<WatchedCandidate>;
  /** Creates the LeaseCandidate. @throws Error with the API server's answer when it is refused. */
  start(spec: SimCandidateSpec): Promise<SimCandidate>;
  stop(): void;
}

/** Now, or some time ago, as a MicroTime. */
export function microTime(msAgo = 0): string {
  const micros = Math.floor((performance.timeOrigin + performance.now() - msAgo) * 1000);
  const fraction = String(micros % 1_000_000).padStart(6, '0');
  return `${new Date(Math.floor(micros / 1000)).toISOString().slice(0, 19)}.${fraction}Z`;
}

/** Starts to answer pings for candidates in one version of the API, none of which exists yet. */
export async function startSimCandidates(
  plane: ControlPlane,
  version: CandidateApiVersion,
): Promise<SimCandidates> {
  const group = `/apis/coordination.k8s.io/${version}`;
  const objects = await watchObjects<WatchedCandidate>(plane, `${group}/leasecandidates`);
  const answering = new Set<string>();
  const pathOf = (namespace: string, name: string) =>
    `${group}/namespaces/${namespace}/leasecandidates/${name}`;

  function answerPing({ metadata, spec }: WatchedCandidate): void {
    if (!answering.has(`${metadata.namespace}/${metadata.name}`)) return;
    // As client-go compares them; both have the same form, so that their order as text is their order in time.
    if (spec.pingTime === undefined || spec.pingTime <= (spec.renewTime ?? '')) return;
    const body = {
      metadata: { resourceVersion: metadata.resourceVersion },
      spec: { renewTime: microTime() },
    };
    // Refused when the object has changed or gone: then there is another change to answer, or nobody who waits.
    plane.request('PATCH', pathOf(metadata.namespace, metadata.name), body).catch(() => {});
  }
  objects.onChange(({ type, object }) => {
    if (type !== 'DELETED') answerPing(object);
  });

  return {
    objects,
    async start({ namespace, name, answers = true, renewedMsAgo = 0, finalizers = [], ...asked }) {
      if (answers) answering.add(`${namespace}/${name}`);
      const collection = `${group}/namespaces/${namespace}/leasecandidates`;
      await plane.request('POST', collection, {
        apiVersion: `coordination.k8s.io/${version}`,
        kind: 'LeaseCandidate',
        metadata: { namespace, name, finalizers },
        spec: { ...asked, renewTime: microTime(renewedMsAgo) },
      });
      const pingTimes = () => {
        const seen = new Map<string, number>();
        for (const { object, at } of objects.history(namespace, name)) {
          const { pingTime } = object.spec;
          if (pingTime !== undefined && !seen.has(pingTime)) seen.set(pingTime, at);
        }
        return [...seen.values()];
      };
      return {
        namespace,
        name,
        pings: () => pingTimes().length,
        async pinged(count, timeoutMs = 60_000) {
          await objects.waitFor(namespace, name, () => pingTimes().length >= count, { timeoutMs });
          return pingTimes()[count - 1] ?? performance.now();
        },
        answer() {
          answering.add(`${namespace}/${name}`);
          const object = objects.current(namespace, name);
          if (object) answerPing(object);
        },
        silence: () => void answering.delete(`${namespace}/${name}`),
        async remove() {
          answering.delete(`${namespace}/${name}`);
          await plane.request('DELETE', pathOf(namespace, name));
        },
      };
    },
    stop: () => objects.stop(),
  };
}
