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
import { type ElectionEntry, type PassedOver, wallMs } from './wire.ts';

const REMEMBERED = 200;

/** Creates the timeline of the page: problems that began, conflicts that ended, and successful writes except pings. */
export function createTimeline(clock: Pick<Clock, 'wallTime'>) {
  const troubles = new TroubleWatch();
  let entries: readonly ElectionEntry[] = [];

  function add(key: LeaseKey, { type, reason: what, message }: LeaseEvent, decision: Decision): void {
    const { named, more } = nameCandidates(decision);
    const passedOver = named.flatMap(({ name, lostBy, binaryVersion, emulationVersion }): PassedOver[] =>
      lostBy === undefined ? [] : [{ name, lostBy, binary: binaryVersion, emulation: emulationVersion }],
    );
    const entry: ElectionEntry = {
      id: (entries.at(-1)?.id ?? 0) + 1,
      at: wallMs(clock),
      key,
      what,
      isWarning: type === 'Warning',
      text: message,
      passedOver,
      more,
    };
    entries = [...entries, entry].slice(-REMEMBERED);
  }

  return {
    /** Returns the remembered entries whose id is greater than `id`, oldest first. */
    after: (id: number): readonly ElectionEntry[] => entries.filter((entry) => entry.id > id),
    applied({ key, decision, input, lease }: Omit<WriteEvent, 'type' | 'action' | 'error'>): void {
      if (!changesCluster(decision)) return;
      if (grantOf(decision)) troubles.granted(key);
      for (const event of changeEvents(decision, input, lease)) add(key, event, decision);
    },
    /** Records the beginning of a problem, and the end of a strategy conflict. */
    decided(key: LeaseKey, decision: Decision, input: ElectionInput): void {
      const { resolvedTo, began } = troubles.decided(key, decision);
      if (resolvedTo !== undefined) add(key, resolutionEvent(resolvedTo, input), decision);
      // If the decision ends an election, applied() records the result after the write has succeeded.
      if (began !== undefined && !resultOf(decision))
        add(key, troubleEvent(decision, input, began), decision);
    },
    forgotten: (key: LeaseKey) => troubles.forgotten(key),
  };
}
