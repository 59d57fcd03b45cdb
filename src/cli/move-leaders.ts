import type { Selection } from '../moving/candidates.ts';
import { drainCandidates, transferLease, undrainCandidates } from '../moving/moves.ts';
import type {
  DrainSettings,
  SelectionSettings,
  TransferSettings,
  UndrainSettings,
} from '../settings/moving-settings.ts';
import type { Host } from '../support/host.ts';
import { printableLines } from '../support/text.ts';
import { type ClusterConnection, withCluster } from './cluster-connection.ts';
import { exitCode } from './exit-code.ts';
import { print } from './output.ts';

const MAX_LINE_LENGTH = 1000;

/** Tries to make a candidate the leader of a Lease. Resolves to an exit code. */
export function runTransfer(lease: string, settings: TransferSettings, host: Host): Promise<number> {
  return withCluster(settings, host, async (connection) => {
    const request = requestOf(settings, connection, host);
    const outcome = await transferLease(lease, settings.to, request);
    print(outcome, settings.output, host, () => []);
    return outcome.leads ? exitCode.ok : exitCode.leaderStays;
  });
}

/** Tries to move the lead from the selected candidates to other candidates. Resolves to an exit code. */
export function runDrain(settings: DrainSettings, host: Host): Promise<number> {
  return withCluster(settings, host, async (connection) => {
    const request = requestOf(settings, connection, host);
    const outcome = await drainCandidates(selectionOf(settings), request);
    print(outcome, settings.output, host, () => []);
    return outcome.leases.every(({ to }) => to !== undefined) ? exitCode.ok : exitCode.leaderStays;
  });
}

/** Removes the priorities that `transfer` and `drain` have set on the selected candidates. Resolves to an exit code. */
export function runUndrain(settings: UndrainSettings, host: Host): Promise<number> {
  return withCluster(settings, host, async (connection) => {
    const request = requestOf(settings, connection, host);
    const candidates = await undrainCandidates(selectionOf(settings), request);
    print({ candidates }, settings.output, host, () => []);
    return exitCode.ok;
  });
}

/** Returns the request of a move. The function `tell` prints progress, unless the output is JSON or YAML. */
function requestOf<S extends { output: string }>(settings: S, connection: ClusterConnection, host: Host) {
  const tell = (line: string) => {
    if (settings.output === 'table') host.stdout.write(`${printableLines(line, MAX_LINE_LENGTH)}\n`);
  };
  return { ...settings, ...connection, settings, tell };
}

function selectionOf({ selector, node, candidate }: SelectionSettings): Selection {
  if (selector !== undefined) return { kind: 'labels', selector };
  if (node !== undefined) return { kind: 'node', node };
  return candidate === undefined ? { kind: 'all' } : { kind: 'candidate', name: candidate };
}
