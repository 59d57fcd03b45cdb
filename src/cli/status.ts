import { type ObservedElections, observeElections, watchElections } from '../inspection/elections.ts';
import { type LeaseStatus, statusOf } from '../inspection/lease-status.ts';
import { describePriority } from '../inspection/wording.ts';
import { ApiError } from '../kubernetes/errors.ts';
import type { StatusSettings } from '../settings/inspection-settings.ts';
import { createThrottle } from '../support/backoff.ts';
import type { Host } from '../support/host.ts';
import { humanDuration, messageOf, printableLines } from '../support/text.ts';
import { type ClusterConnection, NOT_SERVED, warnAboutSkew, withCluster } from './cluster-connection.ts';
import { exitCode } from './exit-code.ts';
import {
  type Cell,
  type Column,
  layoutFor,
  leaseStyle,
  NONE,
  noneFound,
  print,
  printLines,
  rowsFor,
  tableLines,
  widthsOf,
} from './output.ts';

/** Prints the state of each coordinated Lease once, or with `--watch` until a signal. Resolves to an exit code. */
export function showStatus(settings: StatusSettings, host: Host): Promise<number> {
  return withCluster(settings, host, async (connection) => {
    if (settings.watch) return await followStatus(settings, host, connection);
    const found = await observeElections({ ...connection, settings });
    warnAboutSkew(connection.clock, host);
    const statuses = found.elections.map((election) => statusOf(election, found.now));
    const rows = statuses.length > 0 ? statusRows(statuses, settings) : [];
    print({ items: statuses }, settings.output, host, ({ paint }) => tableLines(rows, paint));
    warnAboutRefusals(found, host);
    if (found.candidateApis.length === 0) return failUnserved(host);
    if (statuses.length === 0)
      host.stderr.write(`${noneFound('coordinated Leases', connection.namespace)}\n`);
    return exitCode.ok;
  });
}

/** Maximum number of different priorities that one cell of the table shows. */
const MAX_PRIORITIES = 3;

/** Returns the titles, and a row for each Lease. With `hasTimes: false`, the rows contain no ages and no countdowns. */
export function statusRows(
  statuses: readonly LeaseStatus[],
  { allNamespaces, output }: Pick<StatusSettings, 'allNamespaces' | 'output'>,
  { hasPriorities = statuses.some(({ priorities }) => priorities.length > 0), hasTimes = true } = {},
): readonly (readonly Cell[])[] {
  const isWide = output === 'wide';
  const seconds = (value: number | undefined) => {
    if (value === undefined) return NONE;
    return hasTimes ? humanDuration(value) : '';
  };
  const columns: readonly Column<LeaseStatus>[] = [
    ['NAMESPACE', ({ namespace }) => namespace, allNamespaces],
    ['NAME', ({ name }) => name],
    ['HOLDER', (status) => ({ text: holderText(status), style: leaseStyle(status) })],
    ['PREFERRED', ({ preferredHolder }) => preferredHolder || NONE],
    ['STRATEGY', ({ strategy }) => strategy || NONE],
    ['CANDIDATES', candidatesText],
    ['PRIORITY', prioritiesText, hasPriorities],
    ['AGE', ({ ageSeconds }) => seconds(ageSeconds)],
    ['RENEWED', ({ renewedSecondsAgo }) => seconds(renewedSecondsAgo), isWide],
    ['TRANSITIONS', ({ leaseTransitions }) => String(leaseTransitions), isWide],
    ['REASON', (status) => ({ text: status.reason, style: leaseStyle(status) }), isWide],
    ['WAITING FOR', ({ waitingFor = '-' }) => (hasTimes ? waitingFor : waitingFor.replace(/ in \d+s$/, ''))],
  ];
  return rowsFor(columns, statuses);
}

function warnAboutRefusals({ forbiddenApis }: ObservedElections, { stderr }: Host): void {
  for (const apiVersion of forbiddenApis) {
    const missing = `you may not list leasecandidates of ${apiVersion}: its candidates are missing here`;
    stderr.write(`warning: ${missing}\n`);
  }
}

function failUnserved({ stderr }: Host): number {
  stderr.write(`error: ${NOT_SERVED}\n`);
  return exitCode.failure;
}

/**
 * Prints the table. Then, until a signal, prints a row for each new or changed Lease, like `kubectl get --watch`.
 * Unlike kubectl, prints no row for a deleted Lease without candidates, or if only the times in a row change.
 */
async function followStatus(
  settings: StatusSettings,
  host: Host,
  connection: ClusterConnection,
): Promise<number> {
  const { paint } = layoutFor(host);
  let shown = new Set<string>();
  let widths: readonly number[] | undefined;
  // Read the cluster once before watching: an error in this read ends the command. Later errors cause only warnings.
  const found = await observeElections({ ...connection, settings });
  if (found.candidateApis.length === 0) return failUnserved(host);
  warnAboutSkew(connection.clock, host);
  warnAboutRefusals(found, host);
  const warn = warningsTo(host);
  const watch = {
    ...connection,
    settings,
    signal: host.stopOn('SIGTERM', 'SIGINT'),
    onError(error: unknown) {
      const isKnown =
        error instanceof ApiError && found.forbiddenApis.some((api) => error.path.includes(api));
      if (!isKnown) warn(error);
    },
  };
  for await (const { elections, now } of watchElections(watch)) {
    const statuses = elections.map((election) => statusOf(election, now));
    // The columns cannot change after the first table, so always show the column for priorities.
    const lasting = statusRows(statuses, settings, { hasPriorities: true, hasTimes: false })
      .slice(1)
      .map((row) => JSON.stringify(row));
    const changed = statuses.filter((_, index) => !shown.has(lasting[index] ?? ''));
    shown = new Set(lasting);
    if (changed.length === 0) continue;
    const table = statusRows(changed, settings, { hasPriorities: true });
    const rows = widths === undefined ? table : table.slice(1);
    widths ??= widthsOf(table);
    printLines(tableLines(rows, paint, widths), host);
  }
  return exitCode.ok;
}

const MAX_WARNING_LENGTH = 1000;

/** Returns a function that prints warnings. The function prints the same warning at most once a minute. */
function warningsTo({ stderr, clock }: Host): (error: unknown) => void {
  const isNew = createThrottle(() => clock.now());
  return (error) => {
    const message = messageOf(error);
    if (isNew(message, error)) stderr.write(`warning: ${printableLines(message, MAX_WARNING_LENGTH)}\n`);
  };
}

function holderText({ holder, holderNote }: LeaseStatus): string {
  if (holder === '') return NONE;
  return holderNote === undefined ? holder : `${holder} (${holderNote})`;
}

function candidatesText({ candidates }: LeaseStatus): string {
  return (
    Object.entries(candidates)
      .map(([state, count]) => `${count} ${state}`)
      .join(', ') || '0'
  );
}

/** Returns the number of candidates at each of the highest `priorities`, such as `1 at 5, 2 at 4`. */
function prioritiesText({ priorities }: LeaseStatus): string {
  if (priorities.length === 0) return '-';
  const texts = priorities.map(
    ({ value, until, candidates }) => `${candidates} at ${describePriority(value, until)}`,
  );
  const more = texts.length - MAX_PRIORITIES;
  return more > 0 ? `${texts.slice(0, MAX_PRIORITIES).join(', ')}, ${more} more` : texts.join(', ');
}
