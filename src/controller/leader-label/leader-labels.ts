import { type LeaseKey, splitLeaseKey } from '../../coordination/lease-key.ts';
import { watchedNamespaces } from '../../coordination/resource-paths.ts';
import type { PodReference } from '../../election/model.ts';
import type { ElectionInput } from '../../election/view.ts';
import type { KubernetesClient } from '../../kubernetes/client.ts';
import { backoffDelayMs } from '../../support/backoff.ts';
import type { Clock, Instant } from '../../support/clock.ts';
import { DueKeys } from '../../support/due-keys.ts';
import {
  decideLabels,
  findLabelled,
  type KnownLabels,
  type LabelWrite,
  type Leadership,
  labelKeyOf,
  leadershipOf,
  writeLabel,
} from './pod-labels.ts';

/** Events about the leader labels of Pods. `error`: the cause of a failure; undefined after a success. */
export type LabelEvent =
  | {
      readonly type: 'labelWritten';
      readonly key: LeaseKey;
      readonly write: LabelWrite;
      readonly error: unknown;
    }
  /** The search for Pods with leader labels has ended or failed. */
  | { readonly type: 'labelsListed'; readonly error: unknown }
  /**
   * The name of the Lease is impossible in a label key, so the leader's Pod gets no label. Sent once per Lease while
   * this process is the coordinator.
   */
  | { readonly type: 'unlabelable'; readonly key: LeaseKey };

interface LeaderLabelsParts {
  /** Used for labels only, so that elections never wait for labels. */
  readonly client: KubernetesClient;
  readonly clock: Clock;
  readonly namespaces: readonly string[];
  readonly mayWrite: () => boolean;
  /** Whether the Leases of a namespace, and all candidates of its available sources, are cached. */
  readonly knows: (namespace: string) => boolean;
  /** Returns a Lease with its holder's candidate. */
  readonly gather: (key: LeaseKey) => ElectionInput;
  readonly leases: () => Iterable<LeaseKey>;
  readonly observe: (event: LabelEvent) => void;
}

/** The known leader labels for a Lease, and the backoff of their writes. */
interface Entry extends KnownLabels {
  /** The uid of a leader's Pod that, according to the server, does not exist. Adding the label is not retried. */
  readonly missing?: string | undefined;
  /** Number of consecutive failed updates of the labels. Determines the backoff. */
  readonly failures: number;
  /** Whether a renewal needs no work: the labels match the leader, or the Lease's name is impossible in a label key. */
  readonly isSettled: boolean;
}

/** Maximum number of Leases whose labels are updated at the same time. Small, to limit the load on the API server. */
const MAX_AT_ONCE = 2;
const BACKOFF = { initialMs: 1000, maxMs: 60_000 };
/** Delay before a retry, in ms: after an unexpected error, without the lock, or if a namespace is not cached. */
const UNREADY_MS = 5000;
/** The queue key of the search for labels that a former coordinator has left. No Lease has this key. */
const SWEEP = '';
const NOTHING: Entry = { carriers: [], doubtful: [], failures: 0, isSettled: false };

/** Keeps the leader label on the Pod of each leader, and on no other Pod, while this process is the coordinator. */
export class LeaderLabels {
  readonly #parts: LeaderLabelsParts;
  readonly #due: DueKeys;
  /** Work in flight, by queue key. A key that is taken from the queue during its work is added to `#again`. */
  readonly #busy = new Map<LeaseKey, Promise<void>>();
  readonly #again = new Set<LeaseKey>();
  #entries = new Map<LeaseKey, Entry>();
  readonly #stopping = new AbortController();
  #isActive = false;
  /** Whether the search for leftover labels has succeeded. Until then, no update of the labels of a Lease starts. */
  #isSwept = false;
  #failures = 0;

  constructor(parts: LeaderLabelsParts) {
    this.#parts = parts;
    this.#due = new DueKeys({ clock: parts.clock, onDue: () => this.#work() });
  }

  /** Starts no more work, aborts the search, and waits for updates in flight. Close the client to abort updates. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#due.clear();
    await Promise.all(this.#busy.values());
  }

  /** Call this when this process starts or stops coordinating. Clears the cached labels: they may be outdated. */
  setActive(isActive: boolean): void {
    this.#isActive = isActive;
    this.#isSwept = false;
    // Use a new map: work in flight may still write outdated entries to the former map.
    this.#entries = new Map();
    if (isActive) this.#add(SWEEP);
  }

