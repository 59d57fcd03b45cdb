import { readFileSync } from 'node:fs';
import type { RequestOptions } from 'node:https';

export interface Cluster {
  readonly name: string;
  readonly server: string;
  readonly caData?: string | undefined;
  readonly caFile?: string | undefined;
  readonly tlsServerName?: string | undefined;
  readonly skipTLSVerify: boolean;
  readonly proxyUrl?: string | undefined;
}

/** The fields of a kubeconfig's user that this project reads. A {@link ClusterConfig} authenticates with them. */
export interface User {
  readonly name: string;
  readonly certData?: string | undefined;
  readonly certFile?: string | undefined;
  readonly keyData?: string | undefined;
  readonly keyFile?: string | undefined;
  readonly token?: string | undefined;
  readonly tokenFile?: string | undefined;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly impersonateUser?: string | undefined;
  readonly exec?: { readonly command?: string } | undefined;
  readonly authProvider?: { readonly name: string; readonly config: object } | undefined;
}

export interface Context {
  readonly name: string;
  readonly cluster: string;
  readonly user: string;
  readonly namespace?: string | undefined;
}

/**
 * The server to which a client connects, and the user who authenticates. A `KubeConfig` of client-node has this type.
 * The type does not import client-node, because programs that use this package may lack the types of client-node's
 * dependencies.
 */
export interface ClusterConfig {
  getCurrentCluster(): Cluster | null;
  getCurrentUser(): Pick<User, 'name' | 'exec'> | null;
  getCurrentContext(): string;
  getContextObject(name: string): Context | null;
  /** Adds the TLS material and the credentials (headers, or user name and password) to the options of a request. */
  applyToHTTPSOptions(options: RequestOptions): Promise<void>;
}

/** Returns the namespace of the current context; `default` if the context has none. */
export function namespaceOf(config: ClusterConfig): string {
  return config.getContextObject(config.getCurrentContext())?.namespace || 'default';
}

/**
 * The configuration of a user whose credentials are in the kubeconfig or in files. For a user with a credential plugin,
 * `kubeconfig.ts` uses client-node instead.
 */
export class StaticConfig implements ClusterConfig {
  readonly #parts: { readonly cluster: Cluster; readonly user: User; readonly context: Context };
  /** The last token from the token file. The client uses this token while the file is unreadable or empty. */
  #tokenOfFile: string | undefined;

  constructor(cluster: Cluster, user: User, context: Context) {
    this.#parts = { cluster, user, context };
  }

  getCurrentCluster(): Cluster {
    return this.#parts.cluster;
  }

  getCurrentUser(): User {
    return this.#parts.user;
  }

  getCurrentContext(): string {
    return this.#parts.context.name;
  }

  getContextObject(name: string): Context | null {
    return name === this.#parts.context.name ? this.#parts.context : null;
  }

  /** Reads the files each time, because another program may replace them. */
  async applyToHTTPSOptions(options: RequestOptions): Promise<void> {
    const { caFile, caData, skipTLSVerify, tlsServerName } = this.#parts.cluster;
    const { certFile, certData, keyFile, keyData, username, password, impersonateUser } = this.#parts.user;
    const token = this.#token();
    Object.assign(options, {
      ...(skipTLSVerify && { rejectUnauthorized: false }),
      ...(tlsServerName && { servername: tlsServerName }),
      ...material('ca', caFile, caData),
      ...material('cert', certFile, certData),
      ...material('key', keyFile, keyData),
      ...(username && { auth: `${username}:${password ?? ''}` }),
    });
    options.headers = {
      ...options.headers,
      ...(impersonateUser && { 'Impersonate-User': impersonateUser }),
      ...(token && { Authorization: `Bearer ${token}` }),
    };
  }

  /**
   * Like client-go, returns the token in the token file, else the last token from this file, else the token in the
   * kubeconfig. If none of them exists: throws if the user has a token file, otherwise returns undefined.
   */
  #token(): string | undefined {
    const { token, tokenFile } = this.#parts.user;
    if (!tokenFile) return token;
    try {
      this.#tokenOfFile = readToken(tokenFile);
    } catch (error) {
      if (this.#tokenOfFile === undefined && !token) throw error;
    }
    return this.#tokenOfFile ?? token;
  }
}

/** Returns one TLS option: the decoded `data` if set, otherwise the content of `file`. Returns {} if neither is set. */
function material(
  option: 'ca' | 'cert' | 'key',
  file: string | undefined,
  data: string | undefined,
): Pick<RequestOptions, typeof option> {
  if (data) return { [option]: Buffer.from(data, 'base64') };
  return file ? { [option]: readFileSync(file) } : {};
}

/** @throws {Error} if the file contains no token or cannot be read. */
function readToken(file: string): string {
  const token = readFileSync(file, 'utf8').trim();
  if (token === '') throw new Error(`the file ${file} has no token`);
  return token;
}
