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
import { type Cell, layoutFor, print, type Style, tableLines, widthsOf } from './output.ts';

/** Prints the state of each Lease, once or until a signal. Resolves to an exit code. */
export function showStatus(settings: StatusSettings, host: Host): Promise<number> {
  return withCluster(settings, host, async (connection) => {
    if (settings.watch) return await followStatus(settings, host, connection);
    const { client, clock, namespace } = connection;
    const found = await observeElections({ client, clock, settings, namespace });
    warnAboutSkew(clock, host);
    const statuses = found.elections.map((election) => statusOf(election, found.now));
    print({ items: statuses }, settings.output, host, () =>
      statuses.length > 0 ? tableOf(statuses, settings, host) : '',
    );
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

const NONE = '<none>';

/** Maximum number of priorities in one cell. */
const MAX_PRIORITIES = 3;

export function statusHeader({ hasNamespace, isWide, hasPriorities }: StatusColumns): readonly string[] {
  return [
    ...(hasNamespace ? ['NAMESPACE'] : []),
    ...['NAME', 'HOLDER', 'PREFERRED', 'STRATEGY', 'CANDIDATES'],
    ...(hasPriorities ? ['PRIORITY'] : []),
    'AGE',
    ...(isWide ? ['RENEWED', 'TRANSITIONS', 'REASON'] : []),
    'WAITING FOR',
  ];
}

/**
 * Formats a Lease as a row. The row contains no times except the age: equal rows mean that at most the age has changed.
 */
export function statusRow(
  status: LeaseStatus,
  { hasNamespace, isWide, hasPriorities }: StatusColumns,
  hasTimes = true,
): readonly Cell[] {
  const { holder, isHeld, reason, waitingFor } = status;
  const style: Style = isHeld ? (waitingFor === undefined ? 'good' : 'warning') : 'bad';
  const seconds = (value: number | undefined) =>
    value === undefined ? NONE : hasTimes ? humanDuration(value) : '';
  const waiting = waitingFor ?? '-';
  return [
    ...(hasNamespace ? [status.namespace] : []),
    status.name,
    // The holder of an expired Lease does not lead.
    { text: holder === '' ? NONE : isHeld ? holder : `${holder} (expired)`, style },
    status.preferredHolder || NONE,
    status.strategy || NONE,
    candidatesText(status),
    ...(hasPriorities ? [prioritiesText(status)] : []),
    seconds(status.ageSeconds),
    ...(isWide
      ? [seconds(status.renewedSecondsAgo), String(status.leaseTransitions), { text: reason, style }]
      : []),
    hasTimes ? waiting : waiting.replace(/ in \d+s$/, ''),
  ];
}

function tableOf(statuses: readonly LeaseStatus[], settings: StatusSettings, host: Host): string {
  const columns = columnsOf(settings, statuses);
  const rows = [statusHeader(columns), ...statuses.map((status) => statusRow(status, columns))];
  return text(tableLines(rows, layoutFor(host).paint));
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
  else if (statuses.length > 0) return;
  else if (namespace === '') stderr.write('No coordinated Leases found.\n');
  else stderr.write(`No coordinated Leases found in ${namespace} namespace; -A looks into all of them.\n`);
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
  const shown = new Map<string, string>();
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
    const rows: (readonly Cell[])[] = [];
    const present = new Set<string>();
    const statuses = elections.map((election) => statusOf(election, now));
    if (!columns.hasPriorities && columnsOf(settings, statuses).hasPriorities) {
      // Print the whole table again with the new column.
      columns = columnsOf(settings, statuses);
      shown.clear();
      widths = undefined;
    }
    for (const status of statuses) {
      const key = `${status.namespace}/${status.name}`;
      present.add(key);
      const lasting = JSON.stringify(statusRow(status, columns, false));
      if (shown.get(key) === lasting) continue;
      shown.set(key, lasting);
      rows.push(statusRow(status, columns));
    }
    for (const key of shown.keys()) if (!present.has(key)) shown.delete(key);
    if (rows.length === 0) continue;
    const isFirst = widths === undefined;
    const table = isFirst ? [statusHeader(columns), ...rows] : rows;
    widths ??= widthsOf(table);
    host.stdout.write(text(tableLines(table, paint, widths)));
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

function text(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}

/** `2 Live, 1 Idle` */
function candidatesText({ candidates }: LeaseStatus): string {
  const counts = Object.entries(candidates);
  if (counts.length === 0) return '0';
  return counts.map(([state, count]) => `${count} ${state}`).join(', ');
}

/** `1 at 5, 2 at -1000 until 2026-11-22T23:10:00Z` */
function prioritiesText({ priorities }: LeaseStatus): string {
  if (priorities.length === 0) return '-';
  const named = priorities.slice(0, MAX_PRIORITIES);
  const more = priorities.length - named.length;
  const texts = named.map(
    ({ value, until, candidates }) => `${candidates} at ${describePriority(value, until)}`,
  );
  return [...texts, ...(more > 0 ? [`${more} more`] : [])].join(', ');
}
