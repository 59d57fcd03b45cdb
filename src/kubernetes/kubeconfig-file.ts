import { createRequire } from 'node:module';
import { isAbsolute, join } from 'node:path';
import type * as Yaml from 'yaml';
import { isJsonObject, type JsonObject, parseJsonObject } from '../support/json.ts';
import type { Cluster, Context, User } from './cluster-config.ts';

export interface Kubeconfig {
  readonly clusters: readonly Cluster[];
  readonly users: readonly User[];
  readonly contexts: readonly Context[];
  readonly currentContext: string;
}

/**
 * Parses the fields of a kubeconfig that this project uses. Stricter than client-go: throws if any entry is incomplete,
 * even an unused one. Does not use client-node, which takes 0.3 s and 70 MiB to load. Resolves relative paths from
 * `directory`. Returns undefined if the text is empty except for comments. The errors that it throws do not quote the
 * text, because the text may contain tokens.
 */
export function parseKubeconfig(text: string, directory: string): Kubeconfig | undefined {
  const content = parseJsonObject(text) ?? parseYaml(text);
  if (content === null) return undefined;
  if (!isJsonObject(content)) throw new Error('it is not an object');
  const config = new Section(content, '', directory);
  return {
    clusters: config.list('clusters').map(clusterOf),
    users: config.list('users').map(userOf),
    contexts: config.list('contexts').map(contextOf),
    currentContext: config.text('current-context') ?? '',
  };
}

/** Parses YAML. Loads the parser only now, because most programs in a pod have no kubeconfig. */
function parseYaml(text: string): unknown {
  const { parse, YAMLParseError } = createRequire(import.meta.url)('yaml') as typeof Yaml;
  let position = '';
  try {
    return parse(text, { merge: true, logLevel: 'error' });
  } catch (error) {
    const [at] = (error instanceof YAMLParseError && error.linePos) || [];
    if (at) position = ` at line ${at.line}, column ${at.col}`;
  }
  // Throw a new error without a cause: the parser's message may quote the text, which may contain tokens.
  throw new Error(`it is no YAML${position}`);
}

function clusterOf(entry: Section): Cluster {
  const cluster = entry.section('cluster');
  const ca = cluster.material('certificate-authority');
  return {
    name: entry.requiredText('name'),
    server: cluster.requiredText('server').replace(/\/$/, ''),
    skipTLSVerify: cluster.fields['insecure-skip-tls-verify'] === true,
    caData: ca.data,
    caFile: ca.file,
    tlsServerName: cluster.text('tls-server-name'),
    proxyUrl: cluster.text('proxy-url'),
  };
}

function userOf(entry: Section): User {
  const user = entry.section('user', {});
  const certificate = user.material('client-certificate');
  // client-go ignores a key without a certificate.
  const key = certificate.data || certificate.file ? user.material('client-key') : {};
  const provider = user.optionalSection('auth-provider');
  return {
    name: entry.requiredText('name'),
    certData: certificate.data,
    certFile: certificate.file,
    keyData: key.data,
    keyFile: key.file,
    token: user.text('token'),
    tokenFile: user.file('tokenFile'),
    username: user.text('username'),
    password: user.text('password'),
    impersonateUser: user.text('as'),
    exec: user.optionalSection('exec')?.fields,
    authProvider: provider && {
      name: provider.requiredText('name'),
      config: provider.section('config', {}).fields,
    },
  };
}

function contextOf(entry: Section): Context {
  const context = entry.section('context');
  return {
    name: entry.requiredText('name'),
    cluster: context.requiredText('cluster'),
    user: context.text('user') ?? '',
    namespace: context.text('namespace') || undefined,
  };
}

/**
 * An object in a kubeconfig. If a required field is missing, or a field has the wrong type, the methods throw an error
 * with the path of this field.
 */
class Section {
  readonly fields: JsonObject;
  readonly #path: string;
  readonly #directory: string;

  constructor(fields: unknown, path: string, directory: string) {
    if (!isJsonObject(fields)) throw new Error(`${path} is not an object`);
    this.fields = fields;
    this.#path = path;
    this.#directory = directory;
  }

  list(field: string): readonly Section[] {
    const entries = this.fields[field] ?? [];
    if (!Array.isArray(entries)) throw new Error(`${this.#at(field)} is not a list`);
    return entries.map((entry, index) => new Section(entry, `${this.#at(field)}[${index}]`, this.#directory));
  }

  section(field: string, whenMissing?: JsonObject): Section {
    const value = this.fields[field] ?? whenMissing ?? this.#missing(field);
    return new Section(value, this.#at(field), this.#directory);
  }

  optionalSection(field: string): Section | undefined {
    return (this.fields[field] ?? undefined) === undefined ? undefined : this.section(field);
  }

  text(field: string): string | undefined {
    const value = this.fields[field] ?? undefined;
    if (value !== undefined && typeof value !== 'string') throw new Error(`${this.#at(field)} is not a text`);
    return value;
  }

  requiredText(field: string): string {
    return this.text(field) || this.#missing(field);
  }

  file(field: string): string | undefined {
    const file = this.text(field);
    return !file || isAbsolute(file) ? file || undefined : join(this.#directory, file);
  }

  /** Returns the data in `<field>-data` if set, otherwise the path of the file that `field` names. */
  material(field: string): { readonly data?: string | undefined; readonly file?: string | undefined } {
    const data = this.text(`${field}-data`);
    return data ? { data } : { file: this.file(field) };
  }

  #at(field: string): string {
    return this.#path === '' ? field : `${this.#path}.${field}`;
  }

  #missing(field: string): never {
    throw new Error(`${this.#at(field)} is missing`);
  }
}
