import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CoordinationServer } from '../../control-plane/coordination-plane.ts';
import type { Reaper } from '../../control-plane/reaper.ts';
import type { Image } from './container-process.ts';
import { type ContainerRun, type ContainerStatus, superviseContainer } from './container-run.ts';
import { type Container, type Pod, type PodCondition, podPath } from './pod.ts';
import { fillVolumes, hostsFile, type PodPlace } from './pod-volumes.ts';

/** What all pods of a node have in common. */
export interface PodSite {
  readonly api: CoordinationServer;
  readonly nodeName: string;
  readonly nodeAddress: string;
  readonly reaper: Reaper;
  /** See {@link ProcessKubeletOptions}. */
  readonly relistMs: number | undefined;
  /** What an image holds; undefined for an image that cannot be had. */
  findImage(name: string): Image | undefined;
}

/** A pod on its node, from its first container's start to its removal from the API. */
export interface PodRun {
  readonly pod: Pod;
  /** Its containers by their names, from when they are started. */
  readonly containers: ReadonlyMap<string, ContainerRun>;
  /** Resolves when it is over, and gone from the API if it was deleted there; never rejects. */
  readonly over: Promise<void>;
  /** Tells of what the API says of it now: nothing, when it has gone. */
  update(pod: Pod | undefined): void;
}

/** Runs a pod, and tells the API server how it is. */
export function runPod(pod: Pod, place: PodPlace, site: PodSite): PodRun {
  const containers = new Map<string, ContainerRun>();
  const startTime = new Date().toISOString();
  const ending = new AbortController();
  const asked = new Promise<void>((resolve) => {
    ending.signal.addEventListener('abort', () => resolve());
  });
  let graceMs = (pod.spec.terminationGracePeriodSeconds ?? 30) * 1_000;
  let isGone = false;
  /** Why the containers have not been started yet. */
  let obstacle = '';
  let conditions: readonly PodCondition[] = [];
  let publishing: Promise<void> = Promise.resolve();

  /** Writes the status as it is when its turn has come; one write at a time, so that the last one is the latest. */
  function publish(): void {
    publishing = publishing.then(async () => {
      while (!isGone) {
        try {
          const status = statusOf(pod, place, site, containers, startTime, obstacle, conditions);
          conditions = status.conditions;
          await site.api.request('PATCH', `${podPath(pod)}/status`, {
            metadata: { uid: pod.metadata.uid },
            status,
          });
          return;
        } catch (error) {
          if (isAnswer(error, 404, 409)) return;
          await sleep(300, undefined, { ref: false });
        }
      }
    });
  }

  async function start(): Promise<void> {
    const files = join(place.directory, 'etc');
    await mkdir(files, { recursive: true });
    const hosts = join(files, 'hosts');
    await mkdir(join(place.directory, 'root'), { recursive: true });
    // What volumes are made from may come after the pod.
    for (let delayMs = 200; !ending.signal.aborted; delayMs = Math.min(delayMs * 2, 2_000)) {
      try {
        const volumes = await fillVolumes(site.api, pod, place);
        await writeFile(hosts, await hostsFile(site.api, pod, place.podIp));
        const supervise = (container: Container) => {
          const run = superviseContainer(pod, container, place, site, volumes, hosts, publish);
          containers.set(container.name, run);
          return run;
        };
        for (const container of pod.spec.initContainers ?? []) {
          const run = supervise({ restartPolicy: 'OnFailure', ...container });
          if (container.restartPolicy !== 'Always') await Promise.race([run.over, asked]);
          if (ending.signal.aborted) return;
        }
        pod.spec.containers.forEach(supervise);
        return;
      } catch (error) {
        obstacle = String(error);
        publish();
        await sleep(delayMs, undefined, { signal: ending.signal, ref: false }).catch(() => {});
      }
    }
  }

  async function live(): Promise<void> {
    await start();
    publish();
    const runsOf = (those: readonly Container[] = []) =>
      those.flatMap(({ name }) => containers.get(name) ?? []);
    const main = runsOf(pod.spec.containers);
    const mainOver = Promise.all(main.map(({ over }) => over));
    await Promise.race([mainOver, asked]);
    if (ending.signal.aborted) for (const run of main) run.end(isGone ? 0 : graceMs);
    await mainOver;
    for (const run of runsOf(pod.spec.initContainers).reverse()) {
      run.end(isGone ? 0 : graceMs);
      await run.over;
    }
    publish();
    await publishing;
    if (!ending.signal.aborted) await asked;
    await remove();
  }

  async function remove(): Promise<void> {
    while (!isGone) {
      try {
        const preconditions = { uid: pod.metadata.uid };
        await site.api.request('DELETE', podPath(pod), { gracePeriodSeconds: 0, preconditions });
        return;
      } catch (error) {
        if (isAnswer(error, 404, 409)) return;
        await sleep(300, undefined, { ref: false });
      }
    }
  }

  return {
    pod,
    containers,
    over: live(),
    update(now) {
      if (now === undefined) {
        isGone = true;
        for (const run of containers.values()) run.end(0);
      } else if (now.metadata.deletionTimestamp === undefined) return;
      else graceMs = (now.metadata.deletionGracePeriodSeconds ?? 30) * 1_000;
      ending.abort();
    },
  };
}

