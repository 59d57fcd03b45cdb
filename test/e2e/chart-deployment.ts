import { spawn } from 'node:child_process';
import { commandFor } from '../../src/cli/command-options.ts';
import { commands } from '../../src/cli/commands.ts';
import type { RunSettings } from '../../src/settings/run-settings.ts';
import { watchChild } from './child-output.ts';
import type { ChartObject } from './helm.ts';

/** The parts of the chart's Deployment that these tests read. */
export interface ChartDeployment extends ChartObject {
  readonly spec: {
    readonly replicas: number;
    readonly strategy: unknown;
    readonly template: {
      readonly metadata: Readonly<Record<string, unknown>>;
      readonly spec: {
        readonly serviceAccountName: string;
        readonly containers: readonly ChartContainer[];
        readonly [field: string]: unknown;
      };
    };
  };
}

/** The container that runs the program. */
export interface ChartContainer {
  readonly args: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly resources?: unknown;
  readonly livenessProbe: { readonly httpGet: { readonly path: string } };
  readonly readinessProbe: { readonly httpGet: { readonly path: string } };
}

export function deploymentIn(objects: readonly ChartObject[]): ChartDeployment {
  const found = objects.find(({ kind }) => kind === 'Deployment');
  if (!found) throw new Error('the chart rendered no Deployment');
  return found as ChartDeployment;
}

export function containerOf({ spec }: ChartDeployment): ChartContainer {
  const [container, ...others] = spec.template.spec.containers;
  if (!container || others.length > 0) throw new Error('the Deployment has not one container');
  return container;
}

/** The program's parse of a container's arguments. */
export interface ReadArguments {
  /** Undefined if it refuses them. */
  readonly settings: RunSettings | undefined;
  /** The error message if it refuses them. */
  readonly complaint: string;
}

/** Parses a container's arguments with the program's own command line, without running it. */
export async function readArguments({ args: [name, ...args] }: ChartContainer): Promise<ReadArguments> {
  let settings: RunSettings | undefined;
  const entry = commands.find((one) => one.name === 'run');
  if (entry === undefined || name !== entry.name) throw new Error(`the container starts ${name}`);
  const command = commandFor(entry, {}, async (input) => {
    settings = input.settings as RunSettings;
  });
  let complaint = '';
  command.exitOverride().configureOutput({ writeErr: () => {} });
  try {
    await command.parseAsync(args, { from: 'user' });
  } catch (error) {
    complaint = String(error);
  }
  return { settings, complaint };
}

/** A container's program, running as a process. */
export interface RunningContainer {
  /** Its output so far. */
  output(): string;
  /** Status and body of a page on the container's port; undefined while no process listens. */
  get(path: string): Promise<{ readonly status: number; readonly body: string } | undefined>;
  /** SIGTERM, as the kubelet sends it; resolves to the exit code. */
  stop(): Promise<number | null>;
}

/** Starts the program with only a container's arguments and variables, and the access to the cluster. */
export function runContainer(container: ChartContainer, kubeconfig: string): RunningContainer {
  const main = new URL('../../src/main.ts', import.meta.url).pathname;
  const given = (container.env ?? []).map(({ name, value }) => [name, value]);
  const child = spawn(process.execPath, [main, ...container.args], {
    env: { ...Object.fromEntries(given), KUBECONFIG: kubeconfig },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const { output, ended } = watchChild(child);
  const [port] = container.ports;
  return {
    output,
    async get(path) {
      try {
        const response = await fetch(`http://127.0.0.1:${port?.containerPort}${path}`);
        return { status: response.status, body: await response.text() };
      } catch {
        return undefined;
      }
    },
    stop() {
      child.kill('SIGTERM');
      return ended;
    },
  };
}
