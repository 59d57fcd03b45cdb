import { EVIDENCE_ANNOTATION } from '../../src/coordination/lease.ts';
import type { PodReference } from '../../src/election/model.ts';
import type { ApiRequest } from '../../src/kubernetes/client.ts';
import type { Term } from '../../src/participant/term.ts';
import type { Instant } from '../../src/support/clock.ts';
import type { HistoryEvent } from '../invariants/history.ts';
import { FencingTokens } from './fencing-tokens.ts';
import { LastRenewals } from './last-renewals.ts';
import { SimCandidate } from './sim-candidate.ts';
import { SimKubelet } from './sim-kubelet.ts';
import type { SimLink } from './sim-link.ts';
import type { SimTap } from './sim-network.ts';
import { SimParticipant } from './sim-participant.ts';
import { SimPlainElector } from './sim-plain-elector.ts';
import { PLAIN_NAMESPACE } from './sim-plan.ts';
import type { SimProcess, SimSkew } from './sim-process.ts';
import type { SimProgram, SimSlot } from './sim-slot.ts';
import type { SimWorld } from './sim-world.ts';

/**
 * Starts the programs that take part in elections, and checks the promises of participants about their terms (rule
 * 15).
 */
export class SimPrograms {
  readonly #world: SimWorld;
  readonly #tokens = new FencingTokens();
  readonly #renewals = new LastRenewals();
  /** Only for runs that watch Pods. */
  readonly #kubelet: SimKubelet | undefined;
  /** The last container of each slot. */
  readonly #containers = new Map<SimSlot, { readonly pod: string; readonly process: SimProcess }>();
  #identities = 0;

  constructor(world: SimWorld) {
    this.#world = world;
    this.#kubelet = world.plan.settings.isCrashEvidenceUsed ? new SimKubelet(world) : undefined;
    if (this.#kubelet) world.store.create('namespaces', ASKING_NAMESPACE);
  }

  observe(event: HistoryEvent): void {
    this.#renewals.observe(event);
  }

  /** A restore has undone all writes. */
  forget(): void {
    this.#tokens.forget();
  }

  /** Starts the next program of a slot. `own` is its name, or that of its Pod where its identity has a random part. */
  start(slot: SimSlot, own: string): SimProgram {
    const { plan } = slot;
    const name = this.#identityOf(slot, own);
    const { wallMs, lease, isPlain, binaryVersion, emulationVersion, strategy, watchesForDeletion } = plan;
    const { source } = plan;
    const { namespace, name: leaseName, timing } = lease;
    const process = this.#world.startProcess({ kind: 'candidate', name }, this.#clockOf(slot));
    const pod = this.#startContainer(slot, own, process, name);
    const connection = this.#world.network.connect(plan.name, process, name, hangingWith(slot));
    const link = this.#world.network.linkOf(plan.name);
    const beliefShare = this.#world.plan.clockTolerance;
    const believes = (until: Instant | undefined) => this.#world.believes(name, slot.key, until);
    this.#world.note(
      () => `${name} starts, ${binaryVersion} as ${emulationVersion}, clock off by ${wallMs} ms`,
    );
    if (isPlain) {
      const parts = { namespace, leaseName, name, timing, beliefShare, onBelief: believes };
      const actor = new SimPlainElector(process, connection, parts);
      void actor.run();
      return { name, process, connection, link, actor };
    }
    const identity = {
      source,
      namespace,
      leaseName,
      name,
      binaryVersion,
      emulationVersion,
      strategy,
      ...(pod && { pod }),
    };
    const trace = (text: () => string) => this.#world.note(text);
    if (plan.isParticipant) {
      const hooks = {
        onExit: () => slot.ended(actor),
        onBelief: believes,
        onTerm: (term: Term) => this.#termBegun(slot.key, term),
        onEnded: () => this.#assertReleased(slot, name, link, timing.renewDeadlineMs / 2),
        onViolation: (what: string) => this.#world.violated(what),
        isCalm: () => this.#world.isCalm,
        trace,
      };
      const chance = this.#world.chance.for(`${name} leading`);
      const actor = new SimParticipant(identity, process, connection, hooks, { timing, beliefShare, chance });
      // This process may never hear of the Lease that its predecessor held under the same name.
      this.#renewals.forget(slot.key, name);
      actor.start();
      return { name, process, connection, link, actor };
    }
    const hooks = {
      onExit: () => slot.ended(actor),
      mayReleaseAnothers: () => this.#world.memory.isReleaseDoubted(name) && this.#world.mayRob(slot.key),
      onBelief: (_: SimCandidate, until: Instant | undefined) => believes(until),
      trace,
    };
    const habits = { timing, beliefShare, watchesForDeletion };
    const actor = new SimCandidate(identity, process, connection, hooks, habits);
    actor.start();
    return { name, process, connection, link, actor };
  }

