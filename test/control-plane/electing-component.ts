import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerCommand, ServerProcess } from './server-process.ts';

/** How a kube-scheduler or kube-controller-manager is started. */
export interface ElectingComponentOptions {
  /** Unique within the control plane; names its log file, and its writes in `metadata.managedFields`. */
  readonly name: string;
  /** Kubernetes version to behave as, like `1.35`; by default its own. */
  readonly emulatedVersion?: string;
  /** Whether it takes part in coordinated elections; default true. Without it, its elector is a plain one. */
  readonly coordinatedLeaderElection?: boolean;
  /** In Go's notation; by default `15s`, `10s` and `2s`, as the components have it. */
  readonly leaseDuration?: string;
  readonly renewDeadline?: string;
  readonly retryPeriod?: string;
  readonly extraArgs?: readonly string[];
}

/** A real component of Kubernetes that elects its leader among its instances. */
export interface ElectingComponent extends ServerProcess {
  /**
   * The name of its LeaseCandidate, which it draws at its start, as soon as that exists.
   * @throws Error when it does not within `timeoutMs`, 30 s by default, or the component ends.
   */
  identity(timeoutMs?: number): Promise<string>;
}

/** The command line of a component, but for what only one kind of component needs. */
export function electingComponentCommand(
  path: string,
  options: ElectingComponentOptions,
  plane: { readonly directory: string; readonly kubeconfig: string },
  kindArgs: readonly string[],
): ServerCommand {
  const optional = (flag: string, value: string | undefined) =>
    value === undefined ? [] : [`--${flag}=${value}`];
  return {
    name: options.name,
    path,
    // client-go puts this into the User-Agent, after which the API server names the field manager: the only trace from a
    // LeaseCandidate back to the process, as both kinds of component draw their identities at random.
    argv0: options.name,
    logFile: join(plane.directory, `${options.name}.log`),
    args: [
      `--kubeconfig=${plane.kubeconfig}`,
      '--secure-port=0',
      '--leader-elect=true',
      `--feature-gates=CoordinatedLeaderElection=${options.coordinatedLeaderElection ?? true}`,
      ...optional('emulated-version', options.emulatedVersion),
      ...optional('leader-elect-lease-duration', options.leaseDuration),
      ...optional('leader-elect-renew-deadline', options.renewDeadline),
      ...optional('leader-elect-retry-period', options.retryPeriod),
      ...kindArgs,
      ...(options.extraArgs ?? []),
    ],
  };
}

/** Gives a running component its {@link ElectingComponent.identity}. `list` returns the LeaseCandidates of kube-system. */
export function asElectingComponent(
  server: ServerProcess,
  list: () => Promise<readonly LeaseCandidateMetadata[]>,
): ElectingComponent {
  return {
    ...server,
    async identity(timeoutMs = 30_000) {
      const deadline = performance.now() + timeoutMs;
      while (server.exit() === undefined && performance.now() < deadline) {
        const own = (await list()).find(({ metadata }) =>
          metadata.managedFields?.some(({ manager }) => manager === server.name),
        );
        if (own !== undefined) return own.metadata.name;
        await sleep(100);
      }
      throw new Error(`${server.name} has no LeaseCandidate: see ${server.logFile} (kept with CLE_KEEP=1)`);
    },
  };
}

/** As much of a LeaseCandidate as tells who wrote it. */
export interface LeaseCandidateMetadata {
  readonly metadata: {
    readonly name: string;
    readonly managedFields?: readonly { readonly manager?: string }[];
  };
}
