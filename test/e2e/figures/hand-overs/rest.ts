import type { AuditedRequest } from '../../audit-log.ts';
import type { Cast } from './cast.ts';

/** The requests of idle programs to the API server, per minute and program. */
export interface CallsAtRest {
  readonly perLeader: number;
  readonly perStandby: number;
}

/**
 * Counts requests that were received in [from, to), in milliseconds since the Unix epoch; a watch counts when it
 * begins.
 */
export async function callsAtRest(
  cast: Cast,
  leases: readonly string[],
  from: number,
  to: number,
): Promise<CallsAtRest> {
  const requests = (await cast.site.requests(cast.namespace)).filter(
    ({ receivedAt }) => receivedAt >= from && receivedAt < to,
  );
  const leaders = leases.map((lease) => cast.holder(lease));
  const standbys = leases
    .flatMap((lease) => cast.programsOf(lease))
    .filter((name) => !leaders.includes(name));
  const minutes = (to - from) / 60_000;
  return {
    perLeader: countOf(requests, leaders) / leaders.length / minutes,
    perStandby: countOf(requests, standbys) / standbys.length / minutes,
  };
}

function countOf(requests: readonly AuditedRequest[], names: readonly string[]): number {
  return requests.filter(({ userAgent }) => names.includes(userAgent.replace(/^elector\//, ''))).length;
}
