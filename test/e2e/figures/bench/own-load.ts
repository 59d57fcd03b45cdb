import { cpus } from 'node:os';
import { type Load, MAX_LOAD, overloads, watchLoad } from '../hand-overs/load.ts';
import { watchUsage } from '../process-usage.ts';
import type { SimPrograms } from '../sim-programs.ts';

/** The resources that the measurement used during one scenario. */
export interface OwnLoad extends Load {
  /** The share of all CPU time that the measuring process and the programs' process used. */
  readonly ownShare: number;
}

/** Observes the machine, this process and that of the programs from now on. */
export async function watchOwnLoad(programs: SimPrograms): Promise<() => Promise<OwnLoad>> {
  const startedAt = performance.now();
  const [loadSince, usageSince] = await Promise.all([
    watchLoad(() => programs.lateness()),
    watchUsage(programs.pid),
  ]);
  const own = process.cpuUsage();
  return async () => {
    const { user, system } = process.cpuUsage(own);
    const ownCpus = (user + system) / 1000 / (performance.now() - startedAt);
    const [load, usage] = await Promise.all([loadSince(), usageSince()]);
    return { ...load, ownShare: (ownCpus + usage.cpus) / cpus().length };
  };
}

const { busy, harnessLateMs, programsLateMs } = MAX_LOAD;
const MAX_OWN_SHARE = 0.5;

/**
 * Why figures cannot be trusted; empty if they can. `isBusyByNature`: the server works at full capacity in this
 * scenario, so the machine is busy and the programs are late because of that alone: times count from when a candidate
 * was seen.
 */
export function refusals(
  loads: Readonly<Record<string, OwnLoad>>,
  isBusyByNature: (scenario: string) => boolean,
): readonly string[] {
  const others = Object.entries(loads).filter(([scenario]) => !isBusyByNature(scenario));
  return [
    ...overloads<'harnessLateMs' | 'ownShare'>(loads, { harnessLateMs, ownShare: MAX_OWN_SHARE }),
    ...overloads<'busy' | 'programsLateMs'>(Object.fromEntries(others), { busy, programsLateMs }),
  ];
}
