import { createRequire } from 'node:module';
import { isAbsolute, join } from 'node:path';
import type { Cluster, Context, User } from '@kubernetes/client-node';
import type * as Yaml from 'yaml';
import { isJsonObject, type JsonObject, parseJsonObject } from '../support/json.ts';
import { tokenFileProvider } from './static-config.ts';

/** The content of a kubeconfig. A `KubeConfig` of client-node is one. */
export interface KubeConfigContent {
  getClusters(): Cluster[];
  getUsers(): User[];
  getContexts(): Context[];
  getCurrentContext(): string;
}

/**
 * Reads a kubeconfig that contains only the usual fields: servers and their certificates, tokens and certificates of users.
 * Returns undefined for any other kubeconfig, and for an invalid one: client-node reads them all, and reports errors.
 */
export function readPlainKubeconfig(text: string, directory: string): KubeConfigContent | undefined {
  try {
    const content: unknown = parseJsonObject(text) ?? parseYaml(text);
    if (!isJsonObject(content)) return undefined;
    const clusters = each(content, 'clusters', (entry) => clusterOf(entry, directory));
    const users = each(content, 'users', (entry) => userOf(entry, directory));
    const contexts = each(content, 'contexts', contextOf);
    const current = optionalText(content, 'current-context') ?? '';
    return contentOf({ clusters, users, contexts, current });
  } catch (error) {
    if (error instanceof Unusual) return undefined;
    throw error;
  }
}

/** True when the file has no content except comments. */
export function isEmptyKubeconfig(text: string): boolean {
  try {
    return text.trim() === '' || parseYaml(text) === null;
  } catch {
    return false;
  }
}

/** Returns the token files of users, by user name. client-node does not support token files. */
export function tokenFilesIn(text: string, directory: string): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  try {
    const content: unknown = parseJsonObject(text) ?? parseYaml(text);
    const users = isJsonObject(content) ? content['users'] : undefined;
    for (const entry of Array.isArray(users) ? users : []) {
      if (!isJsonObject(entry) || !isJsonObject(entry['user'])) continue;
      const file = fileOf(entry['user'], 'tokenFile', directory);
      if (file && typeof entry['name'] === 'string' && !files.has(entry['name']))
        files.set(entry['name'], file);
    }
  } catch (error) {
    if (!(error instanceof Unusual)) throw error;
  }
  return files;
}

/** Parses YAML. Loads the parser on demand, because most programs that run in a pod have no kubeconfig. */
function parseYaml(text: string): unknown {
  const { parse } = createRequire(import.meta.url)('yaml') as typeof Yaml;
  try {
    return parse(text, { logLevel: 'error' });
  } catch (cause) {
    // Some errors are no YAMLParseError: an alias without an anchor is a ReferenceError.
    throw new Unusual('not valid', { cause });
  }
}

export function contentOf(parts: {
  readonly clusters: Cluster[];
  readonly users: User[];
  readonly contexts: Context[];
  readonly current: string;
}): KubeConfigContent {
  return {
    getClusters: () => parts.clusters,
    getUsers: () => parts.users,
    getContexts: () => parts.contexts,
    getCurrentContext: () => parts.current,
  };
}

/** A kubeconfig that only client-node can read, or that is not valid. */
class Unusual extends Error {}

/** Fields that have no effect on how to connect. */
const IGNORED = ['extensions', 'disable-compression'];

function each<T>(content: JsonObject, field: string, read: (entry: JsonObject) => T): T[] {
  const entries = content[field] ?? [];
  if (!Array.isArray(entries)) throw new Unusual();
  return entries.map((entry: unknown) => {
    if (!isJsonObject(entry)) throw new Unusual();
    return read(entry);
  });
}

function clusterOf(entry: JsonObject, directory: string): Cluster {
  const name = textOf(entry, 'name');
  const cluster = partOf(entry, 'cluster', [
    'server',
    'certificate-authority',
    'certificate-authority-data',
    'insecure-skip-tls-verify',
    'tls-server-name',
  ]);
  const caFile = fileOf(cluster, 'certificate-authority', directory);
  const caData = optionalText(cluster, 'certificate-authority-data');
  const tlsServerName = optionalText(cluster, 'tls-server-name');
  return {
    name,
    server: textOf(cluster, 'server').replace(/\/$/, ''),
    skipTLSVerify: cluster['insecure-skip-tls-verify'] === true,
    ...(caFile !== undefined && { caFile }),
    ...(caData !== undefined && { caData }),
    ...(tlsServerName !== undefined && { tlsServerName }),
  };
}

function userOf(entry: JsonObject, directory: string): User {
  const name = textOf(entry, 'name');
  const user = partOf(entry, 'user', [
    'token',
    'tokenFile',
    'client-certificate',
    'client-certificate-data',
    'client-key',
    'client-key-data',
  ]);
  const token = optionalText(user, 'token');
  const tokenFile = fileOf(user, 'tokenFile', directory);
  const certFile = fileOf(user, 'client-certificate', directory);
  const keyFile = fileOf(user, 'client-key', directory);
  const certData = optionalText(user, 'client-certificate-data');
  const keyData = optionalText(user, 'client-key-data');
  return {
    name,
    ...(token !== undefined && { token }),
    ...(tokenFile && { authProvider: tokenFileProvider(tokenFile) }),
    ...(certFile !== undefined && { certFile }),
    ...(certData !== undefined && { certData }),
    ...(keyFile !== undefined && { keyFile }),
    ...(keyData !== undefined && { keyData }),
  };
}

function contextOf(entry: JsonObject): Context {
  const name = textOf(entry, 'name');
  const context = partOf(entry, 'context', ['cluster', 'user', 'namespace']);
  const namespace = optionalText(context, 'namespace');
  const user = optionalText(context, 'user') ?? '';
  return { name, cluster: textOf(context, 'cluster'), user, ...(namespace && { namespace }) };
}

function partOf(entry: JsonObject, field: string, known: readonly string[]): JsonObject {
  const part = entry[field];
  if (!isJsonObject(part)) throw new Unusual();
  if (Object.keys(part).some((key) => !known.includes(key) && !IGNORED.includes(key))) throw new Unusual();
  return part;
}

function textOf(fields: JsonObject, field: string): string {
  const text = optionalText(fields, field);
  if (!text) throw new Unusual();
  return text;
}

function optionalText(fields: JsonObject, field: string): string | undefined {
  const value = fields[field];
  if (value !== undefined && typeof value !== 'string') throw new Unusual();
  return value;
}

function fileOf(fields: JsonObject, field: string, directory: string): string | undefined {
  const file = optionalText(fields, field);
  return !file || isAbsolute(file) ? file : join(directory, file);
}
