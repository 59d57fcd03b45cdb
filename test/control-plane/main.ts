// Runs a control plane in the foreground, for manual tests: `node test/control-plane/main.ts --version 1.36.3
// [--no-gate]`.
import { parseArgs } from 'node:util';
import { type ControlPlaneOptions, startControlPlane } from './control-plane.ts';
import { defaultVersion, isKubernetesVersion, kubernetesVersions } from './kubernetes-versions.ts';

const usage = `usage: control-plane [--version VERSION] [--no-gate]
  --version VERSION  ${kubernetesVersions.join(', ')}; default ${defaultVersion}
  --no-gate          CoordinatedLeaderElection off: no LeaseCandidate API`;

/** The command line is invalid. The usage follows the message. */
class UsageError extends Error {
  constructor(problem: string, options?: ErrorOptions) {
    super(`${problem}\n${usage}`, options);
    this.name = 'UsageError';
  }
}

function parseArguments() {
  try {
    return parseArgs({
      allowNegative: true,
      options: {
        version: { type: 'string', default: defaultVersion },
        gate: { type: 'boolean', default: true },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
  } catch (cause) {
    throw new UsageError(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

function parseOptions(): ControlPlaneOptions | undefined {
  const { values } = parseArguments();
  if (values.help) return undefined;
  if (!isKubernetesVersion(values.version)) {
    throw new Error(
      `--version ${values.version} is not known: choose one of ${kubernetesVersions.join(', ')}`,
    );
  }
  return { version: values.version, coordinatedLeaderElection: values.gate };
}

/** Resolves at the first SIGINT or SIGTERM. Further signals have no effect. */
function untilAsked(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => resolve());
  });
}

async function main(): Promise<void> {
  const options = parseOptions();
  if (options === undefined) {
    console.log(usage);
    return;
  }
  const asked = untilAsked();
  console.log(`starting Kubernetes ${options.version} (the first time, it is built: that takes minutes)`);
  const plane = await startControlPlane(options);
  console.log(`ready at ${plane.url}, logs in ${plane.directory}

  export KUBECONFIG=${plane.kubeconfig}
  kubectl get leases,leasecandidates --all-namespaces

Ctrl-C stops it.`);
  const end = await Promise.race([asked, plane.apiServer.exited, plane.etcd.exited]);
  if (end !== undefined) console.error(`a server has ended by itself: ${JSON.stringify(end)}`);
  await plane.stop();
  process.exitCode = end === undefined ? 0 : 1;
}

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
