import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerCommand, ServerProcess } from './server-process.ts';

/** The options of a kube-scheduler or kube-controller-manager. */
export interface ElectingComponentOptions {
  /** Unique within the control plane. It names the log file, and the field manager in `metadata.managedFields`. */
  readonly name: string;
  /** Kubernetes version to emulate, like `1.35`; default: its own. */
  readonly emulatedVersion?: string;
  /** Whether it takes part in coordinated elections; default true. Otherwise its elector is a plain one. */
  readonly coordinatedLeaderElection?: boolean;
  /** In Go's notation; defaults `15s`, `10s` and `2s`, as in the components. */
  readonly leaseDuration?: string;
  readonly renewDeadline?: string;
  readonly retryPeriod?: string;
  readonly extraArgs?: readonly string[];
}

/** A real Kubernetes component with leader election among its instances. */
export interface ElectingComponent extends ServerProcess {
  /**
   * Resolves to the random name of its LeaseCandidate as soon as that exists.
   * @throws Error if it does not exist within `timeoutMs`, default 30 s, or if the component exits
   */
  identity(timeoutMs?: number): Promise<string>;
}

/** The command line that both kinds of components share. */
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
    // client-go puts this name into the User-Agent, and the API server names the field manager after it. It is the
    // only link from a LeaseCandidate to its process, because both kinds of components choose random identities.
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

/**
 * Adds the {@link ElectingComponent.identity} of a running component. `list` returns the LeaseCandidates of
 * kube-system.
 */
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

/** The fields of a LeaseCandidate that show who wrote it. */
export interface LeaseCandidateMetadata {
  readonly metadata: {
    readonly name: string;
    readonly managedFields?: readonly { readonly manager?: string }[];
  };
}