  /**
   * The clock of a slot's node. In runs that watch Pods, a restart of a container never sets it back: rule 17 does
   * not promise to tolerate that.
   */
  #clockOf(slot: SimSlot): SimSkew {
    const { wallMs, rate } = slot.plan;
    const lastMs = this.#kubelet ? this.#containers.get(slot)?.process.wallSkewMs : undefined;
    return { wallMs: Math.max(wallMs, lastMs ?? wallMs), rate };
  }

  /** client-go's usual identity: the hostname, and a random part. Some programs keep that when their container is restarted. */
  #identityOf({ plan }: SimSlot, own: string): string {
    if (plan.lease.namespace !== PLAIN_NAMESPACE) return own;
    const isKept = this.#world.chance.for(`identity of ${own}`).is(0.4);
    return `${own}_${isKept ? 'kept' : ++this.#identities}`;
  }

  /** A program in a Pod of another name is another Pod's; one in a Pod of the same name is another container of it. */
  #startContainer(
    slot: SimSlot,
    own: string,
    process: SimProcess,
    identity: string,
  ): PodReference | undefined {
    if (!this.#kubelet) return undefined;
    const last = this.#containers.get(slot);
    if (last && last.pod !== own) this.#kubelet.replaced(last.pod);
    this.#containers.set(slot, { pod: own, process });
    const pod = this.#kubelet.start(slot.plan.lease.namespace, own, process);
    const report = process.onKilled;
    process.onKilled = () => {
      report();
      this.#world.ended(identity, slot.key);
    };
    return pod;
  }

  #termBegun(key: string, term: Term): void {
    this.#world.tally.termBegan();
    const { uid = '' } = this.#world.store.get('leases', key)?.metadata ?? {};
    for (const problem of this.#tokens.begun(uid, term)) this.#world.violated(problem);
  }

  /** A stopped participant has released its Lease, unless it could not: it waits for each answer until the deadline. */
  #assertReleased(
    { key, isHanging, hungUntil }: SimSlot,
    name: string,
    link: SimLink,
    deadlineMs: number,
  ): void {
    const now = this.#world.clock.now();
    const isCutOff =
      isHanging ||
      hungUntil > now - deadlineMs ||
      link.isDisturbed ||
      link.troubledUntil > now - deadlineMs ||
      this.#world.servers.some(({ isDown }) => isDown);
    if (isCutOff || !this.#renewals.isHeld(key, name, now)) return;
    this.#world.violated(`${name} has ended, and has not released ${key}`);
  }
}

const ASKING_NAMESPACE = {
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name: PLAIN_NAMESPACE, annotations: { [EVIDENCE_ANNOTATION]: 'enabled' } },
};

/** An elector that hangs asks for no Lease and writes none: whatever it has sent is not told of. */
function hangingWith(slot: SimSlot): SimTap {
  const isOfElector = ({ path }: ApiRequest) => /\/leases(?:\/|$)/.test(path);
  return {
    sent: (request, fate) =>
      slot.isHanging && isOfElector(request) ? { ...fate, outcome: 'dropped' } : fate,
    answered: () => {},
  };
}
