import { isIP } from 'node:net';

/** Domains that nobody can register: what ends like this is a name of the cluster's, the machine's or the network's own. */
const PRIVATE_DOMAINS = ['localhost', 'svc', 'local', 'internal'];

/**
 * Whether a request's Host header names this server in a way that no website can bring about.
 *
 * Any website may let its own name lead to an address that its reader's browser can reach, this server's among them, and
 * would then be let read everything as if it came from there. Addresses, names without a dot and names of private domains
 * are nothing that a website could be called.
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
