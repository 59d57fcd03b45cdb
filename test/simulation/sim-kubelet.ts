import { CONTAINER_ANNOTATION } from '../../src/coordination/lease.ts';
import { formatSeconds } from '../../src/coordination/micro-time.ts';
import type { PodReference } from '../../src/election/model.ts';
import type { KubernetesObject } from '../../src/kubernetes/objects.ts';
import type { JsonObject } from '../../src/support/json.ts';
import type { Chance } from './chance.ts';
import type { SimProcess } from './sim-process.ts';
import type { SimStore } from './sim-store.ts';

/** What the kubelet needs of its world. */
export interface SimKubeletWorld {
  readonly store: SimStore;
  readonly chance: Chance;
  readonly isCalm: boolean;
  after(ms: number, then: () => void): void;
  note(text: () => string): void;
}

/** A Pod in its slot, with the last reported status of its program's container. */
interface SimPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  state: JsonObject;
  lastState: JsonObject;
  containerId: string;
  /** Another container of the Pod. It exits and restarts at any time. */
  otherState: JsonObject | undefined;
  /** The last container of the program that was started, reported or not. */
  started: { readonly containerId: string; readonly at: string };
  /** When the kubelet found that the program has ended, by the clock of the node; undefined while it runs. */
  unreadySince: string | undefined;
}

const MAIN = 'main';
const OTHER = 'other';
/** Delays of a report: usual, occasional and rare, in ms. */
const REPORTS_WITHIN_MS = [1000, 5000, 30_000] as const;
/** Duration of a process's stall: shorter than most Leases, in ms. */
const STALLS_WITHIN_MS = 13_000;
/** Maximum time from the end of a Pod's container to the Pod's deletion, in ms. */
const DELETED_WITHIN_MS = 10_000;

/**
 * The kubelets of a cluster. They report to the API server which containers run and which have ended. Reports are
 * late, may be outdated, use the clocks of the nodes, and are sometimes false.
 */
export class SimKubelet {
  readonly #world: SimKubeletWorld;
  /** By the name of the Pod. */
  readonly #pods = new Map<string, SimPod>();
  /** Changes that the kubelet of a Pod has not reported yet. */
  readonly #queues = new Map<SimPod, (() => void)[]>();
  #containers = 0;

  constructor(world: SimKubeletWorld) {
    this.#world = world;
  }

