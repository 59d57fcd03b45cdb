import { once } from 'node:events';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { hostAndPort } from '../support/address.ts';

/** Maximum time in ms without data from the proxy while a connection opens. Also limits the whole SOCKS handshake. */
const TIMEOUT_MS = 10_000;

const DEFAULT_PORTS: Readonly<Record<string, number>> = {
  'http:': 80,
  'https:': 443,
  'socks5:': 1080,
  'socks5h:': 1080,
};

/** Opens connections through a proxy: HTTP (CONNECT) or SOCKS5. The proxy resolves the names of hosts. */
export class ProxyTunnels {
  readonly #proxy: URL;
  readonly #address: { readonly host: string; readonly port: number };
  readonly #opening = new Set<Socket>();

  constructor(proxyUrl: string) {
    this.#proxy = new URL(proxyUrl);
    const { protocol, hostname, port } = this.#proxy;
    const defaultPort = DEFAULT_PORTS[protocol];
    if (defaultPort === undefined) {
      throw new Error(
        `the cluster's proxy-url ${protocol}// is not supported: use http://, https:// or socks5://`,
      );
    }
    // Remove the brackets of an IPv6 address, because connect() does not accept them.
    this.#address = { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || defaultPort) };
  }

  async open(host: string, port: number): Promise<Socket> {
    const { protocol } = this.#proxy;
    const isTls = protocol === 'https:';
    const socket = isTls
      ? connectTls({ ...this.#address, servername: this.#address.host })
      : connect(this.#address);
    const timeOut = () => socket.destroy(new Error('the proxy does not answer'));
    // Each step below has its own listener for errors. This listener prevents an uncaught error between two steps.
    const ignore = () => {};
    socket.setTimeout(TIMEOUT_MS, timeOut).on('error', ignore);
    this.#opening.add(socket);
    try {
      await once(socket, isTls ? 'secureConnect' : 'connect');
      if (protocol.startsWith('socks')) await this.#askSocks(socket, host, port);
      else await this.#askHttp(socket, host, port);
      socket.setTimeout(0).off('timeout', timeOut).off('error', ignore);
      return socket;
    } catch (error) {
      socket.destroy();
      throw error;
    } finally {
      this.#opening.delete(socket);
    }
  }

  cut(): void {
    for (const socket of this.#opening) socket.destroy(new Error('closed'));
  }

  async #askHttp(socket: Socket, host: string, port: number): Promise<void> {
    const { username, password } = this.#proxyUser();
    const path = hostAndPort(host, port);
    const credentials = Buffer.from(`${username}:${password}`).toString('base64');
    const headers = { host: path, ...(username && { 'proxy-authorization': `Basic ${credentials}` }) };
    const call = request({ createConnection: () => socket, method: 'CONNECT', path, headers }).end();
    const [{ statusCode }] = await once(call, 'connect');
    if (statusCode !== 200) throw new Error(`the proxy answered ${statusCode} to CONNECT ${path}`);
  }

  async #askSocks(socket: Socket, host: string, port: number): Promise<void> {
    // Load the package `socks` only when it is needed: few clusters have a SOCKS proxy.
    const { SocksClient } = await import('socks');
    if (socket.errored) throw socket.errored;
    const { username, password } = this.#proxyUser();
    await SocksClient.createConnection({
      command: 'connect',
      existing_socket: socket,
      proxy: { ...this.#address, type: 5, userId: username, password },
      destination: { host, port },
      timeout: TIMEOUT_MS,
    });
  }

  #proxyUser() {
    const { username, password } = this.#proxy;
    return { username: decodeURIComponent(username), password: decodeURIComponent(password) };
  }
}
