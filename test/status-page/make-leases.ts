import { ElectionRecords } from '../../src/controller/election-records.ts';
import { type LeaseKey, leaseKey } from '../../src/coordination/lease-key.ts';
import type { Lease, LeaseCandidate } from '../../src/election/model.ts';
import type { ElectionInput } from '../../src/election/view.ts';
import type { LeaseSource } from '../../src/status-page/board.ts';
import { defaultSettings, makeCandidate, makeLease, wallAt } from '../support/election-builders.ts';
import type { VirtualClock } from '../support/virtual-clock.ts';

/** Leases and candidates as a controller knows them, changed by the test. */
export class SimLeases implements LeaseSource {
  readonly #clock: Pick<VirtualClock, 'now' | 'wallTime'>;
  readonly #records = new ElectionRecords(defaultSettings);
  /** Called when a Lease or one of its candidates changes. */
  onSeen: (key: LeaseKey, isRenewalOnly: boolean) => void = () => {};
  /** Number of reads of a Lease. */
  looks = 0;

  constructor(clock: Pick<VirtualClock, 'now' | 'wallTime'>) {
    this.#clock = clock;
  }

  coordinatedLeases(): Iterable<LeaseKey> {
    return this.#records.coordinatedLeases();
  }

  gather(key: LeaseKey): ElectionInput {
    this.looks++;
    return this.#records.gather(key);
  }

  /** Sees a Lease that was just renewed. */
  seeLease(name: string, fields: Partial<Lease> = {}, isRenewalOnly = false): void {
    const lease = makeLease()
      .with({ name, uid: `uid-of-${name}`, renewTime: this.#clock.wallTime(), ...fields })
      .build();
    const key = leaseKey(lease.namespace, name);
    this.#records.seeLease(key, lease, this.#now());
    this.onSeen(key, isRenewalOnly);
  }

  dropLease(name: string, namespace = 'kube-system'): void {
    const key = leaseKey(namespace, name);
    this.#records.seeLease(key, undefined, this.#now());
    this.onSeen(key, false);
  }

  /** Sees a candidate that was just renewed. */
  seeCandidate(leaseName: string, name: string, fields: Partial<LeaseCandidate> = {}): void {
    const candidate = makeCandidate(name)
      .with({ leaseName, renewTime: this.#clock.wallTime(), ...fields })
      .build();
    this.#records.seeCandidate(candidate, this.#now());
    this.onSeen(leaseKey(candidate.namespace, leaseName), false);
  }

  dropCandidate(leaseName: string, name: string): void {
    this.#records.dropCandidate(makeCandidate(name).with({ leaseName }).build(), this.#now());
    this.onSeen(leaseKey('kube-system', leaseName), false);
  }

  /** A Lease with a leader and another candidate. */
  seeLed(name: string): void {
    this.seeCandidate(name, `${name}-a`);
    this.seeCandidate(name, `${name}-b`, { binaryVersion: '1.36.1', creationTimestamp: wallAt(0) });
    this.seeLease(name, { holderIdentity: `${name}-a` });
  }

  #now() {
    return { monotonic: this.#clock.now(), wall: this.#clock.wallTime() };
  }
}
