/** The key of a reconcile: the namespace and name of a Lease, existing or not, as `namespace/name`. */
export type LeaseKey = string;

export function leaseKey(namespace: string, name: string): LeaseKey {
  return `${namespace}/${name}`;
}

export function splitLeaseKey(key: LeaseKey): { readonly namespace: string; readonly name: string } {
  const slash = key.indexOf('/');
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}
