import type { CoordinationPlane } from '../../../control-plane/coordination-plane.ts';
import { type Electors, startElectors } from '../../../control-plane/electors.ts';
import { startParticipants } from './participants.ts';
import type { ProgramProcess, Work } from './programs.ts';

/**
 * Starts a process for client-go's candidates and electors, without programs. They have the timing of Kubernetes'
 * components, and release the Lease when they exit or are asked to yield, which shortens the wait of the next one.
 * Plain electors have no candidate, and take a free Lease when they read it.
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
      // An existing one is renewed.
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

/** The same without native LeaseCandidates: each program has one from `participate --candidate-only` beside it. */
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
