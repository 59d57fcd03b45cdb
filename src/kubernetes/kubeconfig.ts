import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import type { Cluster, Context, KubeConfig, User } from '@kubernetes/client-node';
import { withoutCredentials } from '../support/address.ts';
import { processEnvironment } from '../support/host.ts';
import { messageOf } from '../support/text.ts';
import { type ClusterConfig, ServiceAccountConfig } from './cluster-config.ts';
import {
  contentOf,
  isEmptyKubeconfig,
  type KubeConfigContent,
  readPlainKubeconfig,
  tokenFilesIn,
} from './plain-kubeconfig.ts';
import { readToken, StaticConfig, tokenFileOf, tokenFileProvider } from './static-config.ts';

/** Where to read the configuration. */
export interface KubeConfigSource {
  /** A file that the user named. No other source is read then. */
  readonly kubeconfig?: string | undefined;
  /** The context to use instead of the file's current one. */
  readonly context?: string | undefined;
  /** Default: the environment of the process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Where a pod's service account is mounted, for tests. */
  readonly serviceAccountDirectory?: string;
}

/** The configuration cannot be used. The message says what is wrong and what to do. */
export class KubeConfigError extends Error {
  override readonly name: string = 'KubeConfigError';
}

/** No configuration was found anywhere. */
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
 * Finds the cluster: in the given file, else in the files in $KUBECONFIG (merged; the first file that names something
 * wins), else in the pod's service account, else in ~/.kube/config. Throws {@link NoClusterError} when none of these
 * exists, and {@link KubeConfigError} when a configuration cannot be used.
 */
export function loadKubeConfig(source: KubeConfigSource = {}): ClusterConfig {
  const { kubeconfig, context, env = processEnvironment } = source;
  const { serviceAccountDirectory = SERVICE_ACCOUNT_DIRECTORY } = source;
  if (kubeconfig) return choose(readOnlyFile(kubeconfig), context, kubeconfig);

  const files = (env['KUBECONFIG'] ?? '').split(delimiter).filter((file) => file !== '');
  if (files.length > 0) return choose(merge(files), context, `KUBECONFIG=${files.join(delimiter)}`);

  const inCluster = ServiceAccountConfig.find(env, serviceAccountDirectory);
  if (inCluster) return onlyContextOf(inCluster, context);

  const homeFile = join(env['HOME'] || homedir(), '.kube', 'config');
  if (existsSync(homeFile)) return choose(readOnlyFile(homeFile), context, homeFile);
  throw new NoClusterError();
}

/** Loads client-node, only if {@link StaticConfig} is not enough: client-node needs a third of a second and over 40 MB. */
function newKubeConfig(): KubeConfig {
  const { KubeConfig: Class } = createRequire(import.meta.url)('@kubernetes/client-node') as {
    readonly KubeConfig: typeof KubeConfig;
  };
  return new Class();
}

function readOnlyFile(file: string): KubeConfigContent {
  const content = readFile(file);
  if (!content) throw new KubeConfigError(`The kubeconfig ${file} is empty: give one that names a cluster`);
  return content;
}

/** Returns undefined for an empty file. */
function readFile(file: string): KubeConfigContent | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new KubeConfigError(`Cannot read the kubeconfig ${file}: ${messageOf(error)}`, { cause: error });
  }
  const directory = dirname(file);
  const plain = readPlainKubeconfig(text, directory);
  if (plain) return plain;
  if (isEmptyKubeconfig(text)) return undefined;
  try {
    const kubeConfig = newKubeConfig();
    kubeConfig.loadFromString(text);
    kubeConfig.makePathsAbsolute(directory);
    kubeConfig.users = withTokenFiles(kubeConfig.users, tokenFilesIn(text, directory));
    return kubeConfig;
  } catch (error) {
    throw invalid(file, error);
  }
}

function withTokenFiles(users: readonly User[], files: ReadonlyMap<string, string>): User[] {
  return users.map((user) => {
    const file = files.get(user.name);
    return file === undefined || user.exec || user.authProvider
      ? user
      : { ...user, authProvider: tokenFileProvider(file) };
  });
}

/**
 * Returns an error that says what is wrong, and where. The library's message for a syntax error quotes the text around it,
 * which may contain tokens.
 */
function invalid(file: string, error: unknown): KubeConfigError {
  const what = `The kubeconfig ${file} is not valid`;
  if (!(error instanceof Error && 'reason' in error && 'mark' in error && error.mark))
    return new KubeConfigError(`${what}: ${messageOf(error)}`, { cause: error });
  const { line, column } = error.mark as { readonly line: number; readonly column: number };
  return new KubeConfigError(`${what}: ${String(error.reason)} (line ${line + 1}, column ${column + 1})`);
}

