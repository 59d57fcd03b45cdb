import type { Rollout, RolloutForecast } from '../inspection/planned-changes.ts';
import { counted } from '../inspection/wording.ts';
import type { OutputFormat } from '../settings/inspection-settings.ts';
import type { Host } from '../support/host.ts';
import { layoutFor } from './layout.ts';
import { structured } from './structured-output.ts';
import { tableLines } from './text-table.ts';

/** Shows what a rolling update of a Lease's candidates costs under each strategy, so that one can choose. */
export function showRollout(
  lease: string,
  { names, binaryVersion }: Rollout,
  forecasts: readonly RolloutForecast[],
  output: OutputFormat,
  host: Host,
): void {
  if (output === 'json' || output === 'yaml') {
    host.stdout.write(structured({ candidates: names, strategies: forecasts }, output));
    return;
  }
  const { paint } = layoutFor(host);
  const title = `A rolling update of ${counted(names.length, 'candidate')} of ${lease} to ${binaryVersion}, one after the other. Nothing is changed; if all asked for the strategy:`;
  const rows = forecasts.map((forecast) => [
    `  ${forecast.strategy}`,
    handOvers(forecast),
    forecast.isSettled ? forecast.leader || 'nobody' : 'not settled',
  ]);
  const table = tableLines([['  STRATEGY', 'HAND-OVERS', 'LEADER IN THE END'], ...rows], paint);
  const note =
    '  The fewest where the leader is replaced last, the most where it is always the next to be replaced.';
  host.stdout.write(`${[paint('strong', title), ...table, note].join('\n')}\n`);
}

function handOvers({ fewestHandOvers: fewest, mostHandOvers: most }: RolloutForecast): string {
  return fewest === most ? String(most) : `${fewest} to ${most}`;
}
