import { describe, expect, test } from 'vitest';
import { CUSTOM_API_VERSION } from '../../src/coordination/candidate-sources.ts';
import { demoSettings } from '../../src/settings/demo-settings.ts';
import { type RunSettings, runSettings } from '../../src/settings/run-settings.ts';
import { type ServeSettings, serveSettings } from '../../src/settings/serve-settings.ts';
import {
  envName,
  type GivenFlags,
  resolveSettings,
  rowsOf,
  SettingsError,
  type SettingsTable,
} from '../../src/settings/settings-table.ts';

type RunFlags = GivenFlags<RunSettings>;

type ServeFlags = GivenFlags<ServeSettings>;

const resolveRunSettings = (flags: RunFlags, env: Record<string, string>) =>
  resolveSettings(runSettings, flags, env);

const envNames = <S>(table: SettingsTable<S>) => rowsOf(table).map(([, setting]) => envName(table, setting));

function problemsOf(flags: RunFlags, env: Record<string, string> = {}): readonly string[] {
  return problemsIn(() => resolveRunSettings(flags, env));
}

function problemsIn(resolve: () => unknown): readonly string[] {
  try {
    resolve();
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
  return [];
}

describe('settings', () => {
  test('have defaults for all', () => {
    expect(resolveRunSettings({}, {})).toEqual({
      kubeconfig: undefined,
      context: undefined,
      namespaces: [],
      dryRun: false,
      statusPage: false,
      takeOver: true,
      lockNamespace: 'kube-system',
      isCrashEvidenceUsed: false,
      leaderLabel: false,
      workers: 32,
      electionDurationMs: 5000,
      leaseDurationSeconds: 10,
      settleMs: 1000,
      candidateValidityMs: 1_800_000,
      candidateGcAfterMs: 7_200_000,
      listen: { host: '0.0.0.0', port: 8080 },
      leaseMetrics: false,
      logLevel: 'info',
    });
  });

  test('come from the flag first, then from the environment, then from the default', () => {
    const env = { CLE_WORKERS: '3', CLE_LEASE_DURATION: '12s' };
    const settings = resolveRunSettings({ workers: '2' }, env);
    expect(settings).toMatchObject({ workers: 2, leaseDurationSeconds: 12, electionDurationMs: 5000 });
  });

  test('treat an empty environment variable as absent', () => {
    expect(resolveRunSettings({}, { CLE_KUBECONFIG: '', CLE_WORKERS: '' })).toMatchObject({
      kubeconfig: undefined,
      workers: 32,
    });
  });

  test('each have their own environment variable', () => {
    const names = [...envNames(runSettings), ...envNames(serveSettings), ...envNames(demoSettings)];
    expect(names).toContain('CLE_CANDIDATE_GC_AFTER');
    expect(names).toContain('CLE_SERVE_DATA_DIR');
    expect(names).toContain('CLE_DEMO_ONCE');
    expect(new Set(names).size).toBe(names.length);
  });

  test('never share an environment variable with those of a Service in a pod', () => {
    const injected = (names: readonly string[], prefix: string) =>
      names.filter((name) => new RegExp(`^${prefix}_(?:PORT|SERVICE_)`).test(name));
    expect(injected(envNames(runSettings), 'CLE')).toEqual([]);
    expect(injected(envNames(serveSettings), 'CLE_SERVE')).toEqual([]);
    expect(injected(envNames(demoSettings), 'CLE_DEMO')).toEqual([]);
  });

  test.each<{ name: string; flags: RunFlags; want: object }>([
    { name: 'namespaces by commas', flags: { namespaces: 'a, b,a,' }, want: { namespaces: ['a', 'b'] } },
    {
      name: 'the longest durations',
      flags: {
        electionDurationMs: '5m',
        leaseDurationSeconds: '1h',
        candidateValidityMs: '168h',
        candidateGcAfterMs: '720h',
      },
      want: { leaseDurationSeconds: 3600, candidateGcAfterMs: 720 * 3_600_000 },
    },
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

  test.each<{ flags: RunFlags; want: string }>([
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
      flags: { leaseDurationSeconds: '999999999h' },
      want: '--lease-duration: "999999999h" is too long; give at most 1h',
    },
    {
      flags: { electionDurationMs: '301s', leaseDurationSeconds: '1h' },
      want: '--election-duration: "301s" is too long; give at most 5m',
    },
    {
      flags: { candidateValidityMs: '169h', candidateGcAfterMs: '720h' },
      want: '--candidate-validity: "169h" is too long; give at most 168h',
    },
    {
      flags: { candidateGcAfterMs: '720h1s' },
      want: '--candidate-gc-after: "720h1s" is too long; give at most 720h',
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
    {
      flags: { statusPage: 'true', listen: 'off' },
      want: '--status-page needs an address, and --listen is off',
    },
  ])('refuse $flags', ({ flags, want }) => {
    expect(problemsOf(flags)).toEqual([want]);
  });

  test('are refused all at once, each with the source of the text', () => {
    expect(problemsOf({ workers: 'x' }, { CLE_LEASE_DURATION: 'abc', CLE_WORKERS: '7' })).toEqual([
      '--workers: "x" is not a whole number from 1 to 256',
      '--lease-duration: "abc" is not a duration; give e.g. 10s or 1500ms (from CLE_LEASE_DURATION)',
    ]);
  });

  test.each<{ name: string; flags: RunFlags; want: RegExp }>([
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

describe("serve's settings", () => {
  test('have defaults for this machine only, without storage', () => {
    expect(resolveSettings(serveSettings, {}, {})).toEqual({
      listen: { host: '127.0.0.1', port: 6443 },
      dataDirectory: undefined,
      tlsCertificate: undefined,
      tlsKey: undefined,
      tokens: undefined,
      kubeconfigOut: undefined,
      leaseCandidateVersions: ['v1beta1', 'v1alpha2', 'v1alpha1', CUSTOM_API_VERSION],
      logLevel: 'warn',
    });
  });

  test.each<{ name: string; flags: ServeFlags; want: object }>([
    {
      name: 'every address, if it is named',
      flags: { listen: '0.0.0.0:6443' },
      want: { listen: { host: '0.0.0.0', port: 6443 } },
    },
    {
      name: 'one version',
      flags: { leaseCandidateVersions: 'v1alpha2' },
      want: { leaseCandidateVersions: ['v1alpha2'] },
    },
    {
      name: 'versions in any order',
      flags: { leaseCandidateVersions: 'v1alpha1, v1beta1' },
      want: { leaseCandidateVersions: ['v1beta1', 'v1alpha1'] },
    },
    {
      name: "this project's own version alone",
      flags: { leaseCandidateVersions: CUSTOM_API_VERSION },
      want: { leaseCandidateVersions: [CUSTOM_API_VERSION] },
    },
    { name: 'no version', flags: { leaseCandidateVersions: 'none' }, want: { leaseCandidateVersions: [] } },
    {
      name: 'a certificate with its key',
      flags: { tlsCertificate: 'a.crt', tlsKey: 'a.key' },
      want: { tlsCertificate: 'a.crt', tlsKey: 'a.key' },
    },
  ])('accept $name', ({ flags, want }) => {
    expect(resolveSettings(serveSettings, flags, {})).toMatchObject(want);
  });

  test.each<{ flags: ServeFlags; want: string }>([
    {
      flags: { listen: ':6443' },
      want: '--listen: ":6443" is not host:port; give e.g. 127.0.0.1:6443 or [::1]:6443',
    },
    {
      flags: { listen: 'off' },
      want: '--listen: "off" is not host:port; give e.g. 127.0.0.1:6443 or [::1]:6443',
    },
    {
      flags: { leaseCandidateVersions: 'v1beta1,v1' },
      want: '--leasecandidate-versions: "v1beta1,v1" names v1; give some of v1beta1,v1alpha2,v1alpha1,coordinated-leader-election.dev/v1alpha1, or none',
    },
    {
      flags: { leaseCandidateVersions: 'v1beta1,' },
      want: '--leasecandidate-versions: "v1beta1," names nothing; give some of v1beta1,v1alpha2,v1alpha1,coordinated-leader-election.dev/v1alpha1, or none',
    },
    {
      flags: { tlsCertificate: 'a.crt' },
      want: '--tls-cert and --tls-key go together: give both, or neither to have a certificate generated',
    },
  ])('refuse $flags', ({ flags, want }) => {
    expect(problemsIn(() => resolveSettings(serveSettings, flags, {}))).toEqual([want]);
  });
});

describe("the demo's settings", () => {
  test('have defaults for all', () => {
    expect(resolveSettings(demoSettings, {}, {})).toEqual({
      once: false,
      listen: { host: '127.0.0.1', port: 0 },
      open: true,
    });
  });
});
