import type { Lease } from '../../src/election/model.ts';
import type { AnyStep } from './explore.ts';
import { BUILT_IN, isActive, isBuiltInActive, type LockWorld } from './lock-world.ts';
import { lineOf } from './replay.ts';
import { isLed, type TwinWorld } from './twin-model.ts';
import { believers, type World } from './world.ts';

/** Returns a path as text, one line per step: the tick, the step, the decision, the resulting Lease, the leader. */
export function transcriptOf(path: readonly AnyStep<World>[]): string {
  return path
    .map((step) =>
      lineOf(step, step.world.tick, describeLease(step.world.lease), who(believers(step.world), 'lead')),
    )
    .join('\n');
}

/** The same for the lock. */
export function lockTranscriptOf(path: readonly AnyStep<LockWorld>[]): string {
  return path
    .map((step) => {
      const { world } = step;
      const active = world.replicas
        .filter((replica) => isActive(replica, world))
        .map(({ identity }) => identity);
      if (isBuiltInActive(world.builtIn, world)) active.push(BUILT_IN);
      return lineOf(step, world.tick, describeLock(world), who(active, 'coordinate'));
    })
    .join('\n');
}

/** The same for a program with two candidates. */
export function twinTranscriptOf(path: readonly AnyStep<TwinWorld>[]): string {
  return path
    .map((step) =>
      lineOf(
        { ...step, note: step.world.reason },
        step.world.tick,
        describeLease(step.world.lease),
        isLed(step.world) ? 'a leads' : 'nobody leads',
      ),
    )
    .join('\n');
}

function who(names: readonly string[], verb: string): string {
  return `${names.length === 0 ? 'nobody' : names.join(' and ')} ${verb}${names.length > 1 ? '' : 's'}`;
}

function describeLease(lease: Lease | undefined): string {
  if (!lease) return 'no Lease';
  const { holderIdentity, leaseDurationSeconds, leaseTransitions, preferredHolder, resourceVersion } = lease;
  const preferred = preferredHolder === undefined ? '' : `, prefers ${preferredHolder}`;
  const isGrant = lease.acquireTime !== undefined && lease.acquireTime === lease.renewTime;
  const holder =
    holderIdentity === '' ? 'of nobody' : `of ${holderIdentity}, ${isGrant ? 'granted' : 'renewed'}`;
  return `Lease ${resourceVersion} ${holder}, ${leaseDurationSeconds ?? '-'} s, #${leaseTransitions}${preferred}`;
}

function describeLock({ lease }: LockWorld): string {
  if (!lease) return 'no lock';
  const { holder, leaseDurationMs } = lease.record;
  return `lock ${lease.version} of ${holder === '' ? 'nobody' : holder}, ${leaseDurationMs} ms`;
}
