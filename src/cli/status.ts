import {
  type ObservedElections,
  observeElections,
  servedCandidateApis,
  watchElections,
} from '../inspection/elections.ts';
import { type LeaseStatus, statusOf } from '../inspection/lease-status.ts';
import { describePriority } from '../inspection/wording.ts';
import { hasStatus } from '../kubernetes/errors.ts';
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

/** Prints the state of each Lease, once or until a signal. Resolves to an exit code. */
export function showStatus(settings: StatusSettings, host: Host): Promise<number> {
  return withCluster(settings, host, async (connection) => {
    if (settings.watch) return await followStatus(settings, host, connection);
    const { client, clock, namespace } = connection;
    const found = await observeElections({ client, clock, settings, namespace });
    warnAboutSkew(clock, host);
    const statuses = found.elections.map((election) => statusOf(election, found.now));
    const rows = statuses.length > 0 ? statusRows(statuses, columnsOf(settings, statuses)) : [];
    print({ items: statuses }, settings.output, host, ({ paint }) => tableLines(rows, paint));
    reportMissing(found, statuses, namespace, host);
    return found.candidateApis.length === 0 ? exitCode.failure : exitCode.ok;
  });
}

/** The columns of a table of Leases. */
interface StatusColumns {
  readonly hasNamespace: boolean;
  readonly isWide: boolean;
  /** Whether any candidate has a priority. */
  readonly hasPriorities: boolean;
}

/** Maximum number of priorities in one cell. */
const MAX_PRIORITIES = 3;

/**
 * Returns the header and a row for each Lease. Without times, a row contains no times: equal rows mean that at most
 * times have changed.
 */
export function statusRows(
  statuses: readonly LeaseStatus[],
  { hasNamespace, isWide, hasPriorities }: StatusColumns,
  hasTimes = true,
): readonly (readonly Cell[])[] {
  const seconds = (value: number | undefined) => {
    if (value === undefined) return NONE;
    return hasTimes ? humanDuration(value) : '';
  };
  const columns: readonly Column<LeaseStatus>[] = [
    ['NAMESPACE', ({ namespace }) => namespace, hasNamespace],
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

function reportMissing(
  { candidateApis, forbiddenApis }: ObservedElections,
  statuses: readonly LeaseStatus[],
  namespace: string,
  { stderr }: Host,
): void {
  for (const apiVersion of forbiddenApis)
    stderr.write(
      `warning: you may not list leasecandidates of ${apiVersion}: its candidates are missing here\n`,
    );
  if (candidateApis.length === 0) stderr.write(`error: ${NOT_SERVED}\n`);
  else if (statuses.length === 0) stderr.write(`${noneFound('coordinated Leases', namespace)}\n`);
}

/**
 * Prints the table, then a row for each Lease that has changed, as kubectl does. Prints no row if only the age has
 * changed.
 */
async function followStatus(
  settings: StatusSettings,
  host: Host,
  { client, clock, namespace }: ClusterConnection,
): Promise<number> {
  let columns = columnsOf(settings, []);
  const { paint } = layoutFor(host);
  let shown = new Set<string>();
  let widths: readonly number[] | undefined;
  if ((await servedCandidateApis(client)).length === 0) {
    host.stderr.write(`error: ${NOT_SERVED}\n`);
    return exitCode.failure;
  }
  warnAboutSkew(clock, host);
  const refused = new AbortController();
  const warn = warningsTo(host);
  const watch = {
    ...{ client, clock, settings, namespace },
    signal: AbortSignal.any([host.stopOn('SIGTERM', 'SIGINT'), refused.signal]),
    onError: (error: unknown) => {
      // After the first table, the credentials are known to be valid. A later refusal comes from a server
      // that has just started.
      if (widths === undefined && hasStatus(error, 401, 403)) refused.abort(error);
      else warn(error);
    },
  };
  for await (const { elections, now } of watchElections(watch)) {
    const statuses = elections.map((election) => statusOf(election, now));
    if (!columns.hasPriorities && columnsOf(settings, statuses).hasPriorities) {
      // Print the whole table again with the new column.
      columns = columnsOf(settings, statuses);
      shown.clear();
      widths = undefined;
    }
    const lasting = statusRows(statuses, columns, false)
      .slice(1)
      .map((row) => JSON.stringify(row));
    const changed = statuses.filter((_, index) => !shown.has(lasting[index] ?? ''));
    shown = new Set(lasting);
    if (changed.length === 0) continue;
    const table = statusRows(changed, columns);
    const rows = widths === undefined ? table : table.slice(1);
    widths ??= widthsOf(table);
    printLines(tableLines(rows, paint, widths), host);
  }
  refused.signal.throwIfAborted();
  return exitCode.ok;
}

const MAX_WARNING_LENGTH = 1000;

/** Returns a function that prints warnings. It prints a repeated warning once a minute. */
function warningsTo({ stderr, clock }: Host): (error: unknown) => void {
  const isNew = createThrottle(() => clock.now());
  return (error) => {
    const message = messageOf(error);
    if (isNew(message, error)) stderr.write(`warning: ${printableLines(message, MAX_WARNING_LENGTH)}\n`);
  };
}

function columnsOf(
  { allNamespaces, output }: StatusSettings,
  statuses: readonly LeaseStatus[],
): StatusColumns {
  const hasPriorities = statuses.some(({ priorities }) => priorities.length > 0);
  return { hasNamespace: allNamespaces, isWide: output === 'wide', hasPriorities };
}

/** The holder of an expired Lease does not lead. */
function holderText({ holder, isHeld }: LeaseStatus): string {
  if (holder === '') return NONE;
  return isHeld ? holder : `${holder} (expired)`;
}

/** `2 Live, 1 Idle` */
function candidatesText({ candidates }: LeaseStatus): string {
  return (
    Object.entries(candidates)
      .map(([state, count]) => `${count} ${state}`)
      .join(', ') || '0'
  );
}

/** `1 at 5, 2 at -1000 until 2026-11-22T23:10:00Z` */
function prioritiesText({ priorities }: LeaseStatus): string {
  if (priorities.length === 0) return '-';
  const texts = priorities.map(
    ({ value, until, candidates }) => `${candidates} at ${describePriority(value, until)}`,
  );
  const more = texts.length - MAX_PRIORITIES;
  return more > 0 ? `${texts.slice(0, MAX_PRIORITIES).join(', ')}, ${more} more` : texts.join(', ');
}
