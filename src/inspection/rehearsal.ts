import { HOUSEKEEPING_PINGS } from '../election/candidate-observation.ts';
import type {
  CreateLease,
  Decision,
  DeleteCandidate,
  PingCandidate,
  Reason,
  UpdateLease,
} from '../election/decision.ts';
import { isGrantUnrenewed } from '../election/lease-memory.ts';
import { type Instant, type LeaseCandidate, NO_PRIORITY, type Now } from '../election/model.ts';
import { type ElectionInput, standingsIn, surveyElection, surveyTenure } from '../election/view.ts';
import { InMemoryElection } from './in-memory-election.ts';

export type Rehearsal = ReturnType<Rehearsing['result']>;

// As with client-go's defaults, a leader renews every 2 s, and sets a Lease duration of 15 s when it takes up a grant.
// A simulated elector finds its grant within 2 s. A real elector of client-go needs up to 4.4 s.
const LOOK_PERIOD_MS = 2000;
const RENEWED_LEASE_SECONDS = 15;
const ANSWER_MS = 50;

/** If no new step comes for this time (ms), and no answer or expiry is due, a Lease is settled, even in a conflict. */
const QUIET_MS = 20_000;
const HORIZON_MS = 180_000;
/** Maximum wait until a Lease expires, in ms. Long, because some Leases last for minutes. */
const MAX_WAIT_MS = 3_600_000;
const DECISIONS_AT_ONE_INSTANT = 20;

/** With these reasons, a vacant Lease is settled without a wait of QUIET_MS: the coordinator will choose no leader. */
const LASTING = new Set<Reason>(['NoCandidates', 'PlainElector', 'ThirdPartyStrategy', 'CoordinatorLease']);

/**
 * Simulates an election with these changes, using the coordinator's own decision function. Makes each change when the
 * Lease has settled after the previous one, or after a time limit. Candidates that are unresponsive, expired or being
 * deleted at the start, and a holder that is late at the start, do not answer or renew, unless a change restarts them.
 */
export function rehearse(input: ElectionInput, start: Now, changes: readonly Change[]): Rehearsal {
  const rehearsal = new Rehearsing(input, start);
  // Users plan changes for a settled Lease, so wait until it is settled. A crash may happen at any time, so do not wait.
  if (changes[0]?.kind !== 'crash') rehearsal.runUntilSettled();
  for (const change of changes) {
    rehearsal.make(change);
    rehearsal.runUntilSettled();
  }
  return rehearsal.result();
}

export type Change =
  /** A candidate appears, or restarts, perhaps with other versions. */
  | { readonly kind: 'add'; readonly candidate: LeaseCandidate }
  /** The candidate's program stops: it deletes its LeaseCandidate and, if it holds the Lease, releases the Lease. */
  | { readonly kind: 'remove'; readonly name: string }
  /** The candidate's program crashes: the program no longer renews the Lease or answers pings. */
  | { readonly kind: 'crash'; readonly name: string }
  /** The candidate gets a priority that does not expire. */
  | { readonly kind: 'priority'; readonly name: string; readonly priority: number }
  /** `successor` appears, and then one of the candidates in `names` stops. */
  | {
      readonly kind: 'replace';
      readonly names: readonly string[];
      /** `next`: the holder stops, if it is in `names`. `last`: it stops only if no other candidate in `names` is left. */
      readonly leaderIs: 'next' | 'last';
      readonly successor: LeaseCandidate;
    };

class Rehearsing {
  readonly #election: InMemoryElection;
  readonly #start: Now;
  #at: Instant;
  /** What has happened so far. `atMs` is the virtual time since the start, in milliseconds. */
  readonly #steps: { atMs: number; text: string; reason: Reason | undefined }[] = [];
  /** The names of the programs that neither renew nor answer pings. */
  readonly #silent = new Set<string>();
  readonly #answersDue = new Map<string, Instant>();
  #looksAt: Instant;
  #newsAt: Instant;
  #isSettled = false;
  #leader: string | undefined;
  #handOvers = 0;
  #decision: Decision;

  constructor(input: ElectionInput, start: Now) {
    this.#start = start;
    this.#at = start.monotonic;
    this.#election = new InMemoryElection(input, () => this.#now);
    this.#newsAt = start.monotonic;
    this.#looksAt = start.monotonic + LOOK_PERIOD_MS;
    const { tenure, standings } = surveyElection(input, start);
    for (const { candidate } of standingsIn(standings, 'Unresponsive', 'Expired', 'Deleting'))
      this.#silent.add(candidate.name);
    if (tenure.kind === 'held') {
      this.#leader = tenure.holder;
      if (start.monotonic >= tenure.lateAt) this.#silent.add(tenure.holder);
      else this.#looksAt = Math.max(start.monotonic, (input.memory.record?.since ?? 0) + LOOK_PERIOD_MS);
    }
    this.#decision = this.#election.decide();
  }

