import { type LeaseKey, leaseKey, splitLeaseKey } from '../coordination/lease-key.ts';
import { formatMicroTime } from '../coordination/micro-time.ts';
import { priorityRemoval, priorityRestoration } from '../coordination/priority-patch.ts';
import { REASONS } from '../election/decision.ts';
import type { Now } from '../election/model.ts';
import type { ElectionInput } from '../election/view.ts';
import {
  type ClusterScope,
  type ListedCandidate,
  missingElection,
  observeElections,
} from '../inspection/elections.ts';
import { readLock } from '../inspection/evidence.ts';
import { statusOf } from '../inspection/lease-status.ts';
import { counted } from '../inspection/wording.ts';
import { sleep } from '../support/clock.ts';
import { humanDuration } from '../support/text.ts';
import { type Selection, selectCandidates, setPriority, undoPriority } from './candidates.ts';
import { leaderOf, obstacleAbove, obstacleTo, priorityAbove, reasonToStay } from './prospects.ts';

export interface MoveRequest extends ClusterScope {
  readonly lockNamespace: string;
  /** How long the new priority lasts, in milliseconds. */
  readonly forMs: number;
  readonly timeoutMs: number;
  readonly tell: (line: string) => void;
}

/** The result of a transfer. Also the JSON and YAML output of the command. */
interface TransferOutcome {
  readonly namespace: string;
  readonly lease: string;
  readonly candidate: string;
  readonly leads: boolean;
  /** The leader before the transfer; undefined if there was none. */
  readonly formerLeader: string | undefined;
  /** The new priority; undefined if the candidate cannot lead. */
  readonly priority: number | undefined;
  /** When the new priority ends, in RFC 3339; undefined if there is no new priority. */
  readonly until: string | undefined;
  /** Why the candidate does not lead; undefined if it leads. */
  readonly why: string | undefined;
}

const LOOK_PERIOD_MS = 1000;

/**
 * Gives a candidate the highest priority of its Lease, and waits until the candidate leads, or until the timeout. If
 * the candidate cannot lead, sets no priority. If an obstacle appears during the wait, restores the former priority.
 * @throws the errors of the client, or an error if the Lease does not exist and has no candidates.
 */
export async function transferLease(
  lease: string,
  name: string,
  request: MoveRequest,
): Promise<TransferOutcome> {
  const { client, clock, namespace, lockNamespace, forMs, timeoutMs, tell } = request;
  const [{ input, leader: formerLeader, now }, lock] = await Promise.all([
    look(lease, request),
    readLock(client, clock, lockNamespace),
  ]);
  const outcome = { namespace, lease, candidate: name, formerLeader };
  const refuse = (why: string): TransferOutcome => {
    tell(`${name} cannot lead ${namespace}/${lease}: ${why}.`);
    return { ...outcome, leads: false, priority: undefined, until: undefined, why };
  };
  const priority = priorityAbove(input, name);
  if (priority === undefined) return refuse('another candidate has the highest priority that there is');
  const obstacle = obstacleTo(input, name, priority, now) ?? obstacleAbove(lock);
  if (obstacle !== undefined) return refuse(obstacle);
  const target = await findTarget(input, name, request);
  const end = clock.wallTime() + BigInt(forMs) * 1000n;
  const change = { by: 'transfer', priority, until: end } as const;
  if (!target || !(await setPriority(client, target, change)))
    return refuse('its LeaseCandidate has just gone');
  tell(`${name} has the priority ${priority}; waiting until it leads ${namespace}/${lease}.`);

  const set = { ...outcome, priority, until: formatMicroTime(end) };
  const startedAt = clock.now();
  for (;;) {
    const seen = await look(lease, request);
    if (seen.leader === name) {
      const took = humanDuration(Math.round((clock.now() - startedAt) / 1000));
      tell(formerLeader === name ? `${name} leads already.` : `${name} leads, after ${took}.`);
      return { ...set, leads: true, why: undefined };
    }
    const hasEnded = seen.now.wall >= end;
    const why = hasEnded ? 'its priority has ended' : obstacleTo(seen.input, name, priority, seen.now);
    if (why !== undefined) {
      const written = await findTarget(seen.input, name, request);
      const undoing = written && priorityRestoration(written.raw, target.raw, change);
      const isUnset = written !== undefined && (await undoPriority(client, written, undoing));
      return refuse(isUnset ? `${why}. Its priority was taken back` : why);
    }
    if (clock.now() - startedAt >= timeoutMs) {
      const awaited = pending(seen.input, seen.now);
      tell(`${name} does not lead yet: ${awaited} Its priority stays; undrain takes it back.`);
      return { ...set, leads: false, why: awaited };
    }
    await sleep(clock, LOOK_PERIOD_MS);
  }
}

