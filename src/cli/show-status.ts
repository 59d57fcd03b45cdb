import {
  lookAtElections,
  type ObservedElections,
  servedCandidateApis,
  watchElections,
} from '../inspection/elections.ts';
import { type LeaseStatus, statusOf } from '../inspection/lease-status.ts';
import { ApiError } from '../kubernetes/errors.ts';
import type { StatusSettings } from '../settings/inspection-settings.ts';
import { createThrottle } from '../support/backoff.ts';
import type { Host } from '../support/host.ts';
import { messageOf, printableLines } from '../support/text.ts';
import { type ClusterConnection, tellOfSkew, withCluster } from './cluster-connection.ts';
import { exitCode } from './exit-code.ts';
import { NOT_SERVED } from './find-election.ts';
import { layoutFor } from './layout.ts';
import { type StatusColumns, statusHeader, statusRow } from './status-rows.ts';
import { structured } from './structured-output.ts';
import { type Cell, tableLines, widthsOf } from './text-table.ts';

/** Shows how each Lease stands, once or until it is told to stop; resolves to an exit code. */
export function showStatus(settings: StatusSettings, host: Host): Promise<number> {
  return withCluster(settings, host, async ({ client, clock, namespace }) => {
    const place = settings.allNamespaces ? '' : namespace;
    if (settings.watch) return await followStatus(settings, host, { client, clock, namespace: place });
    const found = await lookAtElections({ client, clock, settings, namespace: place });
    tellOfSkew(clock, host);
    const statuses = found.elections.map((election) => statusOf(election, found.now));
    const { output } = settings;
    if (output === 'json' || output === 'yaml') host.stdout.write(structured({ items: statuses }, output));
    else if (statuses.length > 0) host.stdout.write(tableOf(statuses, settings, host));
    sayWhatIsMissing(found, statuses, place, host);
    return found.candidateApis.length === 0 ? exitCode.failure : exitCode.ok;
  });
}

function tableOf(statuses: readonly LeaseStatus[], settings: StatusSettings, host: Host): string {
  const columns = columnsOf(settings, statuses);
  const rows = [statusHeader(columns), ...statuses.map((status) => statusRow(status, columns))];
  return text(tableLines(rows, layoutFor(host).paint));
}

function sayWhatIsMissing(
  { candidateApis, forbiddenApis }: ObservedElections,
  statuses: readonly LeaseStatus[],
  namespace: string,
  { stderr }: Host,
): void {
  for (const apiVersion of forbiddenApis)
    stderr.write(
      `warning: you may not list leasecandidates of ${apiVersion}: those who stand there are missing\n`,
    );
  if (candidateApis.length === 0) stderr.write(`error: ${NOT_SERVED}\n`);
  else if (statuses.length > 0) return;
  else if (namespace === '') stderr.write('No coordinated Leases found.\n');
  else stderr.write(`No coordinated Leases found in ${namespace} namespace; -A looks into all of them.\n`);
}

/** As kubectl: the table first, then a line for each Lease that changes. Ages alone are no change. */
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
  tellOfSkew(clock, host);
  const refused = new AbortController();
  const warn = warningsTo(host);
  const watch = {
    ...{ client, clock, settings, namespace },
    signal: AbortSignal.any([host.stopOn('SIGTERM', 'SIGINT'), refused.signal]),
    onError: (error: unknown) => {
      // Once something was shown, a server that refuses is one that has just been started.
      if (widths === undefined && isRefusal(error)) refused.abort(error);
      else warn(error);
    },
  };
  for await (const { elections, now } of watchElections(watch)) {
    const rows: (readonly Cell[])[] = [];
    const present = new Set<string>();
    const statuses = elections.map((election) => statusOf(election, now));
    if (!columns.hasPriorities && columnsOf(settings, statuses).hasPriorities) {
      // The table begins anew, with the column that it lacks.
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

/** In characters. */
const LONGEST_WARNING = 1000;

function isRefusal(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 401 || error.status === 403);
}

/** What goes wrong again and again is said once a minute. */
function warningsTo({ stderr, clock }: Host): (error: unknown) => void {
  const isNew = createThrottle(() => clock.now());
  return (error) => {
    const message = messageOf(error);
    if (isNew(message, error)) stderr.write(`warning: ${printableLines(message, LONGEST_WARNING)}\n`);
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