/** Merges files like kubectl: skips missing and empty files, and the first file that names something wins. */
function merge(files: readonly string[]): KubeConfigContent {
  const existing = files.filter((file) => existsSync(file));
  if (existing.length === 0) {
    throw new KubeConfigError(
      `KUBECONFIG names ${files.join(', ')}, which does not exist: correct it, unset it or give --kubeconfig FILE`,
    );
  }
  const parts = existing.map(readFile).filter((part) => part !== undefined);
  if (parts.length === 0) {
    throw new KubeConfigError(
      `KUBECONFIG names ${files.join(', ')}: all that exist are empty; correct it, unset it or give --kubeconfig FILE`,
    );
  }
  return contentOf({
    clusters: firstOfEachName(parts.flatMap((part) => part.getClusters())),
    users: firstOfEachName(parts.flatMap((part) => part.getUsers())),
    contexts: firstOfEachName(parts.flatMap((part) => part.getContexts())),
    current: parts.map((part) => part.getCurrentContext()).find((name) => name) ?? '',
  });
}

function firstOfEachName<T extends { readonly name: string }>(named: readonly T[]): T[] {
  return named.filter((one, index) => named.findIndex(({ name }) => name === one.name) === index);
}

function onlyContextOf(inCluster: ServiceAccountConfig, wanted: string | undefined): ServiceAccountConfig {
  const name = inCluster.getCurrentContext();
  if (!wanted || wanted === name) return inCluster;
  throw new KubeConfigError(`the pod's service account has no context ${wanted} (it has: ${name})`);
}

/** Chooses one context and checks that everything it refers to exists. */
function choose(kubeConfig: KubeConfigContent, wanted: string | undefined, origin: string): ClusterConfig {
  const contexts = kubeConfig.getContexts();
  const known = contexts.map(({ name }) => shown(name)).join(', ') || 'none';
  const name = wanted || kubeConfig.getCurrentContext();
  if (!name) {
    throw new KubeConfigError(
      `${origin} has no current context: choose one with --context (it has: ${known})`,
    );
  }
  const context = contexts.find((one) => one.name === name);
  if (!context) throw new KubeConfigError(`${origin} has no context ${shown(name)} (it has: ${known})`);
  const cluster = kubeConfig.getClusters().find((one) => one.name === context.cluster);
  if (!cluster) {
    throw new KubeConfigError(
      `${origin}: the context ${shown(name)} refers to the cluster ${shown(context.cluster)}, which is missing`,
    );
  }
  if (!/^https?:\/\//.test(cluster.server)) {
    throw new KubeConfigError(
      `${origin}: the server of the cluster ${shown(cluster.name)} is no http(s) URL: ${withoutCredentials(cluster.server)}`,
    );
  }
  const user = context.user
    ? kubeConfig.getUsers().find((one) => one.name === context.user)
    : { name: 'anonymous' };
  if (!user) {
    throw new KubeConfigError(
      `${origin}: the context ${shown(name)} refers to the user ${shown(context.user)}, which is missing`,
    );
  }
  // Without a user, client-node would omit the cluster's CA too.
  return assemble(cluster, user, { ...context, user: user.name });
}

/** Returns a name as text: the library accepts any YAML value as a name. */
function shown(name: unknown): string {
  return typeof name === 'string' ? name : '(no text)';
}

function assemble(cluster: Cluster, anyUser: User, context: Context): ClusterConfig {
  const user = withoutLoneKey(anyUser);
  if (StaticConfig.suffices(cluster, user)) return new StaticConfig(cluster, user, context);
  const kubeConfig = newKubeConfig();
  kubeConfig.loadFromOptions({
    clusters: [dataBeforeFile(cluster, 'caData', 'caFile')],
    users: [withOneToken(dataBeforeFile(dataBeforeFile(user, 'certData', 'certFile'), 'keyData', 'keyFile'))],
    contexts: [context],
    currentContext: context.name,
  });
  return kubeConfig;
}

/** Removes a key without a certificate: client-go does not use it. */
function withoutLoneKey(user: User): User {
  if (user.certFile || user.certData) return user;
  const { keyFile: _file, keyData: _data, ...others } = user;
  return others;
}

/** Removes the file if the data is set too: client-node would use the file, client-go uses the data. */
function dataBeforeFile<T extends object>(part: T, data: keyof T, file: keyof T): T {
  return part[data] ? { ...part, [file]: undefined } : part;
}

/** If a user has a token and a token file: client-node would use the token, client-go uses the file if it is readable. */
function withOneToken(user: User): User {
  const file = tokenFileOf(user);
  if (file === undefined || !user.token) return user;
  try {
    readToken(file);
    return { ...user, token: '' };
  } catch {
    return { ...user, authProvider: undefined };
  }
}
