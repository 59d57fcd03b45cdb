import {
  forecastRollout,
  plannedChanges,
  plannedRollout,
  type Rollout,
  type RolloutForecast,
} from '../inspection/planned-changes.ts';
import { rehearse } from '../inspection/rehearsal.ts';
import { counted } from '../inspection/wording.ts';
import type { PlanSettings } from '../settings/inspection-settings.ts';
import type { Host } from '../support/host.ts';
import { printable, shortened } from '../support/text.ts';
import { findElection, warnAboutSkew, withCluster } from './cluster-connection.ts';
import { exitCode } from './exit-code.ts';
import { stepLines } from './explain.ts';
import { type Column, print, rowsFor, tableLines } from './output.ts';

/** Prints the effect of planned changes to the candidates, step by step. Changes nothing. Resolves to an exit code. */
export async function showPlan(leaseName: string, settings: PlanSettings, host: Host): Promise<number> {
  const { add, remove, priority, rollout, output } = settings;
  return await withCluster(settings, host, async (connection) => {
    const { election, now } = await findElection(leaseName, settings, connection);
    warnAboutSkew(connection.clock, host);
    const { input } = election;
    if (rollout !== undefined) {
      const planned = plannedRollout(rollout, input);
      const forecasts = forecastRollout(input, now, planned);
      showRollout(`${input.namespace}/${input.name}`, planned, forecasts, output, host);
      return exitCode.ok;
    }
    const changes = plannedChanges({ add, remove, priority }, input);
    const rehearsal = rehearse(input, now, changes);
    const before = input.lease?.holderIdentity || 'no candidate';
    const title = `${input.namespace}/${input.name}, held by ${shortened(printable(before), 100)}. Nothing is changed; this is what would happen:`;
    print(rehearsal, output, host, ({ paint }) => [paint('strong', title), ...stepLines(rehearsal, paint)]);
    return exitCode.ok;
  });
}

/** Prints the cost of a rolling update of a Lease's candidates, for each strategy. */
function showRollout(
  lease: string,
  { names, binaryVersion }: Rollout,
  forecasts: readonly RolloutForecast[],
  output: PlanSettings['output'],
  host: Host,
): void {
  const title = `A rolling update of ${counted(names.length, 'candidate')} of ${lease} to ${binaryVersion}, one after the other. Nothing is changed; if all asked for the strategy:`;
  const columns: readonly Column<RolloutForecast>[] = [
    ['  STRATEGY', ({ strategy }) => `  ${strategy}`],
    ['HAND-OVERS', handOvers],
    ['LEADER IN THE END', ({ isSettled, leader }) => (isSettled ? leader || 'none' : 'not settled')],
  ];
  const note =
    '  The fewest where the leader is replaced last, the most where it is always the next to be replaced.';
  print({ candidates: names, strategies: forecasts }, output, host, ({ paint }) => [
    paint('strong', title),
    ...tableLines(rowsFor(columns, forecasts), paint),
    note,
  ]);
}

function handOvers({ fewestHandOvers: fewest, mostHandOvers: most }: RolloutForecast): string {
  return fewest === most ? String(most) : `${fewest} to ${most}`;
}
