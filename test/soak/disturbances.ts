import { setTimeout as sleep } from 'node:timers/promises';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { sumOf } from '../e2e/prometheus-text.ts';
import type { Replica } from './replica.ts';

/** The targets of disturbances. */
export interface Disturbed {
  readonly plane: ControlPlane;
  readonly replicas: readonly Replica[];
}

/** Longer than the 15 s of the lock: the other replica takes over. */
const LOCK_LOST_AFTER_MS = 20_000;
/** Shorter: requests are only late. */
const HELD_UP_MS = 8_000;

type Disturbance = (disturbed: Disturbed, signal: AbortSignal) => Promise<void>;

const disturbances = {
  'connections reset': async ({ replicas }) => {
    for (const { link } of replicas) link.reset();
  },
  'active replica cut off': async (disturbed, signal) => {
    const { link } = await activeOf(disturbed);
    link.cut();
    await sleep(LOCK_LOST_AFTER_MS, undefined, { signal }).finally(() => link.mend());
  },
  'active replica frozen': async (disturbed, signal) => {
    const { process } = await activeOf(disturbed);
    process.kill('SIGSTOP');
    await sleep(LOCK_LOST_AFTER_MS, undefined, { signal }).finally(() => process.kill('SIGCONT'));
  },
  'network stalled': async ({ replicas }, signal) => {
    for (const { link } of replicas) link.hold('requests', 'answers');
    await sleep(HELD_UP_MS, undefined, { signal }).finally(() => {
      for (const { link } of replicas) link.mend();
    });
  },
  // Its watch cache is new: no watch can resume.
  'API server restarted': ({ plane }) => plane.restartApiServer(),
} satisfies Readonly<Record<string, Disturbance>>;

export type DisturbanceKind = keyof typeof disturbances;

export const disturbanceKinds = Object.keys(disturbances) as readonly DisturbanceKind[];

/** Runs disturbances one by one until the signal aborts, each kind once before any repeats. Reports each. */
export async function disturb(
  disturbed: Disturbed,
  restMs: number,
  random: () => number,
  signal: AbortSignal,
  tell: (kind: DisturbanceKind) => void,
): Promise<void> {
  try {
    for (;;) {
      for (const kind of shuffled(disturbanceKinds, random)) {
        await sleep(restMs, undefined, { signal });
        tell(kind);
        await disturbances[kind](disturbed, signal);
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** The replica that holds the lock; any replica while there is none. */
async function activeOf({ replicas }: Disturbed): Promise<Replica> {
  for (const replica of replicas) {
    const text = await replica.get('/metrics').catch(() => '');
    if (sumOf(text, 'leader_election_master_status') === 1) return replica;
  }
  const [any] = replicas;
  if (!any) throw new Error('there is no replica');
  return any;
}

function shuffled<T>(all: readonly T[], random: () => number): readonly T[] {
  return all
    .map((item) => ({ item, order: random() }))
    .sort((a, b) => a.order - b.order)
    .map(({ item }) => item);
}
