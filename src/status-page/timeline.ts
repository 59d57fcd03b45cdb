import type { WriteEvent } from '../controller/controller-event.ts';
import type { LeaseKey } from '../coordination/lease-key.ts';
import { changesCluster, type Decision, grantOf } from '../election/decision.ts';
import type { ElectionInput } from '../election/view.ts';
import type { Clock } from '../support/clock.ts';
import { resultOf, TroubleWatch } from '../telemetry/election-result.ts';
import {
  changeEvents,
  type LeaseEvent,
  nameCandidates,
  resolutionEvent,
  troubleEvent,
} from '../telemetry/lease-event.ts';
import type { ElectionEntry, PassedOver } from './wire.ts';

const REMEMBERED = 200;

/** The recent decisions and writes of this replica, and the problems that began or ended. */
export class Timeline {
  readonly #clock: Pick<Clock, 'wallTime'>;
  readonly #troubles = new TroubleWatch();
  #entries: readonly ElectionEntry[] = [];

  constructor(clock: Pick<Clock, 'wallTime'>) {
    this.#clock = clock;
  }

  /** Returns the remembered entries with a greater id, oldest first. */
  after(id: number): readonly ElectionEntry[] {
    return this.#entries.filter((entry) => entry.id > id);
  }

  applied({ key, decision, input, lease }: Omit<WriteEvent, 'type' | 'action' | 'error'>): void {
    if (!changesCluster(decision)) return;
    if (grantOf(decision)) this.#troubles.granted(key);
    for (const event of changeEvents(decision, input, lease)) this.#add(key, event, decision);
  }

  /** Records a problem when it begins and when it ends. */
  decided(key: LeaseKey, decision: Decision, input: ElectionInput): void {
    const { resolvedTo, began } = this.#troubles.decided(key, decision);
    if (resolvedTo !== undefined) this.#add(key, resolutionEvent(resolvedTo, input), decision);
    // A write is recorded after it has succeeded.
    if (began !== undefined && !resultOf(decision)) {
      this.#add(key, troubleEvent(decision, input, began), decision);
    }
  }

  forgotten(key: LeaseKey): void {
    this.#troubles.forgotten(key);
  }

  #add(key: LeaseKey, { type, reason: what, message }: LeaseEvent, decision: Decision): void {
    const { named, more } = nameCandidates(decision);
    const passedOver = named.flatMap(({ name, lostBy, binaryVersion, emulationVersion }): PassedOver[] =>
      lostBy === undefined ? [] : [{ name, lostBy, binary: binaryVersion, emulation: emulationVersion }],
    );
    const entry: ElectionEntry = {
      id: (this.#entries.at(-1)?.id ?? 0) + 1,
      at: Number(this.#clock.wallTime() / 1000n),
      key,
      what,
      isWarning: type === 'Warning',
      text: message,
      passedOver,
      more,
    };
    this.#entries = [...this.#entries, entry].slice(-REMEMBERED);
  }
}
