/** Identifies a Lease as `namespace/name`. The Lease does not have to exist. */
export type LeaseKey = string;

export function leaseKey(namespace: string, name: string): LeaseKey {
  return `${namespace}/${name}`;
}

export function splitLeaseKey(key: LeaseKey): { readonly namespace: string; readonly name: string } {
  const slash = key.indexOf('/');
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}
