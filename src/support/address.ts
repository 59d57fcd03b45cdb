import { once } from 'node:events';
import { type AddressInfo, isIP, type Server } from 'node:net';

/** The address on which a server listens. Port 0 selects any free port. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** Formats `host:port` as in a URL, with an IPv6 address in brackets. */
export function hostAndPort(host: string, port: number | string): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

export function withoutCredentials(url: string): string {
  return url.replace(/\/\/[^/]*@/, '//');
}

/** Top-level domains for hosts of the cluster, machine or local network. A public website has no name in these domains. */
const PRIVATE_DOMAINS = ['localhost', 'svc', 'local', 'internal'];

/**
 * Returns whether this server may answer a request with this Host header. Protects against DNS rebinding: a website
 * points its own domain at this server, so that a visitor's browser lets the website read the answers. A website's
 * domain is never an IP address, a name without a dot, or a name in a private domain, so only these hosts are allowed.
 */
export function isAllowedHost(host: string | undefined): boolean {
  if (host === undefined) return false;
  const name = host.replace(/:\d+$/, '').toLowerCase().replace(/\.$/, '');
  if (/^\[.*\]$/.test(name)) return isIP(name.slice(1, -1)) === 6;
  if (isIP(name) === 4) return true;
  const labels = name.split('.');
  if (!labels.every((label) => /^[a-z0-9_-]+$/.test(label))) return false;
  return labels.length === 1 || PRIVATE_DOMAINS.includes(labels.at(-1) ?? '');
}

/** Returns the error of a server that cannot listen on this address. Adds advice for common causes. */
export function listenError(error: Error, { host, port }: ListenAddress): Error {
  const reasons: Readonly<Record<string, string>> = {
    EADDRINUSE: 'address already in use; stop the program that listens there or choose another port',
    EACCES: 'not permitted; choose a port from 1024 up',
    EADDRNOTAVAIL: 'this machine has no such address; 0.0.0.0 stands for every address of this machine',
    ENOTFOUND: 'no such host; 0.0.0.0 stands for every address of this machine',
  };
  const where = hostAndPort(host, port);
  const reason = 'code' in error ? reasons[String(error.code)] : undefined;
  // If `reason` explains the error, omit the error of the system.
  return reason === undefined
    ? new Error(`cannot listen on ${where}`, { cause: error })
    : new Error(`cannot listen on ${where}: ${reason}`);
}

/**
 * Starts `server`. Resolves to its address, with the port that the system has selected for port 0. The caller must
 * handle later errors of the server, because an unhandled error ends the process.
 * @throws {Error} with the address, and with advice for common causes, if the server cannot listen on the address.
 */
export async function listenOn(server: Server, { host, port }: ListenAddress): Promise<ListenAddress> {
  server.listen(port, host);
  await once(server, 'listening').catch((error: Error) => {
    throw listenError(error, { host, port });
  });
  return { host, port: (server.address() as AddressInfo).port };
}
