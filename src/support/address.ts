/** Where a server listens. Port 0 takes any free port. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** `host:port` as URLs and people write it: an IPv6 address in brackets. */
export function hostAndPort(host: string, port: number | string): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** A URL as it may be told: without a name and a password, which some have in front of the host. */
export function withoutCredentials(url: string): string {
  return url.replace(/\/\/[^/]*@/, '//');
}