/** Reads the election of one Lease, and finds its leader. Rejects if the Lease does not exist and has no candidates. */
async function look(leaseName: string, request: MoveRequest) {
  const found = (await lookAtAll({ ...request, leaseName })).get(leaseKey(request.namespace, leaseName));
  if (found?.input.lease || found?.input.candidates.length) return found;
  throw await missingElection(leaseName, request);
}

/** Lists the candidate, to get its raw object. Of two candidates with this name, returns the participating one (rule 13). */
async function findTarget({ candidates }: ElectionInput, name: string, { client, namespace }: MoveRequest) {
  const target = candidates.find(({ candidate }) => candidate.name === name)?.candidate;
  const found = await selectCandidates(client, namespace, { kind: 'candidate', name });
  return found.find(({ candidate }) => candidate.uid === target?.uid);
}

/** The result of a drain. Also the JSON and YAML output of the command. */
interface DrainOutcome {
  readonly candidates: readonly ReturnType<typeof nameOf>[];
  /** When the priority of the drained candidates ends, in RFC 3339; undefined if no candidate was selected. */
  readonly until: string | undefined;
  readonly leases: readonly MovedLease[];
}

interface MovedLease {
  readonly namespace: string;
  readonly lease: string;
  readonly from: string;
  /** The new leader; undefined if there is no leader, or if a drained candidate leads. */
  readonly to: string | undefined;
  /** Why there is no new leader; undefined if there is one. */
  readonly why: string | undefined;
}

/** The priority of drained candidates. Far below 0, because other candidates may have a priority slightly below 0. */
const DRAINED = -1000;

/**
 * Sets a low priority on the selected candidates. For each Lease that a selected candidate leads, waits until this
 * Lease has a leader that is not selected. Stops waiting at the timeout, or when there is a known reason why the drain
 * cannot move the lead. Reports the new leader of each of these Leases, or why there is no new leader.
 * @throws the errors of the client.
 */
export async function drainCandidates(selection: Selection, request: MoveRequest): Promise<DrainOutcome> {
  const { client, clock, namespace, forMs, tell } = request;
  const selected = await selectCandidates(client, namespace, selection);
  if (selected.length === 0) {
    tell(noneSelected(selection));
    return { candidates: [], until: undefined, leases: [] };
  }
  const keyOf = ({ candidate }: ListedCandidate) => leaseKey(candidate.namespace, candidate.leaseName);
  const leases = Map.groupBy(selected, keyOf);
  const before = await lookAtAll(request);
  const led = [...leases].flatMap(([key, those]) => {
    const drained = new Set(those.map(({ candidate }) => candidate.name));
    const leader = before.get(key)?.leader;
    return leader !== undefined && drained.has(leader) ? [{ key, drained, leader }] : [];
  });
  const until = clock.wallTime() + BigInt(forMs) * 1000n;
  const isLed = (one: ListedCandidate) => before.get(keyOf(one))?.leader === one.candidate.name;
  // Write the priorities of leaders last. Otherwise, a candidate that is about to be drained could become the leader.
  for (const some of [selected.filter((one) => !isLed(one)), selected.filter(isLed)])
    await Promise.all(some.map((one) => setPriority(client, one, { by: 'drain', priority: DRAINED, until })));
  tell(
    `${counted(selected.length, 'candidate')} of ${counted(leases.size, 'Lease')} drained, ${led.length} of them leading.`,
  );
  return {
    candidates: selected.map(nameOf),
    until: formatMicroTime(until),
    leases: await followLeaders(led, request),
  };
}

function nameOf({ candidate: { namespace, leaseName: lease, name } }: ListedCandidate) {
  return { namespace, lease, name };
}

