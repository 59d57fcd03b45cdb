import { formatMicroTime } from '../coordination/micro-time.ts';
import { REASONS } from '../election/decision.ts';
import type { Now } from '../election/model.ts';
import type { ElectionInput } from '../election/view.ts';
import { type ClusterScope, observeElections } from '../inspection/elections.ts';
import { readLock } from '../inspection/evidence.ts';
import { statusOf } from '../inspection/lease-status.ts';
import { sleep } from '../support/clock.ts';
import { humanDuration } from '../support/text.ts';
import { selectCandidates, setPriority, unsetPriority } from './candidates.ts';
import { leaderOf, obstacleAbove, obstacleTo, priorityAbove } from './prospects.ts';

/** The result of a transfer. Also the JSON and YAML output of the command. */
export interface TransferOutcome {
  readonly namespace: string;
  readonly lease: string;
  readonly candidate: string;
  readonly leads: boolean;
  /** The former leader; undefined if there was none. */
  readonly formerLeader: string | undefined;
  /** The new priority; undefined if none was set, or if it was removed again. */
  readonly priority: number | undefined;
  /** When the priority ends, in RFC 3339. */
  readonly until: string | undefined;
  /** Why the candidate does not lead; undefined if it leads. */
  readonly why: string | undefined;
}

/** The options of all commands that move leaders. */
export interface MoveRequest extends ClusterScope {
  readonly lockNamespace: string;
  /** How long the priority lasts, in milliseconds. */
  readonly forMs: number;
  /** How long to wait for leaders to move, in milliseconds. */
  readonly timeoutMs: number;
  readonly tell: (line: string) => void;
}

export const LOOK_PERIOD_MS = 1000;

/**
 * Gives a candidate the highest priority of its Lease and waits until it leads. Otherwise reports why it does not lead.
 * If it is known that the candidate cannot lead, writes no priority or removes the written one.
 * @throws like the client.
 */
export async function transferLease(
  lease: string,
  name: string,
  request: MoveRequest,
): Promise<TransferOutcome> {
  const { client, clock, namespace, lockNamespace, forMs, timeoutMs, tell } = request;
  const [{ input, now }, lock] = await Promise.all([
    look(lease, request),
    readLock(client, clock, lockNamespace),
  ]);
  const formerLeader = leaderOf(input, now);
  const outcome = { namespace, lease, candidate: name, formerLeader };
  const refuse = (why: string): TransferOutcome => {
    tell(`${name} cannot lead ${namespace}/${lease}: ${why}.`);
    return { ...outcome, leads: false, priority: undefined, until: undefined, why };
  };
  const priority = priorityAbove(input, name);
  if (priority === undefined) return refuse('another candidate has the highest priority that there is');
  const obstacle = obstacleTo(input, name, priority, now) ?? obstacleAbove(lock);
  if (obstacle !== undefined) return refuse(obstacle);
  const target = await findTarget(lease, name, request);
  const end = clock.wallTime() + BigInt(forMs) * 1000n;
  if (!target || !(await setPriority(client, target, { by: 'transfer', priority, until: end })))
    return refuse('its LeaseCandidate has just gone');
  tell(`${name} has the priority ${priority}; waiting until it leads ${namespace}/${lease}.`);

  const set = { ...outcome, priority, until: formatMicroTime(end) };
  const startedAt = clock.now();
  for (;;) {
    const seen = await look(lease, request);
    if (leaderOf(seen.input, seen.now) === name) {
      const took = humanDuration(Math.round((clock.now() - startedAt) / 1000));
      tell(formerLeader === name ? `${name} leads already.` : `${name} leads, after ${took}.`);
      return { ...set, leads: true, why: undefined };
    }
    const why = obstacleTo(seen.input, name, priority, seen.now);
    if (why !== undefined) {
      const written = await findTarget(lease, name, request);
      if (written) await unsetPriority(client, written);
      return refuse(`${why}. Its priority was taken back`);
    }
    if (clock.now() - startedAt >= timeoutMs) {
      const awaited = pending(seen.input, seen.now);
      tell(`${name} does not lead yet: ${awaited} Its priority stays; undrain takes it back.`);
      return { ...set, leads: false, why: awaited };
    }
    await sleep(clock, LOOK_PERIOD_MS);
  }
}

/** Returns a sentence that says what a Lease waits for. */
export function pending(input: ElectionInput, now: Now): string {
  const { reason, waitingFor } = statusOf({ input, rawLease: undefined }, now);
  return `${reason}. ${REASONS[reason]}${waitingFor === undefined ? '' : ` It waits for ${waitingFor}.`}`;
}

async function look(
  leaseName: string,
  request: MoveRequest,
): Promise<{ readonly input: ElectionInput; readonly now: Now }> {
  const { elections, now } = await observeElections({ ...request, leaseName });
  const found = elections.find(({ input }) => input.name === leaseName);
  if (!found) throw new Error(`there is no Lease ${leaseName} in ${request.namespace} namespace`);
  return { input: found.input, now };
}

/** Finds the candidate. If two candidates have the same name, the native one counts (rule 13). */
async function findTarget(lease: string, name: string, { client, namespace }: MoveRequest) {
  const found = await selectCandidates(client, namespace, { kind: 'candidate', name });
  const those = found.filter(({ candidate }) => candidate.leaseName === lease);
  return those.find(({ candidate }) => candidate.source === 'native') ?? those[0];
}