  get #now(): Now {
    const sinceStartMicros = BigInt(Math.round((this.#at - this.#start.monotonic) * 1000));
    return { monotonic: this.#at, wall: this.#start.wall + sinceStartMicros };
  }

  result() {
    const { tenure } = surveyElection(this.#election.input, this.#now);
    return {
      steps: this.#steps,
      // The holder at the end; empty if the Lease then has no valid holder.
      holder: tenure.kind === 'held' ? tenure.holder : '',
      reason: this.#decision.reason,
      // False if the Lease had not settled within the time limit after the last change.
      isSettled: this.#isSettled,
      tookMs: this.#at - this.#start.monotonic,
      handOvers: this.#handOvers,
    };
  }

  make(change: Change): void {
    const { lease } = this.#election;
    switch (change.kind) {
      case 'add': {
        const { candidate } = change;
        const { name, binaryVersion = 'none', emulationVersion = 'none' } = candidate;
        const isBack = this.#election.candidate(name) !== undefined;
        const appears = isBack ? 'comes back' : 'appears';
        this.#say(`${name} ${appears} with binary ${binaryVersion}, emulation ${emulationVersion}`);
        this.#silent.delete(name);
        if (isBack) this.#release(name);
        this.#election.removeCandidate(name);
        const { wall } = this.#now;
        this.#election.putCandidate({ ...candidate, creationTimestamp: wall, renewTime: wall });
        return;
      }
      case 'remove': {
        const released = lease?.holderIdentity === change.name ? ' and releases the Lease' : '';
        this.#say(`${change.name} is stopped${released}; its candidate is deleted`);
        this.#election.removeCandidate(change.name);
        this.#release(change.name);
        return;
      }
      case 'crash':
        this.#say(`${change.name} crashes: it no longer renews or answers pings`);
        this.#silent.add(change.name);
        this.#answersDue.delete(change.name);
        return;
      case 'priority': {
        const candidate = this.#election.candidate(change.name);
        if (!candidate) return;
        this.#say(`${change.name} has the priority ${change.priority}`);
        this.#election.putCandidate({ ...candidate, priority: { ...NO_PRIORITY, value: change.priority } });
        return;
      }
      case 'replace': {
        this.make({ kind: 'add', candidate: change.successor });
        this.runUntilSettled();
        const left = change.names.filter((name) => this.#election.candidate(name) !== undefined);
        const holder = this.#election.lease?.holderIdentity;
        const isNext = (name: string) => (name === holder) === (change.leaderIs === 'next');
        const name = left.find(isNext) ?? left[0];
        if (name !== undefined) this.make({ kind: 'remove', name });
      }
    }
  }

  runUntilSettled(): void {
    const beganAt = this.#at;
    this.#newsAt = beganAt;
    let endsAt = beganAt + HORIZON_MS;
    while (this.#at < endsAt) {
      const runsOutAt = Math.min(this.#runsOutAt() ?? beganAt, beganAt + MAX_WAIT_MS);
      endsAt = Math.max(endsAt, runsOutAt + HORIZON_MS);
      this.#decide();
      this.#isSettled = this.#hasSettled();
      if (this.#isSettled) return;
      const { requeue } = this.#decision;
      const next = [this.#looksAt, ...this.#answersDue.values(), this.#newsAt + QUIET_MS];
      if (requeue.kind === 'at') next.push(requeue.time);
      this.#at = Math.min(...next.filter((at) => at > this.#at));
      this.#play();
    }
  }

  /** Returns the time of the Lease's expiry if its valid holder is silent or is asked to yield; otherwise undefined. */
  #runsOutAt(): Instant | undefined {
    const { input, lease } = this.#election;
    const tenure = surveyTenure(input, this.#at);
    if (tenure.kind !== 'held') return undefined;
    const isRunningOut = this.#silent.has(tenure.holder) || lease?.preferredHolder !== undefined;
    return isRunningOut ? tenure.expiresAt : undefined;
  }

  #decide(): void {
    for (let count = 0; count < DECISIONS_AT_ONE_INSTANT; count++) {
      this.#decision = this.#election.decide();
      const { actions, reason } = this.#decision;
      this.#election.carryOut(this.#decision);
      if (actions.length === 0) return;
      for (const action of actions) {
        if (action.kind === 'PingCandidate') this.#ping(action, reason);
        else this.#say(stepOf(action), reason);
      }
    }
  }

  #play(): void {
    const now = this.#now;
    for (const [name, dueAt] of this.#answersDue) {
      if (dueAt > now.monotonic) continue;
      this.#answersDue.delete(name);
      const candidate = this.#election.candidate(name);
      if (candidate) this.#election.putCandidate({ ...candidate, renewTime: now.wall });
    }
    if (this.#looksAt > now.monotonic) return;
    this.#looksAt = now.monotonic + LOOK_PERIOD_MS;
    this.#holderLooks(now);
  }

  #holderLooks(now: Now): void {
    const { lease, input } = this.#election;
    const tenure = surveyTenure(input, now.monotonic);
    if (tenure.kind !== 'held' || !lease || this.#silent.has(tenure.holder)) return;
    const isCandidate = this.#election.candidate(tenure.holder) !== undefined;
    if (isCandidate && lease.preferredHolder !== undefined) {
      this.#say(`${tenure.holder} stops renewing, to let the Lease run out`, undefined, true);
      return;
    }
    const isTakingUp = isGrantUnrenewed(input.memory, lease);
    // A holder without a candidate is a plain elector: it removes the fields that it does not know.
    const wiped = isCandidate ? {} : { strategy: undefined, preferredHolder: undefined };
    this.#election.putLease({
      ...lease,
      ...wiped,
      renewTime: now.wall,
      ...(isTakingUp && { leaseDurationSeconds: RENEWED_LEASE_SECONDS }),
    });
    if (!isTakingUp) return;
    this.#say(`${tenure.holder} leads: it has found the Lease and renews it`);
    if (this.#leader !== undefined && this.#leader !== tenure.holder) this.#handOvers++;
    this.#leader = tenure.holder;
  }

  #release(name: string): void {
    const { lease } = this.#election;
    if (lease?.holderIdentity !== name) return;
    this.#election.putLease({
      ...lease,
      holderIdentity: '',
      // The coordinator recognizes a release by the duration 1 and a new renewTime, both written by the holder.
      leaseDurationSeconds: 1,
      isDurationHolders: true,
      renewTime: this.#now.wall + 1n,
      strategy: undefined,
      preferredHolder: undefined,
    });
  }

  #hasSettled(): boolean {
    const { input, lease } = this.#election;
    const { reason, standings } = this.#decision;
    if (this.#answersDue.size > 0 || this.#runsOutAt() !== undefined) return false;
    const hasHeldBack = standingsIn(standings, 'Withdrawn', 'Lapsed').length > 0;
    const isFinal =
      surveyTenure(input, this.#at).kind === 'held'
        ? reason === 'LeaderOptimal' && !isGrantUnrenewed(input.memory, lease) && !hasHeldBack
        : LASTING.has(reason);
    return isFinal || this.#at >= this.#newsAt + QUIET_MS;
  }

  #ping({ name, purpose }: PingCandidate, reason: Reason): void {
    const answers = !this.#silent.has(name);
    if (answers) this.#answersDue.set(name, this.#at + ANSWER_MS);
    // Do not report routine pings: housekeeping, and pings that the coordinator repeats during a pending preemption.
    if (HOUSEKEEPING_PINGS.has(purpose) || reason === 'PreemptionPending') return;
    this.#say(`${name} is pinged${answers ? '' : ', and does not answer'}`, reason, true);
  }

  #say(text: string, reason?: Reason, isSaidOnce = false): void {
    if (isSaidOnce && this.#steps.at(-1)?.text === text) return;
    const atMs = this.#at - this.#start.monotonic;
    this.#steps.push({ atMs, text, reason });
    this.#newsAt = this.#at;
  }
}

function stepOf(action: CreateLease | UpdateLease | DeleteCandidate): string {
  switch (action.kind) {
    case 'CreateLease':
      return action.grant
        ? `the Lease is created for ${action.grant.holder}`
        : `the Lease is created without a holder, for ${action.strategy}`;
    case 'UpdateLease': {
      const { change } = action;
      if (change.kind === 'grant') return `${change.grant.holder} is given the Lease`;
      if (change.kind === 'prefer') return `${change.preferredHolder} becomes preferredHolder`;
      if (change.kind === 'clearPreferredHolder') return 'preferredHolder is removed';
      if (change.kind === 'release') return 'the Lease is emptied';
      if (change.kind === 'fence') return 'a fence takes the place of the holder';
      return `the Lease names the strategy ${change.strategy}`;
    }
    case 'DeleteCandidate':
      return `the candidate ${action.name} is deleted: it has been silent for too long`;
  }
}
