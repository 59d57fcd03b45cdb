import { describe, expect, test } from 'vitest';
import { type ParticipateSettings, participateSettings } from '../../src/settings/participate-settings.ts';
import { type GivenFlags, resolveSettings, SettingsError } from '../../src/settings/settings-table.ts';

const resolve = (flags: GivenFlags<ParticipateSettings>, env = {}) =>
  resolveSettings(participateSettings, flags, env);

function problemsOf(flags: GivenFlags<ParticipateSettings>): readonly string[] {
  try {
    resolve(flags);
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
  return [];
}

describe('the settings of participate', () => {
  test('have the defaults of client-go', () => {
    expect(resolve({})).toMatchObject({
      leaseDurationSeconds: 15,
      renewDeadlineMs: 10_000,
      retryPeriodMs: 2000,
      binaryVersion: '0.0.1',
      priority: 0,
      labels: {},
      listen: { host: '127.0.0.1', port: 4040 },
      healthListen: undefined,
      candidateOnly: false,
      socket: undefined,
      leadByConnection: false,
    });
  });

  test('take labels, separated by commas', () => {
    expect(resolve({ labels: 'zone=b, app.kubernetes.io/name=web,empty=' }).labels).toEqual({
      zone: 'b',
      'app.kubernetes.io/name': 'web',
      empty: '',
    });
  });

  test.each<{ flags: GivenFlags<ParticipateSettings>; want: string }>([
    { flags: { labels: 'zone' }, want: '--labels: "zone" has zone, which is no label; give key=value' },
    { flags: { labels: 'a=b c' }, want: 'which is no label' },
    { flags: { labels: 'a=b=c' }, want: 'which is no label' },
    { flags: { binaryVersion: 'v1.2' }, want: 'is not a semantic version; give e.g. 1.4.2' },
    {
      flags: { emulationVersion: '1.0.0' },
      want: '--emulation-version (1.0.0) must not be above --binary-version (0.0.1)',
    },
    { flags: { priority: '1.5' }, want: 'is not a whole number of 32 bits' },
    {
      flags: { renewDeadlineMs: '15s' },
      want: '--renew-deadline (15s) must be shorter than 13s250ms, as --lease-duration is 15s',
    },
    {
      flags: { renewDeadlineMs: '13250ms' },
      want: '--renew-deadline (13s250ms) must be shorter than 13s250ms, as --lease-duration is 15s',
    },
    {
      flags: { leaseDurationSeconds: '3s', renewDeadlineMs: '2s', retryPeriodMs: '500ms' },
      want: '--renew-deadline (2s) must be shorter than 2s, as --lease-duration is 3s',
    },
    {
      flags: { retryPeriodMs: '9s' },
      want: '--retry-period (9s) must be shorter than --renew-deadline (10s)',
    },
    { flags: { leaseDurationSeconds: '4500ms' }, want: 'is not a whole number of seconds' },
    { flags: { readyUrl: 'https://127.0.0.1/' }, want: 'is not an http:// URL' },
    {
      flags: { candidateOnly: 'true', identity: 'a', socket: '/s' },
      want: '--socket serves the name of the leader',
    },
    {
      flags: { candidateOnly: 'true', identity: 'a', leadByConnection: 'true' },
      want: '--lead-by-connection serves the name of the leader',
    },
    {
      flags: { leadByConnection: 'true', listen: 'off' },
      want: '--lead-by-connection needs --listen or --socket',
    },
    { flags: { socket: `/${'a'.repeat(107)}` }, want: 'is longer than 107 bytes' },
  ])('refuse $flags', ({ flags, want }) => {
    expect(problemsOf(flags)).toEqual([expect.stringContaining(want)]);
  });
});

test('a program may lead by a connection on a Unix socket alone', () => {
  expect(resolve({ leadByConnection: 'true', listen: 'off', socket: '/run/lead/socket' })).toMatchObject({
    leadByConnection: true,
    listen: undefined,
    socket: '/run/lead/socket',
  });
});
