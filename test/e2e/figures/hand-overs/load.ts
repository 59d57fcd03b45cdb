import { cpus } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** The possible influence of the measurement during one phase. */
export interface Load {
  /** The share of all CPU time in use, except by processes of the lowest priority (nice). */
  readonly busy: number;
  /** The 99th percentile of the delay of the measuring event loop, in milliseconds. */
  readonly harnessLateMs: number;
  /** The same for the slowest process of the programs. */
  readonly programsLateMs: number;
}

/** With more load than this, figures would describe the machine, and not the programs. */
export const MAX_LOAD: Load = { busy: 0.9, harnessLateMs: 25, programsLateMs: 25 };

const RESOLUTION_MS = 5;

/** Observes the machine and this process from now on. The returned function reports the time since then. */
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

/** Describes all phases with more than `most`; empty if the figures can be trusted. */
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
