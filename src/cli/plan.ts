import {
  forecastRollout,
  plannedChanges,
  plannedRollout,
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

/** Prints what planned changes of candidates would cause. Changes nothing in the cluster. Resolves to an exit code. */
export function showPlan(leaseName: string, settings: PlanSettings, host: Host): Promise<number> {
  return withCluster(settings, host, async (connection) => {
    const { rollout, output } = settings;
    const { election, now } = await findElection(leaseName, settings, connection);
    warnAboutSkew(connection.clock, host);
    const { input } = election;
    const lease = `${input.namespace}/${input.name}`;
    if (rollout !== undefined) {
      const planned = plannedRollout(rollout, input);
      const strategies = forecastRollout(input, now, planned);
      const title = `A rolling update of ${counted(planned.names.length, 'candidate')} of ${lease} to ${planned.binaryVersion}, one after the other. Nothing is changed; if all asked for the strategy:`;
      print({ candidates: planned.names, strategies }, output, host, ({ paint }) => [
        paint('strong', title),
        ...tableLines(rowsFor(FORECAST_COLUMNS, strategies), paint),
        '  The minimum is for a rollout that replaces the leader last, the maximum for one that always replaces the leader next.',
      ]);
      return exitCode.ok;
    }
    const rehearsal = rehearse(input, now, plannedChanges(settings, input));
    const before = input.lease?.holderIdentity || 'no candidate';
    const title = `${lease}, held by ${shortened(printable(before), 100)}. Nothing is changed; this is what would happen:`;
    print(rehearsal, output, host, ({ paint }) => [paint('strong', title), ...stepLines(rehearsal, paint)]);
    return exitCode.ok;
  });
}

const FORECAST_COLUMNS: readonly Column<RolloutForecast>[] = [
  ['  STRATEGY', ({ strategy }) => `  ${strategy}`],
  ['HAND-OVERS', ({ fewestHandOvers: a, mostHandOvers: b }) => (a === b ? String(b) : `${a} to ${b}`)],
  ['LEADER IN THE END', ({ isSettled, leader }) => (isSettled ? leader || 'none' : 'not settled')],
];
