import { decodePod } from '../coordination/pod.ts';
import { resourcePaths } from '../coordination/resource-paths.ts';
import { type ObservedPod, observePod } from '../election/holder-end.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { Reflector, type ReflectorErrorContext, type ReflectorEvent } from '../kubernetes/reflector.ts';
import type { Clock } from '../support/clock.ts';
import { NamespacedReflectors } from './watches.ts';

/** Callbacks must not throw. */
export interface PodWatchParts {
  readonly client: KubernetesClient;
  readonly clock: Clock;
  /** Empty: all. */
  readonly namespaces: readonly string[];
  /** A container of the Pod has ended, or runs again. */
  readonly onChange: (uid: string) => void;
  readonly onError: (error: unknown, context: ReflectorErrorContext) => void;
}

/**
 * Watches Pods for proof that a holder has ended (rule 17). Elections do not wait for it: without Pods, Leases simply
 * expire.
 */
export class PodWatch {
  readonly #parts: PodWatchParts;
  readonly #reflectors: NamespacedReflectors<ObservedPod>;
  readonly #byUid = new Map<string, ObservedPod>();

  constructor(parts: PodWatchParts) {
    this.#parts = parts;
    this.#reflectors = new NamespacedReflectors(parts.namespaces, (namespace) => this.#reflector(namespace));
  }

  /** Returns the Pod with this uid, and the observations of this process. */
  find(uid: string): ObservedPod | undefined {
    return this.#byUid.get(uid);
  }

  start(): void {
    this.#reflectors.start();
  }

  stop(): Promise<void> {
    return this.#reflectors.stop();
  }

  #reflector(namespace: string): Reflector<ObservedPod> {
    const { client, clock, onError } = this.#parts;
    return new Reflector({
      client,
      clock,
      path: resourcePaths.pods(namespace),
      decode: (raw, previous) => observePod(previous, decodePod(raw), clock.now()),
      handler: (event) => this.#onPod(event),
      onError,
    });
  }

  #onPod({ type, object, previous }: ReflectorEvent<ObservedPod>): void {
    const { uid } = object.pod;
    if (type === 'deleted') {
      // The deletion of a Pod does not prove that the holder has ended (rule 17).
      this.#byUid.delete(uid);
      return;
    }
    this.#byUid.set(uid, object);
    if (!previous || haveChanged(previous, object)) this.#parts.onChange(uid);
  }
}

/** Whether the set of running or ended container instances has changed. Most changes of a Pod are in other fields. */
function haveChanged(previous: ObservedPod, { pod, seenRunning, endSeenAt }: ObservedPod): boolean {
  if (previous.pod.uid !== pod.uid) return true;
  return (
    [...seenRunning].some((id) => !previous.seenRunning.has(id)) ||
    [...endSeenAt.keys()].some((id) => !previous.endSeenAt.has(id))
  );
}
