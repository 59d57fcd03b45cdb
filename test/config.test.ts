import { describe, expect, test } from 'vitest';
import { envName, type GivenFlags, resolveRunSettings, runSettings, SettingsError } from '../src/config.ts';

function problemsOf(flags: GivenFlags, env: Record<string, string> = {}): readonly string[] {
  try {
    resolveRunSettings(flags, env);
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
  return [];
}

describe('settings', () => {
  test('have defaults that need nothing to be given', () => {
    expect(resolveRunSettings({}, {})).toEqual({
      kubeconfig: undefined,
      context: undefined,
      namespaces: [],
      dryRun: false,
      takeOver: true,
      workers: 32,
      electionDurationMs: 5000,
      leaseDurationSeconds: 10,
      candidateValidityMs: 1_800_000,
      candidateGcAfterMs: 7_200_000,
      listen: { host: '0.0.0.0', port: 8080 },
      logLevel: 'info',
    });
  });

  test('come from the flag before the environment, and from the environment before the default', () => {
    const env = { CLE_WORKERS: '3', CLE_LEASE_DURATION: '12s' };
    const settings = resolveRunSettings({ workers: '2' }, env);
    expect(settings).toMatchObject({ workers: 2, leaseDurationSeconds: 12, electionDurationMs: 5000 });
  });

  test('count an empty environment variable as not given', () => {
    expect(resolveRunSettings({}, { CLE_KUBECONFIG: '', CLE_WORKERS: '' })).toMatchObject({
      kubeconfig: undefined,
      workers: 32,
    });
  });

  test('can each be given by an environment variable of their own', () => {
    const names = Object.values(runSettings).map(envName);
    expect(names).toContain('CLE_CANDIDATE_GC_AFTER');
    expect(new Set(names).size).toBe(names.length);
  });

  test('never share an environment variable with those that a Service named "cle" brings into a pod', () => {
    const injected = /^CLE_(?:PORT|SERVICE_)/;
    expect(
      Object.values(runSettings)
        .map(envName)
        .filter((name) => injected.test(name)),
    ).toEqual([]);
  });

  test.each<{ name: string; flags: GivenFlags; want: object }>([
    { name: 'namespaces by commas', flags: { namespaces: 'a, b,a,' }, want: { namespaces: ['a', 'b'] } },
    { name: 'a lease in minutes', flags: { leaseDurationSeconds: '1m' }, want: { leaseDurationSeconds: 60 } },
    {
      name: 'a listen address by name',
      flags: { listen: 'localhost:0' },
      want: { listen: { host: 'localhost', port: 0 } },
    },
    {
      name: 'a listen address in IPv6',
      flags: { listen: '[::1]:80' },
      want: { listen: { host: '::1', port: 80 } },
    },
    { name: 'a bare port', flags: { listen: ':9090' }, want: { listen: { host: '0.0.0.0', port: 9090 } } },
    { name: 'no listening', flags: { listen: 'off' }, want: { listen: undefined } },
    { name: 'a switch turned off', flags: { takeOver: 'false' }, want: { takeOver: false } },
    { name: 'a switch turned on', flags: { dryRun: 'Yes' }, want: { dryRun: true } },
    { name: 'a log level', flags: { logLevel: 'debug' }, want: { logLevel: 'debug' } },
  ])('accept $name', ({ flags, want }) => {
    expect(resolveRunSettings(flags, {})).toMatchObject(want);
  });

  test.each<{ flags: GivenFlags; want: string }>([
    { flags: { kubeconfig: '' }, want: '--kubeconfig: "" is empty' },
    { flags: { workers: '0' }, want: '--workers: "0" is not a whole number from 1 to 256' },
    { flags: { workers: '1e2' }, want: '--workers: "1e2" is not a whole number from 1 to 256' },
    { flags: { dryRun: 'maybe' }, want: '--dry-run: "maybe" is neither true nor false' },
    {
      flags: { leaseDurationSeconds: 'abc' },
      want: '--lease-duration: "abc" is not a duration; give e.g. 10s or 1500ms',
    },
    {
      flags: { leaseDurationSeconds: '5500ms' },
      want: '--lease-duration: "5500ms" is not a whole number of seconds',
    },
    {
      flags: { leaseDurationSeconds: '2s' },
      want: '--lease-duration: "2s" is too short; give at least 3s',
    },
    {
      flags: { namespaces: 'ok,Not_ok' },
      want: '--namespace: "ok,Not_ok" names a namespace that cannot exist: Not_ok',
    },
    {
      flags: { listen: '::1:80' },
      want: '--listen: "::1:80" is not host:port; give e.g. 0.0.0.0:8080, [::]:8080 or off',
    },
    {
      flags: { listen: 'localhost:70000' },
      want: '--listen: "localhost:70000" is not host:port; give e.g. 0.0.0.0:8080, [::]:8080 or off',
    },
    { flags: { logLevel: 'loud' }, want: '--log-level: "loud" is none of debug, info, warn, error' },
  ])('refuse $flags', ({ flags, want }) => {
    expect(problemsOf(flags)).toEqual([want]);
  });

  test('are refused all at once, each problem naming where the text came from', () => {
    expect(problemsOf({ workers: 'x' }, { CLE_LEASE_DURATION: 'abc', CLE_WORKERS: '7' })).toEqual([
      '--workers: "x" is not a whole number from 1 to 256',
      '--lease-duration: "abc" is not a duration; give e.g. 10s or 1500ms (from CLE_LEASE_DURATION)',
    ]);
  });

  test.each<{ name: string; flags: GivenFlags; want: RegExp }>([
    {
      name: 'an election as long as its Lease',
      flags: { electionDurationMs: '5s', leaseDurationSeconds: '5s' },
      want: /^--election-duration \(5s\) must be shorter than --lease-duration \(5s\): /,
    },
    {
      name: 'a validity too short to be renewed by a ping',
      flags: { electionDurationMs: '5s', candidateValidityMs: '9s' },
      want: /^--candidate-validity \(9s\) must be at least twice --election-duration \(5s\): /,
    },
    {
      name: 'collection of candidates that are still valid',
      flags: { candidateGcAfterMs: '30m' },
      want: /^--candidate-gc-after \(30m\) must be longer than --candidate-validity \(30m\): /,
    },
  ])('refuse $name', ({ flags, want }) => {
    const problems = problemsOf(flags);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(want);
  });
});
