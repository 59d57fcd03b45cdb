import type { SimLeases } from '../../status-page/make-leases.ts';
import { servePage } from '../../status-page/serve-page.ts';

/** The page of a coordinator with any number of Leases, without a cluster. */
export interface Crowd {
  readonly url: string;
  readonly leases: SimLeases;
  stop(): Promise<void>;
}

/** The name of a Lease by its number. The order of names is the order of numbers. */
export function leaseName(index: number): string {
  return `component-${String(index).padStart(5, '0')}`;
}

/** `count` Leases in kube-system, each with a leader and two more candidates. */
export async function startCrowd(count: number): Promise<Crowd> {
  const { leases, server } = await servePage();
  for (let index = 0; index < count; index++) {
    const name = leaseName(index);
    leases.seeLed(name);
    leases.seeCandidate(name, `${name}-c`, { binaryVersion: '1.36.2' });
    leases.seeLease(name, { holderIdentity: `${name}-a`, leaseDurationSeconds: 3600 });
  }
  return { url: `http://127.0.0.1:${server.address.port}/`, leases, stop: () => server.close() };
}
