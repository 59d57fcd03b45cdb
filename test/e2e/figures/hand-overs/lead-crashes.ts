import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../coordinator.ts';
import { type LeadSite, startLeadSite } from '../../lead-site.ts';
import type { ElectorTimes } from './crash-programs.ts';
import type { Crash, CrashFigures } from './crashes.ts';

export interface LeadRounds {
  readonly rounds: number;
  /** How long both pods rest before each kill, in seconds. After 5, the candidate that waits needs a ping. */
  readonly restSeconds: number;
}

/**
 * Kills programs that lead by a connection, with a Lease for each of the times. Two pods, each a sidecar and a program as processes, with the embedded server and a coordinator
 * in this process.
 */
export async function measureLeadCrashes(
  all: readonly ElectorTimes[],
  rounds: LeadRounds,
): Promise<readonly CrashFigures[]> {
  const site = await startLeadSite();
  try {
    const figures: CrashFigures[] = [];
    // One after the other: each starts processes all the time.
    for (const times of all)
      figures.push({
        title: 'a program beside a sidecar',
        times,
        crashes: await crashAgainAndAgain(site, times, rounds),
      });
    return figures;
  } finally {
    await site.stop();
  }
}

async function crashAgainAndAgain(
  site: LeadSite,
  { leaseDuration, renewDeadline, retryPeriod }: ElectorTimes,
  { rounds, restSeconds }: LeadRounds,
): Promise<readonly Crash[]> {
  const stage = site.stage(`killed-${leaseDuration}`);
  const times = [
    ...['--lease-duration', `${leaseDuration}s`, '--renew-deadline', `${renewDeadline}s`],
    ...['--retry-period', `${retryPeriod}s`],
  ];
  const start = async (name: string) => {
    const sidecar = stage.startSidecar(name, times);
    return { sidecar, program: await stage.startProgram(sidecar, { name }) };
  };
  const crashes: Crash[] = [];
  try {
    let leads = await start('first');
    await leads.program.reported('leads');
    let waits = await start('second');
    while (crashes.length < rounds) {
      await eventually(
        async () => (await stage.candidates()).length === 2 || undefined,
        'both are candidates',
      );
      await sleep(restSeconds * 1000);
      const killedAt = Date.now();
      leads.program.signal('SIGKILL');
      const { at: workedAt } = await waits.program.reported('leads', killedAt);
      crashes.push({ killedAt, reportedAt: undefined, workedAt });
      const { sidecar, program } = leads;
      await program.ended;
      const restarted = { sidecar, program: await stage.startProgram(sidecar, { name: program.name }) };
      [leads, waits] = [waits, restarted];
    }
  } finally {
    await stage.stop();
  }
  return crashes;
}
