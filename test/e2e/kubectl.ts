import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { binary } from '../control-plane/binaries.ts';

/** The output and exit code of a kubectl. */
export interface KubectlRun {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Kubernetes' own kubectl, with one kubeconfig and its own cache. */
export interface Kubectl {
  /** Runs it until it exits. `input` is its standard input. */
  run(
    args: readonly string[],
    options?: { input?: string; env?: Record<string, string> },
  ): Promise<KubectlRun>;
  /** Runs it until `stop` is called, which resolves to its output. */
  start(args: readonly string[]): { readonly stdout: () => string; stop(): Promise<string> };
  /** Removes its cache. */
  remove(): Promise<void>;
}

export async function kubectlFor(kubeconfig: string): Promise<Kubectl> {
  const path = await binary('kubectl@1.36.3');
  const cache = await mkdtemp(join(tmpdir(), 'kubectl-'));
  const environment = { ...process.env, KUBECONFIG: kubeconfig, KUBECACHEDIR: cache, HOME: cache };

  function spawnWith(args: readonly string[], env: Record<string, string> = {}) {
    const child = spawn(path, args, { env: { ...environment, ...env }, stdio: ['pipe', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    // A process that exits before it has read its input has printed the reason.
    child.stdin.on('error', () => {});
    const ended = new Promise<KubectlRun>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code) => resolve({ code, stdout, stderr }));
    });
    return { child, ended, stdout: () => stdout };
  }

  return {
    run(args, { input = '', env } = {}) {
      const { child, ended } = spawnWith(args, env);
      child.stdin.end(input);
      return ended;
    },
    start(args) {
      const { child, ended, stdout } = spawnWith(args);
      child.stdin.end();
      return {
        stdout,
        async stop() {
          child.kill();
          return (await ended).stdout;
        },
      };
    },
    remove: () => rm(cache, { recursive: true, force: true }),
  };
}