interface PodStatus {
  readonly conditions: readonly PodCondition[];
  readonly [field: string]: unknown;
}

function statusOf(
  pod: Pod,
  place: PodPlace,
  site: PodSite,
  containers: ReadonlyMap<string, ContainerRun>,
  startTime: string,
  obstacle: string,
  former: readonly PodCondition[],
): PodStatus {
  const statusesOf = (those: readonly Container[]) =>
    those.map(({ name, image }) => containers.get(name)?.status() ?? notStarted(name, image, obstacle));
  const statuses = statusesOf(pod.spec.containers);
  const ended = statuses.flatMap(({ state }) => ('terminated' in state ? [state.terminated] : []));
  const isOver = ended.length === statuses.length && pod.spec.restartPolicy !== 'Always';
  const finished = ended.every(({ exitCode }) => exitCode === 0) ? 'Succeeded' : 'Failed';
  const started = statuses.some(({ state }) => !('waiting' in state)) ? 'Running' : 'Pending';
  const sidecars = (pod.spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  const isReady = [...statuses, ...statusesOf(sidecars)].every(({ ready }) => ready);
  const conditions: PodCondition[] = [
    { type: 'PodReadyToStartContainers', status: 'True' },
    { type: 'Initialized', status: 'True' },
    { type: 'Ready', status: isReady ? 'True' : 'False' },
    { type: 'ContainersReady', status: isReady ? 'True' : 'False' },
    { type: 'PodScheduled', status: 'True' },
  ];
  const now = new Date().toISOString();
  const since = ({ type, status }: PodCondition) =>
    former.find((one) => one.type === type && one.status === status)?.lastTransitionTime ?? now;
  return {
    phase: isOver ? finished : started,
    startTime,
    hostIP: site.nodeAddress,
    hostIPs: [{ ip: site.nodeAddress }],
    podIP: place.podIp,
    podIPs: [{ ip: place.podIp }],
    conditions: conditions.map((condition) => ({ ...condition, lastTransitionTime: since(condition) })),
    initContainerStatuses: statusesOf(pod.spec.initContainers ?? []),
    containerStatuses: statuses,
  };
}

function notStarted(name: string, image: string, message: string): ContainerStatus {
  const waiting = { reason: 'ContainerCreating', message };
  return {
    name,
    image,
    imageID: '',
    containerID: '',
    ready: false,
    started: false,
    restartCount: 0,
    state: { waiting },
    lastState: {},
  };
}

/** Whether a request failed by one of these answers. */
function isAnswer(error: unknown, ...codes: readonly number[]): boolean {
  return error instanceof Error && codes.some((code) => error.message.includes(`: ${code} `));
}
