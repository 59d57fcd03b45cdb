import { describe, expect, test } from 'vitest';
import { FENCE } from '../../src/election/model.ts';
import type { ParticipateOptions } from '../../src/participant/participant-options.ts';
import { participantSettings, type Surroundings } from '../../src/participant/participant-settings.ts';

const surroundings: Surroundings = {
  hostname: 'Node_1.example.com',
  random: () => 0.5,
};
const least: ParticipateOptions = { namespace: 'shop', lease: 'checkout', binaryVersion: '1.4.2' };

function settingsOf(options: Partial<ParticipateOptions>, random = surroundings.random) {
  return participantSettings({ ...least, ...options }, { ...surroundings, random });
}

const pod = { name: 'web-0', uid: '12345678-9abc' };

describe('the settings of a participant', () => {
  test('have client-go’s durations and the API’s strategy by default', () => {
    expect(settingsOf({ identity: 'one' })).toEqual({
      description: {
        namespace: 'shop',
        name: 'one',
        leaseName: 'checkout',
        binaryVersion: '1.4.2',
        emulationVersion: '1.4.2',
        strategy: 'OldestEmulationVersion',
        priority: 0,
        labels: {},
        pod: undefined,
      },
      timing: { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2000 },
    });
  });

  test.each<{ readonly name: string; readonly options: Partial<ParticipateOptions>; readonly want: RegExp }>([
    { name: 'its Pod', options: { pod }, want: /^web-0-12345678$/ },
    { name: 'the host and chance', options: {}, want: /^node-1-example-com-[a-z0-9]{8}$/ },
    { name: 'what it is told', options: { identity: 'one', pod }, want: /^one$/ },
  ])('name it after $name', ({ options, want }) => {
    expect(settingsOf(options).description.name).toMatch(want);
  });

  test('give two participants of one host two names', () => {
    const names = [0.1, 0.2].map((chance) => settingsOf({}, () => chance).description.name);
    expect(new Set(names).size).toBe(2);
  });

  test.each<{ readonly options: Partial<ParticipateOptions>; readonly want: string }>([
    {
      options: { lease: 'Check out' },
      want: 'lease: "Check out" is no name of a Lease; give a DNS subdomain',
    },
    { options: { identity: 'Pod_1' }, want: 'identity: "Pod_1" is no name of a LeaseCandidate' },
    { options: { identity: FENCE }, want: `identity: "${FENCE}" is no name` },
    {
      options: { binaryVersion: 'v1.4' },
      want: 'binaryVersion: "v1.4" is no semantic version; give one such as 1.4.2',
    },
    { options: { emulationVersion: '1' }, want: 'emulationVersion: "1" is no semantic version' },
    {
      options: { emulationVersion: '1.5.0' },
      want: 'emulationVersion: "1.5.0" is above binaryVersion 1.4.2',
    },
    { options: { binaryVersion: '0.0.0' }, want: 'emulationVersion: "0.0.0" counts as no version' },
    { options: { strategy: '' }, want: 'strategy: "" is empty' },
    { options: { priority: 1.5 }, want: 'priority: 1.5 is no whole number of 32 bits' },
    { options: { priority: 2 ** 31 }, want: 'priority: 2147483648 is no whole number' },
    { options: { retryPeriodMs: 0 }, want: 'retryPeriodMs: 0 is no duration' },
    { options: { leaseDurationMs: 15_500 }, want: 'leaseDurationMs: 15500 is no whole number of seconds' },
    {
      options: { leaseDurationMs: 10_000 },
      want: 'renewDeadlineMs: 10000 must be less than 9000, which is nine tenths of leaseDurationMs, 10000',
    },
    {
      options: { renewDeadlineMs: 13_500 },
      want: 'renewDeadlineMs: 13500 must be less than 13500, which is nine tenths of leaseDurationMs, 15000',
    },
    {
      options: { renewDeadlineMs: 2400 },
      want: 'renewDeadlineMs: 2400 must be more than 1.2 times retryPeriodMs, 2000',
    },
  ])('are refused, with what to do: $want', ({ options, want }) => {
    expect(() => settingsOf(options)).toThrow(want);
    expect(() => settingsOf(options)).toThrow(RangeError);
  });

  test('require a namespace', () => {
    expect(() => participantSettings({ lease: 'checkout', binaryVersion: '1.4.2' }, surroundings)).toThrow(
      'namespace: unknown; give the namespace of the Lease',
    );
  });
});

describe('the owner of a candidate (rule 15)', () => {
  // The garbage collector deletes an object whose owner is not in its namespace, again and again.
  test.each<{
    readonly name: string;
    readonly options: Partial<ParticipateOptions>;
    readonly wantOwner: boolean;
  }>([
    { name: 'in its namespace', options: { pod: { ...pod, namespace: 'shop' } }, wantOwner: true },
    { name: 'in another namespace', options: { pod: { ...pod, namespace: 'till' } }, wantOwner: false },
    { name: 'if the namespace of the Pod is unknown', options: { pod }, wantOwner: false },
  ])('is its Pod only in the same namespace: $name', ({ options, wantOwner }) => {
    const { description } = settingsOf(options);
    expect(description.pod).toEqual(wantOwner ? pod : undefined);
    expect(description.name).toBe('web-0-12345678');
  });
});
