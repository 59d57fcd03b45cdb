import { type LeaseKey, leaseKey, splitLeaseKey } from '../coordination/lease-key.ts';
import { formatMicroTime } from '../coordination/micro-time.ts';
import type { Now } from '../election/model.ts';
import type { ElectionInput } from '../election/view.ts';
import { type ListedCandidate, observeElections } from '../inspection/elections.ts';
import { readLock } from '../inspection/evidence.ts';
import { counted } from '../inspection/wording.ts';
import { sleep } from '../support/clock.ts';
import { type Selection, selectCandidates, setPriority, unsetPriority } from './candidates.ts';
import { leaderOf, obstacleAbove, reasonToStay } from './prospects.ts';
import { LOOK_PERIOD_MS, type MoveRequest, pending } from './transfer.ts';

/** The result of a drain. Also the JSON and YAML output of the command. */
export interface DrainOutcome {
  readonly candidates: readonly {
    readonly namespace: string;
    readonly lease: string;
    readonly name: string;
  }[];
  /** When the priority of the drained candidates ends, in RFC 3339; undefined if no candidate was drained. */
  readonly until: string | undefined;
  readonly leases: readonly MovedLease[];
}

export interface MovedLease {
  readonly namespace: string;
  readonly lease: string;
  readonly from: string;
  /** The new leader; undefined if the leader has not moved. */
  readonly to: string | undefined;
  /** Why the leader has not moved; undefined if it has. */
  readonly why: string | undefined;
}

/**
 * The priority of drained candidates. Lower than the default priority, and lower than priorities that a user set a
 * little below the default.
 */
const DRAINED = -1000;

/**
 * Sets a low priority on candidates. Then waits until their Leases have other leaders. Reports each Lease
 * whose leader has not moved, with the reason.
 * @throws like the client.
 */
export async function drainCandidates(selection: Selection, request: MoveRequest): Promise<DrainOutcome> {
  const { client, clock, namespace, forMs, tell } = request;
  const selected = await selectCandidates(client, namespace, selection);
  if (selected.length === 0) {
    tell(noneSelected(selection));
    return { candidates: [], until: undefined, leases: [] };
  }
  const leases = new Map<LeaseKey, Set<string>>();
  for (const { candidate } of selected) {
    const key = leaseKey(candidate.namespace, candidate.leaseName);
    leases.set(key, (leases.get(key) ?? new Set<string>()).add(candidate.name));
  }
  const before = await leadersNow(request);
  const led = [...leases].flatMap(([key, drained]) => {
    const leader = before.get(key)?.leader;
    return leader !== undefined && drained.has(leader) ? [{ key, drained, leader }] : [];
  });
  const until = clock.wallTime() + BigInt(forMs) * 1000n;
  const isLed = ({ candidate: { namespace, leaseName, name } }: ListedCandidate) =>
    before.get(leaseKey(namespace, leaseName))?.leader === name;
  // Write the priorities of leaders last, so that no drained candidate succeeds another drained leader.
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
  const end = ({ key, leader }: LedLease, to: string | undefined, why?: string) => {
    const { namespace, name: lease } = splitLeaseKey(key);
    followed.push({ namespace, lease, from: leader, to, why });
    tell(
      why === undefined
        ? `${key} has moved from ${leader} to ${to}.`
        : `${key} stays with ${leader}: ${why}.`,
    );
    return false;
  };
  let waiting = led;
  while (waiting.length > 0) {
    const seen = await leadersNow(request);
    const isOver = clock.now() - startedAt >= timeoutMs;
    waiting = waiting.filter((lease) => {
      const { key, drained } = lease;
      const { input, leader: present, now } = seen.get(key) ?? {};
      if (present !== undefined && !drained.has(present)) return end(lease, present);
      if (!input || !now) return end(lease, undefined, 'it has gone');
      const why = obstacle ?? reasonToStay(input, drained, now);
      if (why !== undefined) return end(lease, undefined, why);
      return !isOver || end(lease, undefined, `for now. ${pending(input, now)}`.replace(/\.$/, ''));
    });
    if (waiting.length > 0) await sleep(clock, LOOK_PERIOD_MS);
  }
  return followed;
}

/** Removes the priorities that `drain` and `transfer` have set. Resolves to the changed candidates. */
export async function undrainCandidates(
  selection: Selection,
  { client, namespace, tell }: Pick<MoveRequest, 'client' | 'namespace' | 'tell'>,
): Promise<DrainOutcome['candidates']> {
  const selected = await selectCandidates(client, namespace, selection);
  const removed = await Promise.all(
    selected.map(async (one) => ((await unsetPriority(client, one)) ? one : undefined)),
  );
  const those = removed.flatMap((one) => (one === undefined ? [] : nameOf(one)));
  for (const { namespace, name } of those) tell(`${namespace}/${name} has its own priority again.`);
  if (those.length === 0) tell('Nothing was set by drain or transfer there.');
  return those;
}

async function leadersNow(request: MoveRequest) {
  const { elections, now } = await observeElections(request);
  return new Map(
    elections.map(({ input }): [LeaseKey, { input: ElectionInput; leader: string | undefined; now: Now }] => [
      leaseKey(input.namespace, input.name),
      { input, leader: leaderOf(input, now), now },
    ]),
  );
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
