import { constants } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Exit, ServerProcess } from '../../control-plane/server-process.ts';
import { startContainer } from './container-process.ts';
import type { Container, ContainerState, Pod } from './pod.ts';
import type { PodSite } from './pod-run.ts';
import type { PodPlace } from './pod-volumes.ts';
import { runProbe } from './probe.ts';

/** A container, over all its restarts. */
export interface ContainerRun {
  status(): ContainerStatus;
  /** Where what it prints is kept: of its present run, or of the one before; undefined when there was none. */
  logFile(previous: boolean): string | undefined;
  /** The process that runs now. */
  process(): ServerProcess | undefined;
  /** Resolves when it will not be started again. */
  readonly over: Promise<void>;
  /** Ends it: SIGTERM, and SIGKILL `graceMs` later. */
  end(graceMs: number): void;
}

/** As in a Pod's `status.containerStatuses`. */
export interface ContainerStatus {
  readonly name: string;
  readonly image: string;
  readonly imageID: string;
  readonly containerID: string;
  readonly ready: boolean;
  readonly started: boolean;
  readonly restartCount: number;
  readonly state: ContainerState;
  readonly lastState: ContainerState | Record<string, never>;
}

const readinessUntilFirstMs = 500;

class NoImageError extends Error {}

/**
 * How long a container waits for its next start after it has run so often, in milliseconds. As the kubelet does: the first
 * restart at once, the next after 10 s, and twice as long each time, up to 5 min.
 */
export function backOffMs(runs: number): number {
  return runs < 2 ? 0 : Math.min(10_000 * 2 ** (runs - 2), 300_000);
}

/** Starts a container, and again when it ends and the pod's restart policy says so. `onChange` hears of new statuses. */
export function superviseContainer(
  pod: Pod,
  container: Container,
  place: PodPlace,
  site: PodSite,
  volumes: ReadonlyMap<string, string>,
  hosts: string,
  onChange: () => void,
): ContainerRun {
  let state: ContainerState = { waiting: { reason: 'ContainerCreating' } };
  let lastState: ContainerStatus['lastState'] = {};
  let isReady = false;
  let runs = 0;
  let running: ServerProcess | undefined;
  const ending = new AbortController();

  const logOf = (run: number) => join(place.directory, `${container.name}-${run}.log`);

  async function supervise(): Promise<void> {
    while (!ending.signal.aborted) {
      const exitCode = await runOnce();
      const { restartPolicy = pod.spec.restartPolicy } = container;
      if (restartPolicy === 'Never' || (restartPolicy === 'OnFailure' && exitCode === 0)) return;
      if (ending.signal.aborted) return;
      await backOff();
    }
  }

  async function backOff(): Promise<void> {
    const delayMs = backOffMs(runs);
    if (delayMs === 0) return;
    lastState = state;
    const message = `back-off ${delayMs / 1_000}s restarting failed container ${container.name}`;
    state = { waiting: { reason: 'CrashLoopBackOff', message } };
    onChange();
    await sleep(delayMs, undefined, { signal: ending.signal, ref: false }).catch(() => {});
  }

  function start(): ServerProcess {
    const image = site.findImage(container.image);
    if (image === undefined) throw new NoImageError(`no image ${container.image}`);
    const { hostname: host, port } = new URL(site.api.url);
    return startContainer(pod, container, {
      ...place,
      image,
      volumes,
      hostsFile: hosts,
      rootFolder: join(place.directory, 'root'),
      logFile: logOf(runs),
      apiServer: { host, port },
      reaper: site.reaper,
    });
  }

  /** All containers of the machine are looked at in the same moments. */
  async function untilRelisted(): Promise<void> {
    const { relistMs } = site;
    if (relistMs === undefined) return;
    const inMs = relistMs - (performance.now() % relistMs);
    await sleep(inMs, undefined, { signal: ending.signal, ref: false }).catch(() => {});
  }

  /** Each run has another one. */
  const containerId = () => `process://${place.podIp}-${runs}`;

  async function runOnce(): Promise<number> {
    try {
      running = start();
    } catch (error) {
      const reason = error instanceof NoImageError ? 'ErrImagePull' : 'CreateContainerError';
      state = { waiting: { reason, message: String(error) } };
      onChange();
      await new Promise((resolve) => ending.signal.addEventListener('abort', resolve));
      return 1;
    }
    runs += 1;
    const startedAt = new Date().toISOString();
    if ('terminated' in state) lastState = state;
    state = { running: { startedAt } };
    isReady = container.readinessProbe === undefined;
    onChange();
    const exit = await whileProbed(running);
    const ended = terminated(exit, startedAt, containerId());
    running = undefined;
    await untilRelisted();
    isReady = false;
    state = { terminated: ended };
    onChange();
    return state.terminated.exitCode;
  }

  async function whileProbed(server: ServerProcess): Promise<Exit> {
    const ended = new AbortController();
    const { livenessProbe, readinessProbe } = container;
    const probes: Promise<void>[] = [];
    if (readinessProbe) {
      const onVerdict = (isContent: boolean) => {
        isReady = isContent;
        onChange();
      };
      probes.push(
        runProbe(container, readinessProbe, place.podIp, ended.signal, onVerdict, readinessUntilFirstMs),
      );
    }
    if (livenessProbe) {
      const onVerdict = (isAlive: boolean) => {
        if (!isAlive) void stop(server, (pod.spec.terminationGracePeriodSeconds ?? 30) * 1_000);
      };
      probes.push(runProbe(container, livenessProbe, place.podIp, ended.signal, onVerdict));
    }
    const exit = await server.exited;
    ended.abort();
    await Promise.all(probes);
    return exit;
  }

  return {
    status: () => ({
      name: container.name,
      image: container.image,
      imageID: container.image,
      containerID: containerId(),
      ready: isReady,
      started: 'running' in state,
      restartCount: Math.max(runs - 1, 0),
      state,
      lastState,
    }),
    logFile: (previous) => {
      const run = runs - (previous ? 2 : 1);
      return run < 0 ? undefined : logOf(run);
    },
    process: () => running,
    over: supervise(),
    end(graceMs) {
      ending.abort();
      if (running) void stop(running, graceMs);
    },
  };
}

async function stop(server: ServerProcess, graceMs: number): Promise<void> {
  if (graceMs > 0) {
    server.kill('SIGTERM');
    const inTime = new AbortController();
    const late = sleep(graceMs, undefined, { signal: inTime.signal, ref: false }).catch(() => {});
    await Promise.race([server.exited, late]);
    inTime.abort();
  }
  server.kill('SIGKILL');
}

function terminated({ code, signal }: Exit, startedAt: string, containerID: string) {
  const number = signal === null ? undefined : constants.signals[signal];
  const exitCode = code ?? 128 + (number ?? 0);
  return {
    exitCode,
    ...(number === undefined ? {} : { signal: number }),
    reason: exitCode === 0 ? 'Completed' : 'Error',
    startedAt,
    finishedAt: new Date().toISOString(),
    containerID,
  };
}
