import { describe, expect, test } from 'vitest';
import { type LiveProgram, troubleOf } from './calm.ts';

const leader: LiveProgram = { name: 'leader', emulationVersion: '1.35.0', leads: true };
const older: LiveProgram = { name: 'older', emulationVersion: '1.34.0', leads: false };
const equal: LiveProgram = { name: 'equal', emulationVersion: '1.35.0', leads: false };
const held = { holderIdentity: 'leader' };

describe('after the chaos', () => {
  test.each([
    { name: 'the best leads', spec: held, programs: [leader, equal], want: undefined },
    {
      name: 'somebody better is there',
      spec: held,
      programs: [leader, equal, older],
      want: 'led by leader, though older is better',
    },
    {
      name: 'the holder does not lead',
      spec: held,
      programs: [{ ...leader, leads: false }],
      want: 'held by leader, which does not lead',
    },
    {
      name: 'the holder does not run',
      spec: held,
      programs: [equal],
      want: 'held by "leader", which does not run',
    },
    { name: 'nobody holds it', spec: {}, programs: [leader], want: 'held by "", which does not run' },
    { name: 'it is not there', spec: undefined, programs: [leader], want: 'held by "", which does not run' },
    {
      name: 'it is to change hands',
      spec: { ...held, preferredHolder: 'equal' },
      programs: [leader, equal],
      want: 'to go to equal',
    },
  ])('a Lease is judged by who leads it: $name', ({ spec, programs, want }) => {
    expect(troubleOf(spec, programs)).toBe(want);
  });
});
