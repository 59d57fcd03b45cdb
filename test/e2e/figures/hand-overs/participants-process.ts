// Runs the participants of participants.ts, which starts this process and sends it commands.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createClient, loadKubeConfig, Participant, systemClock } from '../../../../src/index.ts';
import { obey } from '../commanded-process.ts';
import type { ParticipantCommand, ParticipantSite } from './participants.ts';
import type { ProgramSpec, Work } from './programs.ts';

const { url, serviceAccountDirectory, candidateOnly }: ParticipantSite = JSON.parse(process.argv[2] ?? '');
const { hostname, port } = new URL(url);
const kubeConfig = loadKubeConfig({
  env: { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port },
  serviceAccountDirectory,
});

/** The function that ends each participant, by its name. */
const running = new Map<string, AbortController>();

async function start({ name, namespace, lease, emulationVersion }: ProgramSpec): Promise<void> {
  const ending = new AbortController();
  // Its own, as if it were alone in its process.
  const client = createClient({
    kubeConfig,
    clock: systemClock,
    userAgent: name,
    connections: 4,
  });
  const participant = new Participant(
    {
      client,
      namespace,
      lease,
      identity: name,
      binaryVersion: '1.90.0',
      emulationVersion,
      candidateOnly,
      signal: ending.signal,
    },
    ({ signal }) => {
      const work: Work = { name, lease, at: Date.now() };
      process.send?.(work);
      return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    },
  );
  running.set(name, ending);
  void participant.run().then(() => client.close());
  await participant.published;
}

const delay = monitorEventLoopDelay({ resolution: 5 });
delay.enable();

obey<ParticipantCommand>(async (command) => {
  switch (command.op) {
    case 'start':
      await start(command.spec);
      return 0;
    case 'stop':
      running.get(command.name)?.abort();
      return 0;
    case 'lateness': {
      const late = delay.percentile(99) / 1e6 - 5;
      delay.reset();
      return Math.max(0, late);
    }
  }
});
