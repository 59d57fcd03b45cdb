import { setTimeout as sleep } from 'node:timers/promises';
import { coordinatorLease, leasePath, microTime } from '../../../control-plane/cluster-objects.ts';
import type { ControlPlane } from '../../../control-plane/control-plane.ts';
import { startCommanded } from '../commanded-process.ts';

/** The commands to the process of the limit. `list` returns its duration, in milliseconds. */
export type LimitCommand = { readonly op: 'follow' | 'list' };

/** Where it writes. */
export interface LimitSite {
  /** Of the coordinator's ServiceAccount, so that the server authorizes and records its writes in the same way. */
  readonly kubeconfig: string;
  readonly namespace: string;
}

/**
 * The limit: a client that knows every result in advance and does only the writes that the rules need, at the moments
 * at which a coordinator can know of their cause. It takes part in nothing else.
 */
export interface Limit {
  readonly pid: number;
  /** Lists and parses all Leases and candidates of the cluster once, and returns the duration in milliseconds. */
  list(): Promise<number>;
  stop(): Promise<void>;
}

/** Starts it, with open connections. No coordinator may elect: see {@link holdLock}. */
export async function startLimit(site: LimitSite): Promise<Limit> {
  const script = new URL('./limit-process.ts', import.meta.url);
  const { pid, send, kill } = startCommanded<LimitCommand>(script, site);
  await send({ op: 'follow' });
  return { pid, list: () => send({ op: 'list' }), stop: kill };
}

const LOCK_SECONDS = 7200;

/** The built-in coordinator waits 10 s until it considers the lock lost. */
const GIVEN_UP_AFTER_MS = 13_000;

/**
 * Takes the coordinators' lock from the built-in coordinator during the measurement, and waits until that one has
 * given up.
 */
export async function holdLock(plane: ControlPlane): Promise<void> {
  const now = microTime();
  const spec = {
    holderIdentity: 'the-limit',
    leaseDurationSeconds: LOCK_SECONDS,
    acquireTime: now,
    renewTime: now,
  };
  await plane.request('PATCH', leasePath(coordinatorLease), { spec });
  await sleep(GIVEN_UP_AFTER_MS);
}