interface LedLease {
  readonly key: LeaseKey;
  readonly drained: ReadonlySet<string>;
  readonly leader: string;
}

async function followLeaders(led: readonly LedLease[], request: MoveRequest): Promise<readonly MovedLease[]> {
  const { client, clock, lockNamespace, timeoutMs, tell } = request;
  const obstacle = led.length === 0 ? undefined : obstacleAbove(await readLock(client, clock, lockNamespace));
  const startedAt = clock.now();
  const followed: MovedLease[] = [];
  const end = ({ key, leader: from }: LedLease, present: string | undefined, why?: string) => {
    const { namespace, name: lease } = splitLeaseKey(key);
    followed.push({ namespace, lease, from, to: why === undefined ? present : undefined, why });
    tell(
      why === undefined
        ? `${key} has moved from ${from} to ${present}.`
        : `${key} ${whereItStays(from, present)}: ${why}.`,
    );
    return false;
  };
  let waiting = led;
  while (waiting.length > 0) {
    const seen = await lookAtAll(request);
    const isOver = clock.now() - startedAt >= timeoutMs;
    waiting = waiting.filter((lease) => {
      const { key, drained } = lease;
      const { input, leader: present, now } = seen.get(key) ?? {};
      if (present !== undefined && !drained.has(present)) return end(lease, present);
      if (!input || !now) return end(lease, present, 'the Lease no longer exists');
      const why = obstacle ?? reasonToStay(input, drained, now);
      if (why !== undefined) return end(lease, present, why);
      return (
        !isOver || end(lease, present, `the timeout has passed. ${pending(input, now)}`.replace(/\.$/, ''))
      );
    });
    if (waiting.length > 0) await sleep(clock, LOOK_PERIOD_MS);
  }
  return followed;
}

/** Describes the leader after a failed move. `present` is undefined, the former leader or another drained candidate. */
function whereItStays(from: string, present: string | undefined): string {
  if (present === undefined) return 'has no leader';
  return present === from
    ? `stays with ${from}`
    : `has moved from ${from} to ${present}, which is drained, too`;
}

/** Undoes the priorities of `drain` and `transfer` on the selected candidates. Resolves to the changed candidates. */
export async function undrainCandidates(
  selection: Selection,
  { client, namespace, tell }: Pick<MoveRequest, 'client' | 'namespace' | 'tell'>,
): Promise<DrainOutcome['candidates']> {
  const selected = await selectCandidates(client, namespace, selection);
  const undo = (one: ListedCandidate) => undoPriority(client, one, priorityRemoval(one.raw));
  const isChanged = await Promise.all(selected.map(undo));
  const those = selected.filter((_, index) => isChanged[index]).map(nameOf);
  for (const { namespace, name } of those) tell(`${namespace}/${name} has its own priority again.`);
  if (those.length === 0) tell('Nothing was set by drain or transfer there.');
  return those;
}

/** Reads all elections, or only the election of `leaseName`. Resolves to the election and the leader of each Lease. */
async function lookAtAll(request: ClusterScope & { readonly leaseName?: string }) {
  const { elections, now } = await observeElections(request);
  const seen = elections.map(({ input }) => ({ input, leader: leaderOf(input, now), now }));
  return new Map(seen.map((one) => [leaseKey(one.input.namespace, one.input.name), one]));
}

/** Returns the reason of the current decision, what the reason means, and what the Lease waits for, if anything. */
function pending(input: ElectionInput, now: Now): string {
  const { reason, waitingFor } = statusOf({ input, rawLease: undefined }, now);
  return `${reason}. ${REASONS[reason]}${waitingFor === undefined ? '' : ` It waits for ${waitingFor}.`}`;
}

function noneSelected(selection: Selection): string {
  switch (selection.kind) {
    case 'labels':
      return `No LeaseCandidate has the labels ${selection.selector}; nothing was drained.`;
    case 'node':
      return `No LeaseCandidate has an ownerReference to a Pod on node ${selection.node}; nothing was drained. Select by --selector or --candidate instead.`;
    case 'candidate':
      return `There is no LeaseCandidate ${selection.name}; nothing was drained.`;
    case 'all':
      return 'There are no LeaseCandidates; nothing was drained.';
  }
}
