import { asksForEvidence } from '../coordination/lease.ts';
import { decodePod } from '../coordination/pod.ts';
import { resourcePaths } from '../coordination/resource-paths.ts';
import {
  hostnamesOf,
  type ObservedPod,
  observePod,
  type Pod,
  type PossiblePods,
} from '../election/holder-binding.ts';
import { Reflector, type ReflectorErrorContext, type ReflectorEvent } from '../kubernetes/reflector.ts';
import type { Instant } from '../support/clock.ts';
import { NamespacedReflectors, type WatchScope } from './watches.ts';

/** Callbacks must not throw. */
interface EvidenceWatchParts extends WatchScope {
  /** Called when this process first sees a Pod, and when one of its containers has started or ended. */
  readonly onPodChange: (pod: Pod) => void;
  /** Called when the result of `isAskedBy` changes: a Namespace asks for crash evidence now, or no longer asks. */
  readonly onNamespaceChange: (namespace: string) => void;
  readonly onError: (error: unknown, context: ReflectorErrorContext) => void;
}

interface HostEntry {
  readonly uids: readonly string[];
  /** When this entry last lost a Pod and kept another one; undefined if never. An entry without Pods is deleted. */
  readonly sharedAt: Instant | undefined;
}

const NO_PODS: HostEntry = { uids: [], sharedAt: undefined };

type ObservedNamespace = Readonly<{ name: string; isAsking: boolean }>;

/**
 * Watches Pods for proof that a holder has ended, and Namespaces for the annotation that asks for this proof about
 * plain electors (rule 17). Elections do not wait for these watches. A coordinator that is limited to some `namespaces`
 * does not watch Namespaces, because it may lack the permission: only the annotations of Leases count.
 */
export class EvidenceWatch {
  readonly #parts: EvidenceWatchParts;
  readonly #pods: NamespacedReflectors<ObservedPod>;
  readonly #namespaces: Reflector<ObservedNamespace> | undefined;
  readonly #byUid = new Map<string, ObservedPod>();
  readonly #hosts = new Map<string, HostEntry>();
  readonly #asking = new Set<string>();

  constructor(parts: EvidenceWatchParts) {
    this.#parts = parts;
    const { client, clock, namespaces, onError } = parts;
    const shared = { client, clock, onError };
    this.#pods = new NamespacedReflectors(
      namespaces,
      (namespace) =>
        new Reflector({
          ...shared,
          path: resourcePaths.pods(namespace),
          decode: (raw, previous) => observePod(previous, decodePod(raw), clock.now()),
          handler: (event) => this.#onPod(event),
        }),
    );
    this.#namespaces =
      namespaces.length > 0
        ? undefined
        : new Reflector({
            ...shared,
            path: resourcePaths.namespaces,
            decode: (raw) => ({ name: raw.metadata.name, isAsking: asksForEvidence(raw) }),
            handler: (event) => this.#onNamespace(event),
          });
  }

  find(uid: string): ObservedPod | undefined {
    return this.#byUid.get(uid);
  }

  /** Returns the Pods with this hostname or name in all watched namespaces. */
  onHost(hostname: string): PossiblePods {
    const { uids, sharedAt } = this.#hosts.get(hostname) ?? NO_PODS;
    return { pods: uids.flatMap((uid) => this.#byUid.get(uid) ?? []), sharedAt };
  }

  isAskedBy(namespace: string): boolean {
    return this.#asking.has(namespace);
  }

  start(): void {
    this.#pods.start();
    this.#namespaces?.start();
  }

  async stop(): Promise<void> {
    await Promise.all([this.#pods.stop(), this.#namespaces?.stop()]);
  }

  #onPod({ type, object, previous }: ReflectorEvent<ObservedPod>): void {
    const { pod } = object;
    if (previous && previous.pod.uid !== pod.uid) this.#drop(previous.pod);
    // Do not call `onPodChange`: the deletion of a Pod does not prove that the holder has ended (rule 17).
    if (type === 'deleted') {
      this.#drop(pod);
      return;
    }
    const hosts = this.#byUid.has(pod.uid) ? [] : hostnamesOf(pod);
    for (const host of hosts) {
      const { uids, sharedAt } = this.#hosts.get(host) ?? NO_PODS;
      this.#hosts.set(host, { uids: [...uids, pod.uid], sharedAt });
    }
    this.#byUid.set(pod.uid, object);
    if (!previous || haveChanged(previous, object)) this.#parts.onPodChange(pod);
  }

  #drop(pod: Pod): void {
    this.#byUid.delete(pod.uid);
    for (const host of hostnamesOf(pod)) {
      const left = (this.#hosts.get(host) ?? NO_PODS).uids.filter((uid) => uid !== pod.uid);
      // Record the time: a holder that acquired its Lease before this deletion may still run in the deleted Pod.
      if (left.length > 0) this.#hosts.set(host, { uids: left, sharedAt: this.#parts.clock.now() });
      else this.#hosts.delete(host);
    }
  }

  #onNamespace({ type, object: { name, isAsking } }: ReflectorEvent<ObservedNamespace>): void {
    const isNowAsking = isAsking && type !== 'deleted';
    if (isNowAsking === this.#asking.has(name)) return;
    if (isNowAsking) this.#asking.add(name);
    else this.#asking.delete(name);
    this.#parts.onNamespaceChange(name);
  }
}

/** Whether the Pod has replaced another one, or a container instance has started or ended. */
function haveChanged(previous: ObservedPod, { pod, seenRunning, endSeenAt }: ObservedPod): boolean {
  return (
    previous.pod.uid !== pod.uid ||
    seenRunning.keys().some((id) => !previous.seenRunning.has(id)) ||
    endSeenAt.keys().some((id) => !previous.endSeenAt.has(id))
  );
}
