import { generateKeyPairSync } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { defaultVersion, type KubernetesVersion, leaseCandidateVersions } from './kubernetes-versions.ts';

/** The options of a kube-apiserver. */
export interface ApiServerOptions {
  /** Default {@link defaultVersion}. */
  readonly version?: KubernetesVersion;
  /** Whether the feature gate is on, and with it the built-in coordinator and the LeaseCandidate API; default true. */
  readonly coordinatedLeaderElection?: boolean;
  /**
   * Values of --runtime-config, like `coordination.k8s.io/v1alpha2=true`; default: the storage version of the
   * LeaseCandidate API.
   */
  readonly runtimeConfig?: readonly string[];
  /**
   * Whether pods get the token of their ServiceAccount, which must exist: a kube-controller-manager creates the
   * default ones. Default false.
   */
  readonly admitsServiceAccounts?: boolean;
  readonly extraApiServerArgs?: readonly string[];
}

/** The files and ports of a kube-apiserver. */
export interface ApiServerPlace {
  /** The folder in which `writeServerCredentials` has written. */
  readonly directory: string;
  readonly port: number;
  readonly etcdUrl: string;
}

/** Writes the credentials for kube-apiservers. `tokens` are lines of a token file. */
export async function writeServerCredentials(directory: string, tokens: readonly string[]): Promise<void> {
  const mode = 0o600;
  await writeFile(join(directory, 'tokens.csv'), `${tokens.join('\n')}\n`, { mode });
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const key = privateKey.export({ type: 'sec1', format: 'pem' });
  await writeFile(join(directory, 'service-account.key'), key, { mode });
  await writeFile(join(directory, 'service-account.pub'), publicKey.export({ type: 'spki', format: 'pem' }));
}

/** The command line of a single-node etcd. */
export function etcdArgs(place: {
  readonly dataDirectory: string;
  readonly url: string;
  readonly peerUrl: string;
}): string[] {
  const { dataDirectory, url, peerUrl } = place;
  return [
    `--data-dir=${dataDirectory}`,
    `--listen-client-urls=${url}`,
    `--advertise-client-urls=${url}`,
    `--listen-peer-urls=${peerUrl}`,
    `--initial-advertise-peer-urls=${peerUrl}`,
    `--initial-cluster=default=${peerUrl}`,
    // Data that is lost in a crash of the machine does not matter for tests, and disks of CI machines are slow.
    '--unsafe-no-fsync',
  ];
}

/** The command line of a kube-apiserver. */
export function apiServerArgs(options: ApiServerOptions & ApiServerPlace): string[] {
  const { directory, port, etcdUrl } = options;
  return [
    `--etcd-servers=${etcdUrl}`,
    '--bind-address=127.0.0.1',
    '--advertise-address=127.0.0.1',
    `--secure-port=${port}`,
    // The server writes its self-signed certificate, apiserver.crt, here. A restart uses it again.
    `--cert-dir=${directory}`,
    // Endpoints must not be loopback addresses: the server would log errors for ever.
    '--endpoint-reconciler-type=none',
    `--token-auth-file=${join(directory, 'tokens.csv')}`,
    '--authorization-mode=RBAC',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${join(directory, 'service-account.pub')}`,
    `--service-account-signing-key-file=${join(directory, 'service-account.key')}`,
    '--service-cluster-ip-range=10.0.0.0/24',
    // Without a kube-controller-manager, the ServiceAccounts for which the plugin waits are never created.
    ...(options.admitsServiceAccounts ? [] : ['--disable-admission-plugins=ServiceAccount']),
    ...coordinationArgs(options),
    ...(options.extraApiServerArgs ?? []),
  ];
}

function coordinationArgs(options: ApiServerOptions): string[] {
  const { version = defaultVersion, coordinatedLeaderElection = true } = options;
  const [stored] = leaseCandidateVersions[version];
  const runtimeConfig =
    options.runtimeConfig ?? (coordinatedLeaderElection ? [`coordination.k8s.io/${stored}=true`] : []);
  return [
    `--feature-gates=CoordinatedLeaderElection=${coordinatedLeaderElection}`,
    ...(runtimeConfig.length > 0 ? [`--runtime-config=${runtimeConfig.join(',')}`] : []),
  ];
}
