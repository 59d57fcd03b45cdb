import { between, type HandOverRow, sinceLetGo } from './hand-over-table.ts';
import type { Contestant, HandOverScale } from './run.ts';

/** The measurements of one command, and the document's text about them. */
export interface HandOverTable {
  readonly scale: HandOverScale;
  readonly rows: readonly HandOverRow[];
  /** The contestant whose medians the others' are compared with, as an index. */
  readonly reference: number;
}

const native: Contestant = {
  title: 'client-go, this controller',
  coordinator: 'this controller',
  isGateOn: true,
  programs: 'client-go',
};
const builtIn: Contestant = { ...native, title: 'client-go, built-in', coordinator: 'built-in' };
const participants: Contestant = {
  ...native,
  title: 'participants, this controller',
  programs: 'participants',
};
/** No coordinator takes part in it. */
const plain: Contestant = { ...native, title: 'plain client-go', programs: 'plain client-go' };
const LEASES = 20;

/** A server without the feature gate beside one with it: until the Lease has its next holder. */
const anyCluster: HandOverTable = {
  scale: {
    contestants: [
      {
        ...native,
        title: 'gate off: client-go (fence)',
        isGateOn: false,
        programs: 'client-go with sidecars',
      },
      { ...participants, title: 'gate off: participants (annotation)', isGateOn: false },
      { ...native, title: 'gate on: client-go (preferredHolder)' },
      { ...participants, title: 'gate on: participants (preferredHolder)' },
      { ...builtIn, title: 'gate on: client-go, built-in' },
    ],
    leases: LEASES,
    phases: ['kill', 'stop', 'preemption'],
    restSeconds: 0,
    restarts: { leases: 0, rounds: 0 },
  },
  rows: [
    {
      what: 'from a dead holder’s expiry to the next holder',
      phase: 'kill',
      of: between('expiredAt', 'heldAt'),
    },
    { what: 'from a clean release to the next holder', phase: 'stop', of: between('releasedAt', 'heldAt') },
    {
      what: 'preemption: from when another is preferred to the next holder',
      phase: 'preemption',
      of: between('toldAt', 'heldAt'),
    },
    {
      what: '... of that, from when the former holder, or the fence, is gone',
      phase: 'preemption',
      of: sinceLetGo,
    },
  ],
  reference: 2,
};

/** A planned change of leaders, until the next one works. */
const plannedRows: readonly HandOverRow[] = [
  { what: 'SIGTERM to the leader', phase: 'stop', of: between('causedAt', 'workedAt') },
  { what: 'a better candidate is preferred', phase: 'preemption', of: between('toldAt', 'workedAt') },
  { what: 'a transfer', phase: 'transfer', of: between('causedAt', 'workedAt') },
];

/** `phase` is the one in which leaders get kill -9. */
const crashRows = (phase: 'kill' | 'crash'): readonly HandOverRow[] => [
  { what: 'kill -9 of the leader', phase, of: between('causedAt', 'workedAt') },
  { what: '... beyond the Lease’s expiry', phase, of: between('expiredAt', 'workedAt') },
];

/** Programs of all kinds, with both coordinators and with none: until the next one works. */
const programs: HandOverTable = {
  scale: {
    contestants: [participants, native, builtIn, plain],
    leases: LEASES,
    phases: ['kill', 'stop', 'preemption', 'transfer', 'restart'],
    restSeconds: 300,
    restarts: { leases: 5, rounds: 4 },
  },
  rows: [
    ...plannedRows,
    ...crashRows('kill'),
    {
      what: 'a leader’s container starts again, same identity',
      phase: 'restart',
      of: between('causedAt', 'workedAt'),
    },
  ],
  reference: 2,
};

/** Operators with controller-runtime's manager, with the Go module and without: until the next one reconciles. */
const operators: HandOverTable = {
  scale: {
    contestants: [
      { ...native, title: 'with the Go module', programs: 'operators' },
      { ...native, title: 'ordinary', programs: 'plain operators' },
    ],
    leases: LEASES,
    phases: ['stop', 'crash', 'preemption', 'transfer'],
    restSeconds: 0,
    restarts: { leases: 0, rounds: 0 },
  },
  rows: [...plannedRows, ...crashRows('crash')],
  reference: 1,
};

/** By the names that the command accepts. */
export const handOverTables = { 'any-cluster': anyCluster, participants: programs, operators } as const;
