import { assembleCoordinator } from '../controller/coordinator.ts';
import { leaseKey } from '../coordination/lease-key.ts';
import { decideElection } from '../election/decide.ts';
import type { LeaseCandidate, Now } from '../election/model.ts';
import { oldestEmulationVersion } from '../election/strategies.ts';
import type { Standing } from '../election/view.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import type { RunSettings } from '../settings/run-settings.ts';
import type { StatusPage } from '../status-page/status-page.ts';
import type { Clock } from '../support/clock.ts';
import { createReport } from './coordinator-report.ts';
import type { CandidateRow, Condition, DemoEvent, DemoState, LeaseState, Tell } from './demo-state.ts';
import type { SampleCandidate, SampleTiming } from './sample-candidate.ts';
import { createSampleCast } from './sample-cast.ts';

interface DemoWorldParts {
  readonly clock: Clock;
  /** Creates a client, which the demo world closes. The maximum `connections` does not apply to lists and watches. */
  readonly connect: (connections: number) => KubernetesClient;
  readonly settings: RunSettings;
  readonly timing: SampleTiming;
  readonly statusPage?: StatusPage | undefined;
  readonly onEvent?: ((event: DemoEvent) => void) | undefined;
}

const LEASE = { namespace: 'default', leaseName: 'demo' };
const LEASE_KEY = leaseKey(LEASE.namespace, LEASE.leaseName);

/** Maximum number of stored events. A terminal has fewer lines. */
const REMEMBERED = 200;

/** All candidates share one client, with at most this number of requests in flight. Lists and watches do not count. */
const CONNECTIONS = 8;

export type DemoWorld = ReturnType<typeof createDemoWorld>;

/** Creates a coordinator and sample candidates for one Lease, and records their events. */
export function createDemoWorld(parts: DemoWorldParts) {
  const { clock, connect, settings, timing, statusPage, onEvent } = parts;
  let events: readonly DemoEvent[] = [];
  let isStopping = false;

  const tell: Tell = (who, text, isTrouble = false) => {
    const event = { at: clock.wallTime(), who, text, isTrouble };
    events = [...events, event].slice(-REMEMBERED);
    if (!isStopping) onEvent?.(event);
  };
  const now = (): Now => ({ monotonic: clock.now(), wall: clock.wallTime() });
  const client = connect(CONNECTIONS);
  const report = createReport(tell, LEASE_KEY, now);
  const coordinator = assembleCoordinator({
    clock,
    connect,
    settings,
    observe(event) {
      report(event);
      statusPage?.observe(event);
    },
  });
  statusPage?.watch(coordinator);
  const cast = createSampleCast({ client, clock, lease: LEASE, timing, tell });

  return {
    commands: cast.commands,
    tell,
    /** Starts the candidates before the coordinator, so that the first election includes all candidates. */
    async start(): Promise<void> {
      await cast.start();
      if (!isStopping) coordinator.start();
    },
    /** Stops the candidates and the coordinator. May be called at any time, even during `start`. */
    async stop(): Promise<void> {
      isStopping = true;
      cast.stop();
      await coordinator.stop();
      await client.close();
    },
    /** Returns the coordinator's view of the election, and the state of the candidates' programs. */
    state(): DemoState {
      const at = now();
      const input = coordinator.controller.gather(LEASE_KEY);
      const { reason, tenure, standings } = decideElection(input, at);
      const lease = input.lease && {
        holder: input.lease.holderIdentity ?? '',
        preferredHolder: input.lease.preferredHolder ?? '',
        strategy: input.lease.strategy ?? '',
        transitions: input.lease.leaseTransitions,
        durationMs: (input.lease.leaseDurationSeconds ?? 0) * 1000,
        remainingMs: tenure.kind === 'held' ? tenure.expiresAt - at.monotonic : 0,
      };
      const candidates = standings
        .toSorted((a, b) => compareForElection(a.candidate, b.candidate))
        .map((standing) => candidateRow(standing, cast.member(standing.candidate.name), lease));
      return { leaseKey: LEASE_KEY, lease, candidates, reason, events };
    },
  };
}

export type SampleProgram = Pick<SampleCandidate, 'life' | 'isLeading'>;

/** Describes a candidate. `program` is undefined for a candidate that the demo does not run. */
export function candidateRow(
  { candidate, state }: Pick<Standing, 'candidate' | 'state'>,
  program: SampleProgram | undefined,
  lease: LeaseState | undefined,
): CandidateRow {
  const { name, binaryVersion = '', emulationVersion = '', preference } = candidate;
  const strategy = preference.kind === 'strategy' ? preference.strategy : preference.strategies.join(' > ');
  const condition = conditionOf(name, program, lease) ?? (state.toLowerCase() as Lowercase<typeof state>);
  return { name, binaryVersion, emulationVersion, strategy, condition };
}

/**
 * Compares two candidates under OldestEmulationVersion, the strategy of the demo. The best candidate comes first.
 * Candidates that this strategy cannot elect come last.
 */
export function compareForElection(a: LeaseCandidate, b: LeaseCandidate): number {
  const { isElectable, compare } = oldestEmulationVersion;
  if (isElectable(a) && isElectable(b)) return compare(a, b);
  return Number(isElectable(b)) - Number(isElectable(a)) || (a.name < b.name ? -1 : 1);
}

function conditionOf(
  name: string,
  program: SampleProgram | undefined,
  lease: LeaseState | undefined,
): Condition | undefined {
  if (program?.life === 'crashed' || program?.life === 'paused') return program.life;
  const isHolding = lease?.holder === name && lease.remainingMs > 0;
  // If the demo does not run the candidate's program, only the Lease shows whether the candidate leads.
  const isLeading = program?.isLeading ?? isHolding;
  if (isLeading) return isHolding && lease.preferredHolder !== '' ? 'yielding' : 'leading';
  if (isHolding) return 'elected';
  return lease?.preferredHolder === name ? 'preferred' : undefined;
}
