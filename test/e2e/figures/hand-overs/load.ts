import { cpus } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** What the measuring itself may have cost, while one phase lasted. */
export interface Load {
  /** The share of all processors' time that was in use, but for what gives way to everything else (nice). */
  readonly busy: number;
  /** By how much, in milliseconds, the event loop that takes the times was late in one case of a hundred. */
  readonly harnessLateMs: number;
  /** The same of the latest process that programs run in. */
  readonly programsLateMs: number;
}

/** With more than that, figures would tell of the machine, and not of what is measured. */
export const MOST: Load = { busy: 0.9, harnessLateMs: 25, programsLateMs: 25 };

const RESOLUTION_MS = 5;

/** Looks at the machine and at this process from now on; the returned function tells of the time since. */
export async function watchLoad(lateness: () => Promise<number>): Promise<() => Promise<Load>> {
  await lateness();
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  const before = cpuTimes();
  return async () => {
    delay.disable();
    const after = cpuTimes();
    return {
      busy: (after.busy - before.busy) / (after.all - before.all),
      harnessLateMs: Math.max(0, delay.percentile(99) / 1e6 - RESOLUTION_MS),
      programsLateMs: await lateness(),
    };
  };
}

/** What was more than `most` in any phase, described; none where the figures can be trusted. */
export function overloads<M extends string>(
  loads: Readonly<Record<string, Readonly<Record<M, number>>>>,
  most: Readonly<Record<M, number>>,
): readonly string[] {
  return Object.entries<Readonly<Record<M, number>>>(loads).flatMap(([phase, load]) =>
    (Object.keys(most) as M[])
      .filter((measure) => load[measure] > most[measure])
      .map((measure) => `${phase}: ${measure} ${load[measure].toFixed(2)}, at most ${most[measure]}`),
  );
}

function cpuTimes(): { readonly busy: number; readonly all: number } {
  let [busy, all] = [0, 0];
  for (const { times } of cpus()) {
    const { user, sys, irq, nice, idle } = times;
    busy += user + sys + irq;
    all += user + sys + irq + nice + idle;
  }
  return { busy, all };
}