  /** Starts a container for a process: in the Pod of that name, or in a new one. Returns its Pod. */
  start(namespace: string, name: string, process: SimProcess): PodReference {
    const chance = this.#world.chance.for(`kubelet of ${name} ${++this.#containers}`);
    const pod = this.#pods.get(name) ?? this.#create(namespace, name, chance);
    const containerId = `containerd://${this.#containers}`;
    const startedAt = secondsOf(process);
    pod.started = { containerId, at: startedAt };
    // The process runs before the kubelet says so.
    this.#report(pod, chance, () => {
      if (pod.containerId !== '') pod.lastState = 'terminated' in pod.state ? pod.state : pod.lastState;
      pod.containerId = containerId;
      pod.state = { running: { startedAt } };
      pod.unreadySince = undefined;
    });
    process.onKilled = () => {
      const end = { containerID: containerId, startedAt, finishedAt: secondsOf(process), reason: 'Error' };
      this.#report(pod, chance, () => {
        pod.containerId = containerId;
        pod.state = { terminated: end };
        // At the latest right before it starts the next container.
        const { started } = pod;
        pod.unreadySince ??= started.containerId === containerId ? secondsOf(process) : started.at;
      });
    };
    this.#disturb(pod, chance, process, { containerID: containerId, startedAt });
    // An overloaded node: the process stalls right after its start.
    if (chance.is(0.2)) this.#stall(process, chance, 10_000);
    const { uid } = pod;
    return { name, uid };
  }

  /** A Pod with another name replaces the Pod. */
  replaced(name: string): void {
    const pod = this.#pods.get(name);
    if (!pod) return;
    this.#pods.delete(name);
    const deletesInMs = this.#world.chance.for(`deletion of ${name}`).upTo(DELETED_WITHIN_MS);
    this.#world.after(deletesInMs, () => {
      const object = this.#world.store.get('pods', `${pod.namespace}/${name}`);
      if (object?.metadata.uid === pod.uid) this.#world.store.remove('pods', object);
    });
  }

  #create(namespace: string, name: string, chance: Chance): SimPod {
    const kind = chance.random();
    const isShared = kind > 0.95;
    const hasOther = kind > 0.5 && !isShared;
    const isNamed = chance.is(0.7);
    const annotations = {
      ...(hasOther && isNamed && { [CONTAINER_ANNOTATION]: MAIN }),
    };
    const spec = {
      containers: [{ name: MAIN }, ...(hasOther ? [{ name: OTHER }] : [])],
      ...(isShared && { shareProcessNamespace: true }),
    };
    const object = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { namespace, name, annotations },
      spec,
      status: {},
    };
    const known = this.#world.store.get('pods', `${namespace}/${name}`);
    if (known) this.#world.store.remove('pods', known);
    const { uid = '' } = this.#world.store.create('pods', object).metadata;
    const pod: SimPod = {
      ...{ namespace, name, uid, state: {}, lastState: {}, containerId: '' },
      otherState: hasOther ? { running: {} } : undefined,
      ...{ started: { containerId: '', at: '' }, unreadySince: undefined },
    };
    this.#pods.set(name, pod);
    return pod;
  }

  /** A report arrives late, but not before the previous one. */
  #report(pod: SimPod, chance: Chance, change: () => void): void {
    const kind = chance.random();
    const withinMs = REPORTS_WITHIN_MS[this.#world.isCalm || kind < 0.7 ? 0 : kind < 0.9 ? 1 : 2];
    const at = chance.upTo(withinMs);
    this.#queue(pod, at, change);
  }

  #queue(pod: SimPod, inMs: number, change: () => void): void {
    const queue = this.#queues.get(pod) ?? [];
    this.#queues.set(pod, queue);
    queue.push(change);
    this.#world.after(inMs, () => {
      // Earlier reports that are still late are sent together with this one.
      for (let next = queue.shift(); next !== undefined; next = next === change ? undefined : queue.shift())
        next();
      this.#write(pod);
    });
  }

  #write(pod: SimPod): void {
    const { store } = this.#world;
    const object = store.get('pods', `${pod.namespace}/${pod.name}`);
    if (object?.metadata.uid !== pod.uid) return;
    const main = { name: MAIN, containerID: pod.containerId, state: pod.state, lastState: pod.lastState };
    const other = pod.otherState && { name: OTHER, containerID: 'containerd://other', state: pod.otherState };
    const containerStatuses = other ? [main, other] : [main];
    const { unreadySince } = pod;
    const conditions = [
      {
        type: 'ContainersReady',
        status: unreadySince === undefined ? 'True' : 'False',
        lastTransitionTime: unreadySince,
      },
    ];
    const next: KubernetesObject = { ...object, status: { conditions, containerStatuses } };
    this.#world.note(() => `  kubelet reports ${pod.name} ${JSON.stringify(containerStatuses)}`);
    store.update('pods', object, next);
  }

  #stall(process: SimProcess, chance: Chance, withinMs: number): void {
    const ms = chance.between(3000, STALLS_WITHIN_MS);
    this.#world.after(chance.upTo(withinMs), () => {
      if (!this.#world.isCalm && process.isAlive && !process.isPaused) process.pause(ms);
    });
  }

  /** While a container runs, its Pod's status may be false. */
  #disturb(pod: SimPod, chance: Chance, process: SimProcess, instance: JsonObject): void {
    if (!chance.is(0.4)) return;
    this.#world.after(chance.upTo(120_000), () => {
      if (this.#world.isCalm || !process.isAlive) return;
      const terminated = {
        ...instance,
        finishedAt: secondsOf(process),
        reason: 'ContainerStatusUnknown',
        exitCode: 137,
      };
      if (pod.otherState && chance.is(0.5)) {
        const others = { ...terminated, containerID: 'containerd://other', reason: 'Error' };
        this.#queue(pod, 0, () => {
          pod.otherState = { terminated: others };
        });
        return;
      }
      // The kubelet has lost the container, which may stall, and finds it again.
      if (chance.is(0.5)) this.#stall(process, chance, 0);
      const { state } = pod;
      if (!('running' in state)) return;
      this.#queue(pod, 0, () => {
        pod.state = { terminated };
        pod.unreadySince ??= secondsOf(process);
      });
      this.#queue(pod, chance.upTo(20_000), () => {
        if (pod.state['terminated'] !== terminated) return;
        pod.state = state;
        pod.unreadySince = undefined;
      });
    });
  }
}

function secondsOf(process: SimProcess): string {
  return formatSeconds(process.wallTime());
}
