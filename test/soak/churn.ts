import { setTimeout as sleep } from 'node:timers/promises';
import type { Crowd } from './crowd.ts';
import type { Program } from './program.ts';
import type { Seat } from './seat.ts';

/** Changes of a component: of its Lease, its holder or another of its programs. */
type Change = (crowd: Crowd, seat: Seat, program: Program, random: () => number) => Promise<void> | void;

const LONGEST_STALL_MS = 40_000;

const changes = {
  'ends in good order': (crowd, seat, program) => crowd.end(seat, program, true),
  dies: (crowd, seat, program) => crowd.end(seat, program, false),
  'is upgraded in place': (crowd, _seat, program) => program.upgrade(crowd.anyVersion()),
  'loses its candidate': (crowd, _seat, program) => crowd.delete(program),
  'is created anew in another version': async (crowd, _seat, program) => {
    await crowd.delete(program);
    program.upgrade(crowd.anyVersion());
  },
  stalls: (_crowd, _seat, program, random) => program.stall(LONGEST_STALL_MS * random()),
  'loses its Lease': (crowd, seat) => crowd.delete(seat),
  'is given up, and another component is new': async (crowd, seat) => {
    crowd.retire(seat);
    await crowd.introduce();
  },
} satisfies Readonly<Record<string, Change>>;

export type ChangeKind = keyof typeof changes;

export const changeKinds = Object.keys(changes) as readonly ChangeKind[];

/** The share of changes that affect the holder: other changes cause no election. */
const AIMED_AT_HOLDER = 0.6;

/** Changes random components at this rate until the signal aborts. Reports each change. */
export async function churn(
  crowd: Crowd,
  perSecond: number,
  random: () => number,
  signal: AbortSignal,
  tell: (kind: ChangeKind) => void,
): Promise<void> {
  const begun = performance.now();
  for (let count = 0; !signal.aborted; ) {
    const due = Math.floor((perSecond * (performance.now() - begun)) / 1000);
    for (; count < due; count += 1) {
      const kind = crowd.any(changeKinds);
      const seat = crowd.any(crowd.seats);
      const holder = random() < AIMED_AT_HOLDER ? crowd.holderOf(seat) : undefined;
      const all = crowd.programsOf(seat);
      // All programs of a component may be starting; and while the server is down, no change can be sent.
      if (all.length === 0 || crowd.isServerAway) continue;
      const program = holder ?? crowd.any(all);
      void (changes[kind] as Change)(crowd, seat, program, random);
      tell(kind);
    }
    await sleep(50);
  }
}
