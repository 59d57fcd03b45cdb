import { decodePriority } from '../../src/coordination/candidate-priority.ts';
import type { KubernetesObject } from '../../src/kubernetes/objects.ts';
import type { Instant } from '../../src/support/clock.ts';
import { NEWEST } from '../support/election-builders.ts';
import { specOf } from './sim-api-server.ts';
import type { SimWorld } from './sim-world.ts';

/** Maps each priority in the simulation to a text of equal length, so that a higher priority has a lower text. */
const PRIORITY_BASE = 500_000;

/**
 * Returns the rank of a candidate for preemption under `strategy`, as text: the lowest should lead, and no leader
 * yields to an equal rank (rules 5 and 16).
 * @param wall by the deciding replica's clock, in microseconds.
 */
export function rankOf(candidate: KubernetesObject, wall: bigint, strategy: string): string {
  const { value, end } = decodePriority(candidate);
  const current = end && wall >= end.at ? end.afterwards : value;
  const { emulationVersion, binaryVersion } = specOf(candidate);
  const versions = strategy === NEWEST ? '' : `${String(emulationVersion)} ${String(binaryVersion)}`;
  return `${PRIORITY_BASE - current} ${versions}`;
}

/** The wall clock of the replica that coordinates. */
export function coordinatorsWall(world: SimWorld): bigint {
  const active = world.coordinators.running.find(({ lock }) => lock.state.kind === 'active');
  return (active?.process ?? world.clock).wallTime();
}

/**
 * Returns when the last past end among these candidates' priorities was, in the world's time; Infinity while replicas
 * disagree whether a priority has ended, because their clocks differ.
 */
export function prioritiesEndedAt(world: SimWorld, candidates: readonly KubernetesObject[]): Instant {
  const now = world.clock.now();
  const clocks = world.coordinators.running.map(({ process }) => process.wallTime());
  let last = Number.NEGATIVE_INFINITY;
  for (const candidate of candidates) {
    const { end } = decodePriority(candidate);
    if (!end) continue;
    const ago = clocks.map((wall) => Number(wall - end.at) / 1000);
    const hasEnded = ago.some((ms) => ms >= 0);
    if (hasEnded && ago.some((ms) => ms < 0)) return Number.POSITIVE_INFINITY;
    if (hasEnded) last = Math.max(last, now - Math.min(...ago));
  }
  return last;
}
