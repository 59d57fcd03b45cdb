import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import type * as ClientNode from '@kubernetes/client-node';
import { hostAndPort, withoutCredentials } from '../support/address.ts';
import { type Environment, processEnvironment } from '../support/host.ts';
import { messageOf } from '../support/text.ts';
import { type Cluster, type ClusterConfig, type Context, StaticConfig, type User } from './cluster-config.ts';
import { type Kubeconfig, parseKubeconfig } from './kubeconfig-file.ts';

export interface KubeConfigSource {
  /** The path of a kubeconfig. It replaces all other sources: $KUBECONFIG, a pod's service account, ~/.kube/config. */
  readonly kubeconfig?: string | undefined;
  /** The context to use instead of the current context. */
  readonly context?: string | undefined;
  /** The environment variables. Default: those of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** The directory with the pod's service account. Only tests set it. */
  readonly serviceAccountDirectory?: string;
}

/** The configuration cannot be used. The message says why. */
export class KubeConfigError extends Error {
  override readonly name: string = 'KubeConfigError';
}

export class NoClusterError extends KubeConfigError {
  override readonly name = 'NoClusterError';

  constructor() {
    super(
      'No cluster to talk to: give --kubeconfig FILE or set KUBECONFIG, or run in a pod that has a service account ' +
        '(there is no ~/.kube/config either); the demo command needs none',
    );
  }
}

const SERVICE_ACCOUNT_DIRECTORY = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * Reads the configuration from the first of these sources that is set or exists: the given file; the files in
 * $KUBECONFIG; the pod's service account; ~/.kube/config. If two clusters, users or contexts have the same name, the
 * first counts. Throws {@link NoClusterError} if no source exists, and {@link KubeConfigError} for an unusable source.
 */
export function loadKubeConfig(source: KubeConfigSource = {}): ClusterConfig {
  const { kubeconfig, context, env = processEnvironment } = source;
  const { serviceAccountDirectory = SERVICE_ACCOUNT_DIRECTORY } = source;
  if (kubeconfig) return choose(readOnlyFile(kubeconfig), context, kubeconfig);

  const files = (env['KUBECONFIG'] ?? '').split(delimiter).filter((file) => file !== '');
  if (files.length > 0) return choose(merge(files), context, `KUBECONFIG=${files.join(delimiter)}`);

  const inCluster = findServiceAccount(env, serviceAccountDirectory);
  if (inCluster) {
    if (!context || context === IN_CLUSTER) return inCluster;
    throw new KubeConfigError(`the pod's service account has no context ${context} (it has: ${IN_CLUSTER})`);
  }

  const homeFile = join(env['HOME'] || homedir(), '.kube', 'config');
  if (existsSync(homeFile)) return choose(readOnlyFile(homeFile), context, homeFile);
  throw new NoClusterError();
}

function readOnlyFile(file: string): Kubeconfig {
  const content = readFile(file);
  if (!content) throw new KubeConfigError(`The kubeconfig ${file} is empty: use a kubeconfig with a cluster`);
  return content;
}

/** Reads one kubeconfig. Returns undefined for an empty file. */
function readFile(file: string): Kubeconfig | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new KubeConfigError(`Cannot read the kubeconfig ${file}: ${messageOf(error)}`, { cause: error });
  }
  try {
    return parseKubeconfig(text, dirname(file));
  } catch (error) {
    throw new KubeConfigError(`The kubeconfig ${file} is not valid: ${messageOf(error)}`, { cause: error });
  }
}

/** Merges files. Skips missing and empty files, like kubectl. Unlike kubectl, throws if none is left. */
function merge(files: readonly string[]): Kubeconfig {
  const refuse = (problem: string) =>
    new KubeConfigError(`KUBECONFIG names ${files.join(', ')}${problem}, unset it or give --kubeconfig FILE`);
  const existing = files.filter((file) => existsSync(file));
  const isOne = files.length === 1;
  if (existing.length === 0)
    throw refuse(`, ${isOne ? 'which does not exist' : 'and none of them exists'}: correct it`);
  const parts = existing.map(readFile).filter((part) => part !== undefined);
  if (parts.length === 0)
    throw refuse(`, ${isOne ? 'which is empty' : 'and those that exist are empty'}: correct it`);
  return {
    clusters: parts.flatMap(({ clusters }) => clusters),
    users: parts.flatMap(({ users }) => users),
    contexts: parts.flatMap(({ contexts }) => contexts),
    currentContext: parts.map(({ currentContext }) => currentContext).find((name) => name) ?? '',
  };
}

