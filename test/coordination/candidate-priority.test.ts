import { describe, expect, test } from 'vitest';
import { decodePriority } from '../../src/coordination/candidate-priority.ts';
import { NO_PRIORITY } from '../../src/election/model.ts';
import { WALL_START } from '../support/election-builders.ts';

const PRIORITY = 'coordinated-leader-election.dev/priority';
const UNTIL = 'coordinated-leader-election.dev/priority-until';
const TIME = '2026-01-01T00:00:00Z';

function decode(spec: object, annotations?: Readonly<Record<string, unknown>>) {
  return decodePriority({ metadata: { name: 'a', ...(annotations && { annotations }) }, spec });
}

describe('the priority of a LeaseCandidate (rule 16)', () => {
  test.each<{ name: string; spec?: object; annotations?: Readonly<Record<string, unknown>>; want: object }>([
    { name: 'is 0 if nothing is set', want: NO_PRIORITY },
    { name: 'is that of its spec', spec: { priority: 5 }, want: { value: 5 } },
    { name: 'is 0 if that is not an int32', spec: { priority: 2 ** 31 }, want: NO_PRIORITY },
    { name: 'is that of its annotation', annotations: { [PRIORITY]: '100' }, want: { value: 100 } },
    { name: 'may be negative', annotations: { [PRIORITY]: '-1000' }, want: { value: -1000 } },
    {
      name: 'is the lowest that there is',
      annotations: { [PRIORITY]: '-2147483648' },
      want: { value: -(2 ** 31) },
    },
    {
      name: 'is that of its annotation rather than that of its spec',
      spec: { priority: 5 },
      annotations: { [PRIORITY]: '0' },
      want: NO_PRIORITY,
    },
    {
      name: 'ends, and is that of its spec from then on',
      spec: { priority: 5 },
      annotations: { [PRIORITY]: '7', [UNTIL]: TIME },
      want: { value: 7, end: { at: WALL_START, afterwards: 5 } },
    },
    {
      name: 'ends at a time with a fraction and a zone',
      annotations: { [PRIORITY]: '7', [UNTIL]: '2026-01-01T01:00:00.000001+01:00' },
      want: { value: 7, end: { at: WALL_START + 1n, afterwards: 0 } },
    },
    {
      name: 'has no end in its spec',
      spec: { priority: 5 },
      annotations: { [UNTIL]: TIME },
      want: { value: 5 },
    },
    ...['', 'high', '1.5', ' 1', '1e3', '2147483648', '99999999999'].map((text) => ({
      name: `does not count if it is ${JSON.stringify(text)}`,
      spec: { priority: 5 },
      annotations: { [PRIORITY]: text, [UNTIL]: TIME },
      want: { value: 5, unreadable: `${PRIORITY}: ${JSON.stringify(text)}` },
    })),
    {
      name: 'does not count if it is very long, and is truncated',
      annotations: { [PRIORITY]: '9'.repeat(200_000) },
      want: { unreadable: `${PRIORITY}: "${'9'.repeat(98)}…` },
    },
    {
      name: 'does not count if its end is invalid, because it should be temporary',
      spec: { priority: 5 },
      annotations: { [PRIORITY]: '7', [UNTIL]: 'tomorrow' },
      want: { value: 5, unreadable: `${UNTIL}: "tomorrow"` },
    },
  ])('$name', ({ spec = {}, annotations, want }) => {
    expect(decode(spec, annotations)).toEqual({ ...NO_PRIORITY, ...want });
  });
});
