import {
  type ContainerInstance,
  type EndedInstance,
  observePod,
  type Pod,
} from '../../src/election/holder-binding.ts';
import type { MicroTime } from '../../src/election/model.ts';
import { renewCandidate } from './coordinator-steps.ts';
import { later, nowIn, type Program, type Step, type World, withItem } from './world.ts';

/** The Pod of a program: the state that its node knows, and the state that the API server knows. */
export interface PodState {
  readonly running: ContainerInstance | undefined;
  /** The ended runs, latest first; at most two. */
  readonly ended: readonly EndedInstance[];
  readonly reported: Pod;
}

/** The uid of the Pod in which a program runs. */
export function podUid(name: string): string {
  return `pod-${name}`;
}

/** A Pod with a running container that the API server knows. */
export function startedPod(world: World, { name, clockTicks }: Program): PodState {
  const running = { id: `${name}-0`, startedAt: secondOf(world, clockTicks) };
  return { running, ended: [], reported: statusOf(name, running, []) };
}

/** The possible next steps of a kubelet for the Pod of a program: it may report at any time, or never. */
export function* kubeletSteps(world: World, index: number, program: Program): Generator<Step> {
  const pod = world.pods[index];
  if (!pod) return;
  const { name, life, clockTicks } = program;
  const { running, ended } = pod;
  if (life === 'down' && running === undefined) {
    const next = later(world);
    const again = { id: `${name}-${next.serial}`, startedAt: secondOf(next, clockTicks) };
    const started = {
      ...next,
      programs: withItem<Program>(next.programs, index, { ...program, life: 'up' }),
    };
    yield {
      choice: `the container of ${name} runs again`,
      world: renewCandidate(putPod(started, index, { ...pod, running: again }), name),
    };
  }
  const status = statusOf(name, running, ended);
  if (!isSameStatus(pod.reported, status))
    yield { choice: `the kubelet reports the Pod of ${name}`, world: report(world, index, pod, status) };
  const { faults } = world;
  if (faults.falseEnds > 0 && running) {
    const spent = { ...world, faults: { ...faults, falseEnds: faults.falseEnds - 1 } };
    const madeUp = { ...running, finishedAt: secondOf(world, clockTicks), reason: 'ContainerStatusUnknown' };
    yield {
      choice: `the kubelet loses sight of ${name}, and makes its end up`,
      world: report(spent, index, pod, statusOf(name, undefined, [madeUp, ...ended])),
    };
  }
}

/** The container of a program ends. Other processes do not notice before the kubelet reports it. */
export function endContainer(world: World, index: number, { clockTicks }: Program): World {
  const pod = world.pods[index];
  if (!pod?.running) return world;
  const end = { ...pod.running, finishedAt: secondOf(world, clockTicks), reason: 'Error' };
  return putPod(world, index, { ...pod, running: undefined, ended: [end, ...pod.ended].slice(0, 2) });
}

function putPod(world: World, index: number, pod: PodState): World {
  return { ...world, pods: withItem(world.pods, index, pod) };
}

/** All coordinators see a report at once. */
function report(world: World, index: number, pod: PodState, status: Pod): World {
  const { clockTicks = 0 } = world.programs[index] ?? {};
  const reported = {
    ...status,
    unreadySince: unreadySince(pod.reported, status, secondOf(world, clockTicks)),
  };
  const told = putPod(later(world), index, { ...pod, reported });
  return {
    ...told,
    coordinators: told.coordinators.map((coordinator) => {
      const { monotonic: at } = nowIn(told, coordinator.clockTicks);
      const seen = observePod(coordinator.pods[index], reported, at);
      return { ...coordinator, pods: withItem(coordinator.pods, index, seen) };
    }),
  };
}

/** The kubelet has found the end at any time up to now, and starts no container before it has. The latest time is the worst. */
function unreadySince(before: Pod, { containers: [now] }: Pod, second: MicroTime): MicroTime | undefined {
  if (now?.running) return undefined;
  const [known] = before.containers;
  const isKnown = known?.running === undefined && known?.ended[0]?.id === now?.ended[0]?.id;
  return isKnown ? before.unreadySince : second;
}

function statusOf(
  name: string,
  running: ContainerInstance | undefined,
  ended: readonly EndedInstance[],
): Pod {
  return {
    ...{ namespace: 'default', name, uid: podUid(name), hostname: name },
    ...{ isOnHostNetwork: false, isMirror: false, hasHostPid: false, sharesProcessNamespace: false },
    ...{ leadingContainer: undefined, defaultContainer: undefined, unreadySince: undefined },
    // state and lastState have room for two runs.
    containers: [{ name: 'main', running, ended: ended.slice(0, running ? 1 : 2) }],
  };
}

function isSameStatus(a: Pod, b: Pod): boolean {
  const [one, other] = [a.containers[0], b.containers[0]];
  const endsOf = (container: typeof one) =>
    container?.ended.map(({ id, reason }) => `${id} ${reason}`).join();
  return one?.running?.id === other?.running?.id && endsOf(one) === endsOf(other);
}

/** Returns the time of a node's clock, in whole seconds. */
function secondOf(world: World, clockTicks: number): MicroTime {
  const { wall } = nowIn(world, clockTicks);
  return wall - (wall % 1_000_000n);
}