  seen(key: LeaseKey, isRenewalOnly: boolean): void {
    const { isSettled = false, failures = 0 } = this.#entries.get(key) ?? {};
    if (this.#isSwept && failures === 0 && !(isRenewalOnly && isSettled)) this.#add(key);
  }

  #add(key: LeaseKey): void {
    if (!this.#stopping.signal.aborted) this.#due.add(key);
  }

  #work(): void {
    while (this.#busy.size < MAX_AT_ONCE) {
      const key = this.#due.take()?.key;
      if (key === undefined) return;
      if (this.#busy.has(key)) this.#again.add(key);
      else this.#busy.set(key, this.#workOn(key));
    }
  }

  async #workOn(key: LeaseKey): Promise<void> {
    // Wait until all events that arrived together are handled.
    await Promise.resolve();
    try {
      await (key === SWEEP ? this.#sweep() : this.#follow(key));
    } catch {
      // Retry after an unexpected error. Failed requests do not throw here: `#sweep` and `#write` handle them.
      this.#retryAt(key, this.#parts.clock.now() + UNREADY_MS);
    }
    this.#busy.delete(key);
    if (this.#again.delete(key)) this.#add(key);
    this.#work();
  }

  #retryAt(key: LeaseKey, at: Instant | undefined): void {
    if (!this.#stopping.signal.aborted) this.#due.setDeadline(key, at);
  }

  async #sweep(): Promise<void> {
    const { client, clock, namespaces, leases, mayWrite, observe } = this.#parts;
    const found = new Map<LeaseKey, Entry>();
    const entries = this.#entries;
    if (!this.#isActive) return;
    if (!mayWrite()) return this.#retryAt(SWEEP, clock.now() + UNREADY_MS);
    // Wait for the writes in flight: the list may not show their effect.
    await Promise.all([...this.#busy].map(([key, work]) => key !== SWEEP && work));
    try {
      for (const namespace of watchedNamespaces(namespaces)) {
        const carriers = await findLabelled(client, namespace, this.#stopping.signal);
        for (const [key, pods] of carriers) found.set(key, { ...NOTHING, carriers: pods });
      }
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      observe({ type: 'labelsListed', error });
      this.#failures++;
      this.#retryAt(SWEEP, clock.now() + backoffDelayMs(this.#failures, BACKOFF, clock.random()));
      return;
    }
    observe({ type: 'labelsListed', error: undefined });
    this.#failures = 0;
    if (entries !== this.#entries) return;
    this.#entries = found;
    this.#isSwept = true;
    // `found` may contain Leases that no longer exist. Their labels have to be removed, too.
    for (const key of [...found.keys(), ...leases()]) this.#add(key);
  }

  async #follow(key: LeaseKey): Promise<void> {
    const { clock, mayWrite, knows, gather, observe } = this.#parts;
    const { namespace, name } = splitLeaseKey(key);
    const entries = this.#entries;
    const entry = entries.get(key) ?? NOTHING;
    if (!this.#isSwept) return;
    if (!mayWrite() || !knows(namespace)) return this.#retryAt(key, clock.now() + UNREADY_MS);
    const input = gather(key);
    const leadership = leadershipOf(input, clock.now());
    const labelKey = labelKeyOf(name);
    if (labelKey === undefined) {
      if (input.lease === undefined) entries.delete(key);
      if (!leadership?.pod || entry.isSettled) return;
      entries.set(key, { ...NOTHING, isSettled: true });
      observe({ type: 'unlabelable', key });
      return;
    }
    const done = await this.#write(key, labelKey, entry, leadership);
    const { carriers, failures, isSettled } = done;
    if (carriers.length > 0 || failures > 0 || isSettled) entries.set(key, done);
    else entries.delete(key);
    const backoffMs = backoffDelayMs(failures, BACKOFF, clock.random());
    this.#retryAt(key, failures > 0 ? clock.now() + backoffMs : leadership?.until);
  }

  /** Writes the labels that have to change. Stops at the first failure. Returns the new entry. */
  async #write(
    key: LeaseKey,
    labelKey: string,
    entry: Entry,
    leadership: Leadership | undefined,
  ): Promise<Entry> {
    const { client, mayWrite, observe } = this.#parts;
    const { namespace } = splitLeaseKey(key);
    let { carriers, doubtful, missing } = entry;
    for (const write of decideLabels(entry, leadership)) {
      const { kind, pod } = write;
      if (kind === 'add' && pod.uid === missing) continue;
      const isOther = ({ uid }: PodReference) => uid !== pod.uid;
      try {
        if (!mayWrite()) throw new Error('the coordinator lock was lost before the write');
        const isThere = await writeLabel(client, namespace, labelKey, write);
        observe({ type: 'labelWritten', key, write, error: undefined });
        [carriers, doubtful] = [carriers.filter(isOther), doubtful.filter(isOther)];
        if (kind === 'add' && isThere) carriers = [...carriers, pod];
        if (kind === 'add' && !isThere) missing = pod.uid;
      } catch (error) {
        observe({ type: 'labelWritten', key, write, error });
        if (kind === 'add') doubtful = [...doubtful.filter(isOther), pod];
        return { ...entry, carriers, doubtful, missing, failures: entry.failures + 1, isSettled: false };
      }
    }
    const isSettled = leadership !== undefined;
    return { ...NOTHING, carriers, doubtful, missing, holder: leadership?.holder, isSettled };
  }
}
