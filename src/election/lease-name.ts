const LONGEST_NAME = 253;
const DNS_SUBDOMAIN = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;

/** Whether a Lease can have this name: a DNS subdomain. A LeaseCandidate's leaseName may be any text. */
export function isLeaseName(name: string): boolean {
  return name.length <= LONGEST_NAME && DNS_SUBDOMAIN.test(name);
}