/** Chooses a context, and finds its cluster and user. If several entries have the same name, the first counts. */
function choose(
  { clusters, users, contexts, currentContext }: Kubeconfig,
  wanted: string | undefined,
  origin: string,
): ClusterConfig {
  const refuse = (problem: string): never => {
    throw new KubeConfigError(`${origin}${problem}`);
  };
  const known = [...new Set(contexts.map((one) => one.name))].join(', ') || 'none';
  const name =
    wanted ||
    currentContext ||
    refuse(` has no current context: choose one with --context (it has: ${known})`);
  const context =
    contexts.find((one) => one.name === name) ?? refuse(` has no context ${name} (it has: ${known})`);
  const refersTo = `: the context ${name} refers to the`;
  const cluster =
    clusters.find((one) => one.name === context.cluster) ??
    refuse(`${refersTo} cluster ${context.cluster}, which is missing`);
  if (!/^https?:\/\//.test(cluster.server)) {
    const server = withoutCredentials(cluster.server);
    refuse(`: the server of the cluster ${cluster.name} is no http(s) URL: ${server}`);
  }
  const user = context.user ? users.find((one) => one.name === context.user) : { name: 'anonymous' };
  if (!user) return refuse(`${refersTo} user ${context.user}, which is missing`);
  return configOf(cluster, user, { ...context, user: user.name });
}

function configOf(cluster: Cluster, user: User, context: Context): ClusterConfig {
  if (!user.exec && !user.authProvider) return new StaticConfig(cluster, user, context);
  const { KubeConfig } = loadClientNode(user);
  const kubeConfig = new KubeConfig();
  kubeConfig.loadFromOptions({
    clusters: [cluster],
    users: [user],
    contexts: [context],
    currentContext: context.name,
  });
  return kubeConfig;
}

/**
 * Loads client-node. Call this only for a user with a credential plugin or an auth provider: loading takes 0.3 s and
 * 70 MiB. Throws if client-node is not installed. The package for participants does not install it.
 */
function loadClientNode(user: User): typeof ClientNode {
  const name = '@kubernetes/client-node';
  try {
    return createRequire(import.meta.url)(name) as typeof ClientNode;
  } catch (error) {
    throw new KubeConfigError(
      `The user ${user.name} of the kubeconfig needs a credential plugin, and ${name} runs it: npm install ${name}`,
      { cause: error },
    );
  }
}

const IN_CLUSTER = 'in-cluster';

/** The cluster of the pod in which this process runs, and the pod's service account. */
class ServiceAccountConfig extends StaticConfig {}

/** Returns the configuration of this pod's service account; undefined outside a pod, or if no account is mounted. */
function findServiceAccount(env: Environment, directory: string): ServiceAccountConfig | undefined {
  const host = env['KUBERNETES_SERVICE_HOST'];
  const port = env['KUBERNETES_SERVICE_PORT'];
  const tokenFile = join(directory, 'token');
  const caFile = join(directory, 'ca.crt');
  if (!host || !port || !existsSync(tokenFile) || !existsSync(caFile)) return undefined;
  const name = IN_CLUSTER;
  const server = `https://${hostAndPort(host, port)}`;
  const namespaceFile = join(directory, 'namespace');
  const namespace = existsSync(namespaceFile) ? readFileSync(namespaceFile, 'utf8').trim() : '';
  return new ServiceAccountConfig(
    { name, server, caFile, skipTLSVerify: false },
    { name, tokenFile },
    { name, cluster: name, user: name, namespace: namespace || undefined },
  );
}

/** Returns the namespace of this pod, if known. Undefined for a kubeconfig, which may be for another cluster. */
export function podNamespaceOf(config: ClusterConfig): string | undefined {
  return config instanceof ServiceAccountConfig ? config.getContextObject(IN_CLUSTER)?.namespace : undefined;
}
