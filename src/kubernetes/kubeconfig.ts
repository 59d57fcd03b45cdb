import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import type { Cluster, Context, KubeConfig, User } from '@kubernetes/client-node';
import { withoutCredentials } from '../support/address.ts';
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

/** Where the configuration is to come from. */
export interface KubeConfigSource {
  /** A file that was asked for by name; nothing else is then looked at. */
  readonly kubeconfig?: string | undefined;
  /** The context to use instead of the file's current one. */
  readonly context?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where a pod's service account is mounted, for tests. */
  readonly serviceAccountDirectory?: string;
}

/** The configuration that was found cannot be used; the message says what is wrong and what to do. */
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
 * Finds the cluster to talk to: the file given, else the files in $KUBECONFIG (merged; the first to name something
 * wins), else the pod's service account, else ~/.kube/config. Throws {@link NoClusterError} where there is none of
 * these, {@link KubeConfigError} where what there is cannot be used.
 */
export function loadKubeConfig(source: KubeConfigSource): ClusterConfig {
  const { kubeconfig, context, env, serviceAccountDirectory = SERVICE_ACCOUNT_DIRECTORY } = source;
  if (kubeconfig) return choose(readOnlyFile(kubeconfig), context, kubeconfig);

  const files = (env['KUBECONFIG'] ?? '').split(delimiter).filter((file) => file !== '');
  if (files.length > 0) return choose(merge(files), context, `KUBECONFIG=${files.join(delimiter)}`);

  const inCluster = ServiceAccountConfig.find(env, serviceAccountDirectory);
  if (inCluster) return onlyContextOf(inCluster, context);

  const homeFile = join(env['HOME'] || homedir(), '.kube', 'config');
  if (existsSync(homeFile)) return choose(readOnlyFile(homeFile), context, homeFile);
  throw new NoClusterError();
}

/** client-node is loaded only where it takes more than {@link StaticConfig}: it needs a third of a second, and over 40 MB. */
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

/** Undefined: there is nothing in it. */
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

/** Says what is wrong, and where: what the library says of a syntax error has the text around it, tokens and all. */
function invalid(file: string, error: unknown): KubeConfigError {
  const what = `The kubeconfig ${file} is not valid`;
  if (!(error instanceof Error && 'reason' in error && 'mark' in error && error.mark))
    return new KubeConfigError(`${what}: ${messageOf(error)}`, { cause: error });
  const { line, column } = error.mark as { readonly line: number; readonly column: number };
  return new KubeConfigError(`${what}: ${String(error.reason)} (line ${line + 1}, column ${column + 1})`);
}

/** As kubectl does it: files that are missing or empty are passed over, and the first to name something wins. */
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

/** Settles on one context and makes sure of all that it refers to. */
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
  // With no user at all client-node would leave out the cluster's CA too.
  return assemble(cluster, user, { ...context, user: user.name });
}

/** The library takes whatever stands in the place of a name: YAML may have anything there. */
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

/** client-go takes no key that has no certificate. */
function withoutLoneKey(user: User): User {
  if (user.certFile || user.certData) return user;
  const { keyFile: _file, keyData: _data, ...others } = user;
  return others;
}

/** client-node takes the file where there are both; client-go takes the data. */
function dataBeforeFile<T extends object>(part: T, data: keyof T, file: keyof T): T {
  return part[data] ? { ...part, [file]: undefined } : part;
}

/** client-node takes the token in the kubeconfig where there are both; client-go takes that of the file, if it can be read. */
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
