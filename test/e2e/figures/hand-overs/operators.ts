import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { binary } from '../../../control-plane/binaries.ts';
import type { CoordinationPlane } from '../../../control-plane/coordination-plane.ts';
import type { ProgramProcess, ProgramSpec, Work } from './programs.ts';

/** An operator's log line when it is a candidate or, without the Go module, when it begins to try. */
const STARTED = /Stands as candidate|Attempting to acquire leader lease/;

/**
 * Returns a place for Go operators with controller-runtime, without programs. Each runs in its own process, with the
 * timing of kubebuilder's scaffold. Its work begins with the first reconciliation.
 */
export async function startOperators(
  plane: CoordinationPlane,
  note: (work: Work) => void,
  { isPlain = false }: { readonly isPlain?: boolean } = {},
): Promise<ProgramProcess> {
  const program = await binary('operator');
  const processes = new Map<string, ChildProcess>();
  return {
    start(spec) {
      const operator = spawn(program, [...argumentsFor(plane, spec), ...(isPlain ? ['-plain'] : [])], {
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      processes.set(spec.name, operator);
      createInterface({ input: operator.stdout }).once('line', (line) => note(workIn(line, spec)));
      return new Promise((resolve, reject) => {
        createInterface({ input: operator.stderr }).on('line', (line) => STARTED.test(line) && resolve());
        operator.once('error', reject);
        operator.once('exit', (code) => reject(new Error(`${spec.name} has ended with ${code}`)));
      });
    },
    async stop(name, signal) {
      processes.get(name)?.kill(signal);
    },
    async kill() {
      await Promise.all([...processes.values()].map(killed));
    },
    lateness: async () => 0,
  };
}

function argumentsFor(plane: CoordinationPlane, { name, namespace, lease, emulationVersion }: ProgramSpec) {
  return Object.entries({
    kubeconfig: plane.kubeconfig,
    name,
    namespace,
    lease,
    version: emulationVersion,
    // The first line is enough.
    interval: '1h',
  }).map(([flag, value]) => `-${flag}=${value}`);
}

/** A line has the fencing token, the name, the process, and the time in nanoseconds. */
function workIn(line: string, { name, lease }: ProgramSpec): Work {
  return { name, lease, at: Number(line.split(' ')[3]) / 1e6 };
}

function killed(operator: ChildProcess): Promise<void> {
  if (operator.exitCode !== null || operator.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    operator.once('exit', () => resolve());
    operator.kill('SIGKILL');
  });
}
