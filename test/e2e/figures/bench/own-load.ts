import { cpus } from 'node:os';
import { type Load, MOST, overloads, watchLoad } from '../hand-overs/load.ts';
import { watchUsage } from '../process-usage.ts';
import type { SimPrograms } from '../sim-programs.ts';

/** What the measuring itself took while one scenario was played. */
export interface OwnLoad extends Load {
  /** The share of all processors' time that the process that measures and the programs' process used. */
  readonly ownShare: number;
}

/** Looks at the machine, at this process and at that of the programs from now on. */
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

const { busy, harnessLateMs, programsLateMs } = MOST;
const MAX_OWN_SHARE = 0.5;

/**
 * Why figures cannot be trusted; none where they can. Where `isBusyByNature` says that the server does as much as
 * it can, the machine is busy and the programs are late because of that alone: times count from when a candidate was seen.
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
