import type { CoordinationPlane } from '../../../control-plane/coordination-plane.ts';
import { type Electors, startElectors } from '../../../control-plane/electors.ts';
import { startParticipants } from './participants.ts';
import type { ProgramProcess, Work } from './programs.ts';

/**
 * Starts a process for client-go's candidates and electors, which has none yet. They have the timing of Kubernetes'
 * components, and release the Lease when they end or are told to yield, which makes the next one's wait shorter. Plain ones
 * have no candidate, and take a free Lease when they look at it.
 */
export async function startClientGo(
  plane: CoordinationPlane,
  note: (work: Work) => void,
  mode: 'coordinated' | 'elector-only' | 'plain' = 'coordinated',
): Promise<ProgramProcess> {
  const electors = await startElectors(plane.kubeconfig);
  const leases = new Map<string, string>();
  void tellOfWork(electors, (name, at) => note({ name, lease: leases.get(name) ?? '', at }));
  return {
    async start({ name, namespace, lease, emulationVersion }) {
      leases.set(name, lease);
      const versions = { binaryVersion: '1.90.0', emulationVersion };
      await electors.start({ id: name, namespace, lease, ...versions, mode, restart: true });
      if (mode !== 'coordinated') return;
      // One that has been there before is renewed.
      const signs = ['candidateCreated', 'candidateRenewed'] as const;
      await Promise.any(signs.map((event) => electors.waitFor({ id: name, event })));
    },
    stop: (name) => electors.release(name),
    async kill() {
      process.kill(electors.pid, 'SIGKILL');
      await electors.stop();
    },
    lateness: async () => 0,
  };
}

/** The same where the server has no LeaseCandidates of its own: each has one by `participate --candidate-only` beside it. */
export async function startClientGoWithSidecars(
  plane: CoordinationPlane,
  note: (work: Work) => void,
): Promise<ProgramProcess> {
  const [programs, sidecars] = await Promise.all([
    startClientGo(plane, note, 'elector-only'),
    startParticipants(plane, () => {}, { candidateOnly: true }),
  ]);
  return {
    async start(spec) {
      await Promise.all([programs.start(spec), sidecars.start(spec)]);
    },
    async stop(name, signal) {
      await Promise.all([programs.stop(name, signal), sidecars.stop(name, signal)]);
    },
    async kill() {
      await Promise.all([programs.kill(), sidecars.kill()]);
    },
    lateness: () => sidecars.lateness(),
  };
}

async function tellOfWork(electors: Electors, tell: (name: string, at: number) => void): Promise<void> {
  const forAsLongAsItRuns = 2 ** 31 - 1;
  for (let since = 0; ; ) {
    const next = await electors
      .waitFor({ event: 'startedLeading' }, { since, timeoutMs: forAsLongAsItRuns })
      .catch(() => undefined);
    if (!next) return;
    tell(next.id, next.wallMicros / 1000);
    since = electors.events.indexOf(next) + 1;
  }
}
