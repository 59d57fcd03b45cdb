import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { binary } from '../control-plane/binaries.ts';

/** The folder of the chart. */
export const chartFolder = new URL('../../charts/coordinated-leader-election', import.meta.url).pathname;

/** The release that `deploy/` is made from, and that tests install. */
export const release = { name: 'coordinated-leader-election', namespace: 'kube-system' } as const;

/** An object as the chart renders it, as much as all of them have in common. */
export interface ChartObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

/** What a helm printed, and how it ended. */
export interface HelmRun {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Helm, with folders of its own and no cluster. */
export interface Helm {
  /** Runs it to its end. `input` is its standard input. */
  run(args: readonly string[], input?: string): Promise<HelmRun>;
  /**
   * The objects of {@link release} for some values, but for those of `helm test`.
   * @throws Error with what helm says when it refuses the values.
   */
  render(values: unknown): Promise<readonly ChartObject[]>;
  /** Removes its folders. */
  remove(): Promise<void>;
}

export async function startHelm(): Promise<Helm> {
  const path = await binary('helm');
  const home = await mkdtemp(join(tmpdir(), 'helm-'));
  const env = { PATH: process.env['PATH'], HOME: home, KUBECONFIG: join(home, 'none') };

  function run(args: readonly string[], input = ''): Promise<HelmRun> {
    return new Promise((resolve, reject) => {
      const child = spawn(path, args, { env, stdio: ['pipe', 'pipe', 'pipe'] });
      let [stdout, stderr] = ['', ''];
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        stdout += text;
      });
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        stderr += text;
      });
      // One that ends before it has read its input has said why.
      child.stdin.on('error', () => {});
      child.once('error', reject);
      child.once('close', (code) => resolve({ code, stdout, stderr }));
      child.stdin.end(input);
    });
  }

  async function output(args: readonly string[], values: unknown): Promise<string> {
    const common = [release.name, chartFolder, '--namespace', release.namespace, '--values', '-'];
    const { code, stdout, stderr } = await run([...args, ...common], JSON.stringify(values));
    if (code !== 0) throw new Error(stderr);
    return stdout;
  }

  return {
    run,
    async render(values) {
      return objectsIn(await output(['template', '--skip-tests'], values));
    },
    remove: () => rm(home, { recursive: true, force: true }),
  };
}

/** The objects in a stream of YAML documents. @throws Error when one is no valid YAML. */
export function objectsIn(text: string): readonly ChartObject[] {
  return parseAllDocuments(text).flatMap((document) => {
    const [error] = document.errors;
    if (error) throw error;
    return (document.toJS() as ChartObject | null) ?? [];
  });
}
