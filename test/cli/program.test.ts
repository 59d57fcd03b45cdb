import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { commands } from '../../src/cli/commands.ts';
import { runProgram } from '../../src/cli/program.ts';
import { type DemoSettings, demoSettings } from '../../src/settings/demo-settings.ts';
import {
  auditSettings,
  doctorSettings,
  explainSettings,
  planSettings,
  statusSettings,
} from '../../src/settings/inspection-settings.ts';
import { drainSettings, transferSettings, undrainSettings } from '../../src/settings/moving-settings.ts';
import { participateSettings } from '../../src/settings/participate-settings.ts';
import { type RunSettings, runSettings } from '../../src/settings/run-settings.ts';
import { type ServeSettings, serveSettings } from '../../src/settings/serve-settings.ts';
import { envName, rowsOf, type SettingsTable } from '../../src/settings/settings-table.ts';

/** Runs the program with commands that only record their arguments. */
async function execute(
  args: readonly string[],
  {
    env = {},
    run = async () => 0,
    invokedAs = 'main.ts',
  }: {
    env?: Record<string, string>;
    invokedAs?: string;
    run?: (settings: RunSettings) => Promise<number>;
  } = {},
) {
  const ran: RunSettings[] = [];
  const looked: unknown[] = [];
  const served: ServeSettings[] = [];
  const demonstrated: DemoSettings[] = [];
  let stdout = '';
  let stderr = '';
  const exitCode = await runProgram(args, {
    version: '1.2.3',
    invokedAs,
    env,
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: (text) => (stderr += text) },
    dispatch: async ({ name }, { lease, program: command, settings }) => {
      switch (name) {
        case 'run':
          ran.push(settings as RunSettings);
          return await run(settings as RunSettings);
        case 'serve':
          served.push(settings as ServeSettings);
          return 0;
        case 'demo':
          demonstrated.push(settings as DemoSettings);
          return 0;
        case 'explain':
        case 'plan':
          return looked.push({ [name]: lease, settings }) - 1;
        case 'doctor':
          return looked.push({ doctor: settings }) + 3;
        case 'transfer':
          return looked.push({ transfer: lease, settings }) + 4;
        case 'drain':
          return looked.push({ drain: settings }) + 4;
        case 'participate':
          return looked.push({ participate: lease, command, settings }) + 142;
        default:
          return looked.push({ [name]: settings }) - 1;
      }
    },
  });
  return { exitCode, stdout, stderr, ran, served, demonstrated, looked };
}

describe('the command line', () => {
  test('the run command uses the defaults', async () => {
    const { exitCode, ran } = await execute(['run']);
    expect(exitCode).toBe(0);
    expect(ran).toMatchObject([{ workers: 32, takeOver: true, dryRun: false }]);
  });

  test("accepts run's options without the command's name", async () => {
    const { ran } = await execute(['--dry-run', '-n', 'a', '--namespace', 'b,c', '--kubeconfig=/k']);
    expect(ran).toMatchObject([{ dryRun: true, namespaces: ['a', 'b', 'c'], kubeconfig: '/k' }]);
  });

  test('passes options to serve', async () => {
    const { served } = await execute(['serve', '--data-dir', 'd', '--listen', '[::1]:0'], {
      env: { CLE_SERVE_LEASECANDIDATE_VERSIONS: 'v1alpha2', CLE_LISTEN: '1.2.3.4:5' },
    });
    expect(served).toMatchObject([
      { dataDirectory: 'd', listen: { host: '::1', port: 0 }, leaseCandidateVersions: ['v1alpha2'] },
    ]);
  });

  test.each<{ args: string[]; env: Record<string, string>; want: 'run' | 'demo' }>([
    { args: [], env: {}, want: 'demo' },
    // Other tools use that kubeconfig, too, so its cluster is unknown.
    { args: [], env: { HOME: '/home/somebody' }, want: 'demo' },
    { args: [], env: { KUBECONFIG: '/k' }, want: 'demo' },
    { args: [], env: { KUBERNETES_SERVICE_HOST: '10.0.0.1' }, want: 'run' },
    { args: [], env: { CLE_KUBECONFIG: '/k' }, want: 'run' },
    { args: [], env: { CLE_DRY_RUN: 'true' }, want: 'run' },
    { args: [], env: { CLE_DEMO_ONCE: 'true', CLE_PORT: 'tcp://10.0.0.1:80' }, want: 'demo' },
    { args: ['--once'], env: {}, want: 'demo' },
    { args: ['--once'], env: { KUBECONFIG: '/k' }, want: 'demo' },
    { args: ['--no-once'], env: {}, want: 'demo' },
    { args: ['--log-level', 'debug'], env: {}, want: 'run' },
    { args: ['-n', 'a'], env: {}, want: 'run' },
  ])('runs $want for $args with $env', async ({ args, env, want }) => {
    const { exitCode, ran, demonstrated } = await execute(args, { env });
    expect({ exitCode, ran: ran.length, demonstrated: demonstrated.length }).toEqual({
      exitCode: 0,
      ran: want === 'run' ? 1 : 0,
      demonstrated: want === 'demo' ? 1 : 0,
    });
  });

  test.each([
    { args: ['--no-take-over'], env: {}, want: { takeOver: false } },
    { args: [], env: { CLE_TAKE_OVER: 'false' }, want: { takeOver: false } },
    { args: ['--take-over'], env: { CLE_TAKE_OVER: 'false' }, want: { takeOver: true } },
    { args: ['--no-dry-run'], env: { CLE_DRY_RUN: 'true' }, want: { dryRun: false } },
  ])('sets switches by $args before $env', async ({ args, env, want }) => {
    const { ran } = await execute(['run', ...args], { env });
    expect(ran).toMatchObject([want]);
  });

  test("returns the command's own exit code", async () => {
    expect(await execute(['run'], { run: async () => 1 })).toMatchObject({ exitCode: 1, stderr: '' });
  });

  test('prints the text of a cause only once', async () => {
    const cause = new Error('no such file');
    const { stderr } = await execute(['run'], {
      run: () => Promise.reject(new Error(`cannot read x: ${cause.message}`, { cause })),
    });
    expect(stderr).toBe('error: cannot read x: no such file\n');
  });

  test("reports a command's error with its causes and returns 1", async () => {
    const run = async () => {
      throw new Error('no cluster to talk to', { cause: new Error('connection refused') });
    };
    expect(await execute(['run'], { run })).toMatchObject({
      exitCode: 1,
      stderr: 'error: no cluster to talk to: connection refused\n',
    });
  });

  test('lists all invalid settings and returns 2 without running', async () => {
    const { exitCode, stderr, ran } = await execute(['--workers', '0'], {
      env: { CLE_LEASE_DURATION: 'abc' },
    });
    expect({ exitCode, ran }).toEqual({ exitCode: 2, ran: [] });
    expect(stderr.split('\n')).toEqual([
      'error: --workers: "0" is not a whole number from 1 to 256',
      'error: --lease-duration: "abc" is not a duration; give e.g. 10s or 1500ms (from CLE_LEASE_DURATION)',
      'Try --help.',
      '',
    ]);
  });

  test.each([
    { args: ['rnu'], want: "unknown command 'rnu'\n(Did you mean run?)" },
    { args: ['--once', '--dry-run'], want: "unknown option '--dry-run'" },
    { args: ['run', '--once'], want: "unknown option '--once'" },
    { args: ['--lease-duraton', '9s'], want: '(Did you mean --lease-duration?)' },
    { args: ['run', 'extra'], want: 'too many arguments' },
    { args: ['--kubeconfig'], want: "option '--kubeconfig <path>' argument missing" },
  ])('refuses $args with a hint and returns 2', async ({ args, want }) => {
    const { exitCode, stdout, stderr, ran } = await execute(args);
    expect({ exitCode, stdout, ran }).toEqual({ exitCode: 2, stdout: '', ran: [] });
    expect(stderr).toContain(want);
    expect(stderr).toContain('Try --help.');
  });

  test.each(['-V', '--version'])('answers %s with the version alone', async (flag) => {
    const ended = await execute([flag], { env: { KUBECONFIG: '/k' } });
    expect(ended).toEqual({
      exitCode: 0,
      stdout: '1.2.3\n',
      stderr: '',
      ran: [],
      served: [],
      demonstrated: [],
      looked: [],
    });
  });

  test.each<{ args: string[]; env?: Record<string, string>; want: object }>([
    {
      args: ['status', '-A', '-o', 'wide'],
      want: { status: { allNamespaces: true, output: 'wide', watch: false } },
    },
    { args: ['audit'], want: { audit: { allNamespaces: false, forMs: 30_000, output: 'table' } } },
    {
      args: ['audit', '-A', '--for', '0s', '-o=wide'],
      want: { audit: { allNamespaces: true, forMs: 0, output: 'wide' } },
    },
    { args: ['audit'], env: { CLE_AUDIT_FOR: '2m' }, want: { audit: { forMs: 120_000 } } },
    { args: ['status', '-n', 'a', '-w'], want: { status: { namespace: 'a', watch: true, output: 'table' } } },
    { args: ['status'], env: { CLE_STATUS_NAMESPACE: 'b' }, want: { status: { namespace: 'b' } } },
    { args: ['explain', 'x', '--context', 'c'], want: { explain: 'x', settings: { context: 'c' } } },
    { args: ['status', '-n=a', '-o=json'], want: { status: { namespace: 'a', output: 'json' } } },
    { args: ['explain', 'lease/x'], want: { explain: 'x' } },
    { args: ['explain', 'lease.coordination.k8s.io/x'], want: { explain: 'x' } },
    {
      args: ['plan', 'x', '--add', 'a=1.0.0', '--add', 'b=1.0.0/0.9.0', '--remove=c'],
      want: { plan: 'x', settings: { add: ['a=1.0.0', 'b=1.0.0/0.9.0'], remove: ['c'] } },
    },
  ])('inspects with $args and $env', async ({ args, env, want }) => {
    const { exitCode, looked } = await execute(args, env ? { env } : {});
    expect(looked).toMatchObject([want]);
    expect(exitCode).toBe(0);
  });

  test("returns doctor's own exit code", async () => {
    expect(await execute(['doctor'])).toMatchObject({
      exitCode: 4,
      looked: [{ doctor: { output: 'table' } }],
    });
  });

  test("returns transfer's and drain's own exit codes", async () => {
    expect(await execute(['transfer', 'web', '--to', 'web-2'])).toMatchObject({
      exitCode: 5,
      looked: [{ transfer: 'web', settings: { to: 'web-2', forMs: 3_600_000, timeoutMs: 120_000 } }],
    });
    expect(await execute(['drain', '-A', '-l', 'zone=b', '--for', '30m'])).toMatchObject({
      exitCode: 5,
      looked: [{ drain: { allNamespaces: true, selector: 'zone=b', forMs: 1_800_000 } }],
    });
    expect(await execute(['undrain', '--all'])).toMatchObject({
      exitCode: 0,
      looked: [{ undrain: { all: true, selector: undefined } }],
    });
  });

  test.each<{ args: string[]; want: object }>([
    { args: ['participate', 'web'], want: { participate: 'web', command: [] } },
    {
      args: ['participate', 'web', '--priority', '3', '--', 'echo', '-o=json', '--', '--socket'],
      want: {
        participate: 'web',
        // The arguments after -- belong to the command.
        command: ['echo', '-o=json', '--', '--socket'],
        settings: { priority: 3, socket: undefined },
      },
    },
    {
      args: ['participate', '-n=a', 'lease/web'],
      want: { participate: 'web', settings: { namespace: 'a' } },
    },
  ])('takes part with $args, and returns the command’s own exit code', async ({ args, want }) => {
    const { exitCode, looked } = await execute(args);
    expect(looked).toMatchObject([want]);
    expect(exitCode).toBe(143);
  });

  test.each([
    { args: ['web', '--ready-url', 'http://a/', '--', 'a'], want: '--ready-url is for a program that' },
    {
      args: ['web', '--candidate-only', '--identity', 'b', '--', 'a'],
      want: '--candidate-only is for a program that runs',
    },
    { args: ['web', '--ready-url', 'http://x/', '--', 'a'], want: '--ready-url is for a program that runs' },
    { args: ['web', '--socket', '/s', '--', 'a'], want: '--socket is for a program that runs' },
    {
      args: ['web', '--lead-by-connection', '--', 'a'],
      want: '--lead-by-connection is for a program that runs',
    },
    { args: ['web', '--candidate-only'], want: '--candidate-only needs --identity' },
    { args: ['web', '--ready-url', 'x'], want: '--ready-url: "x" is not an http:// URL' },
    { args: [], want: "missing required argument 'lease'" },
  ])('refuses to take part with $args', async ({ args, want }) => {
    const { exitCode, stderr, looked } = await execute(['participate', ...args]);
    expect({ exitCode, looked }).toEqual({ exitCode: 2, looked: [] });
    expect(stderr).toContain(want);
  });

  test.each([
    { args: ['transfer', 'web'], want: 'no candidate is named: give --to candidate' },
    {
      args: ['transfer', 'web', '--to', 'a', '--for', '25h'],
      want: '--for: "25h" is too long; give at most',
    },
    { args: ['drain'], want: 'give one of --selector, --node or --candidate' },
    { args: ['drain', '--node', 'a', '--candidate', 'b'], want: 'give one of --selector, --node or' },
    { args: ['undrain'], want: 'give one of --selector, --node, --candidate or --all' },
    { args: ['undrain', '--all', '--node', 'a'], want: 'give one of --selector, --node, --candidate or' },
    { args: ['explain'], want: "missing required argument 'lease'" },
    { args: ['explain', ''], want: 'Give the name of a Lease' },
    {
      args: ['plan', 'kube-system/x', '--remove', 'a'],
      want: 'Give the name alone, and its namespace with -n',
    },
    {
      args: ['plan', 'x'],
      want: 'nothing is planned: give --add name=binary/emulation, --remove name, --priority name=number',
    },
    {
      args: ['plan', 'x', '--rollout', 'x=1.0.0', '--remove', 'a'],
      want: '--rollout is planned by itself: leave out the other changes',
    },
    { args: ['audit', '--for', '2h'], want: '--for: "2h" is too long; give at most 1h' },
    {
      args: ['status', '-n', 'a,b'],
      want: '--namespace: "a,b" is not the name of a namespace; only one can be given',
    },
    { args: ['status', '-w', '-o', 'json'], want: '--watch shows rows as they change' },
    { args: ['explain', 'x', '-o', 'wide'], want: '--output: "wide" is none of table, json, yaml' },
    { args: ['completion', 'tcsh'], want: 'Allowed choices are bash, zsh, fish.' },
  ])('refuses to inspect with $args', async ({ args, want }) => {
    const { exitCode, stderr, looked } = await execute(args);
    expect({ exitCode, looked }).toEqual({ exitCode: 2, looked: [] });
    expect(stderr).toContain(want);
  });

  test('is kubectl cle when kubectl runs it, which then shows its help', async () => {
    const { exitCode, stdout, demonstrated } = await execute([], { invokedAs: 'kubectl-cle' });
    expect({ exitCode, demonstrated }).toEqual({ exitCode: 0, demonstrated: [] });
    expect(stdout).toMatch(/^Usage: kubectl cle /);
    expect(stdout).toContain('$ kubectl cle status -A');
    expect(stdout).not.toContain('npm start');
  });

  test('never uses options for run or demo when kubectl runs it', async () => {
    const { exitCode, stderr, ran } = await execute(['--dry-run'], { invokedAs: 'kubectl-cle' });
    expect({ exitCode, ran }).toEqual({ exitCode: 2, ran: [] });
    expect(stderr).toContain("unknown option '--dry-run'");
  });

  test.each([
    {
      words: ['__complete', 'st'],
      want: 'status\tshow the leader of each Lease, and what the Lease waits for\n:4\n',
    },
    { words: ['__complete', 'completion', ''], want: 'bash\nzsh\nfish\n:4\n' },
    { words: ['__complete', 'status', '--all'], want: /^--all-namespaces\t.*\n:4\n$/ },
    { words: ['__complete', 'status', '--kubeconfig', ''], want: ':0\n' },
    { words: ['__complete', 'status', '-n', ''], want: ':4\n' },
    { words: ['__complete', 'nothing', ''], want: ':4\n' },
    { words: ['__complete', 'explain', 'x', '--no'], want: ':4\n' },
    { words: ['__complete', 'participate', 'web', '--', './run'], want: ':0\n' },
  ])('completes $words', async ({ words, want }) => {
    const { exitCode, stdout } = await execute(words);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(typeof want === 'string' ? new RegExp(`^${RegExp.escape(want)}$`) : want);
  });

  test.each(['bash', 'zsh', 'fish'])('writes a script for %s that asks the program itself', async (shell) => {
    const { exitCode, stdout } = await execute(['completion', shell]);
    expect(exitCode).toBe(0);
    expect(stdout).toContain(' __complete ');
    expect(stdout).toContain('kubectl-cle');
  });

  test.each([['--help'], ['help']])('answers %s with the commands, examples and exit codes', async (flag) => {
    const { exitCode, stdout, ran, demonstrated } = await execute([flag]);
    expect({ exitCode, ran, demonstrated }).toEqual({ exitCode: 0, ran: [], demonstrated: [] });
    expect(stdout).toMatch(/Commands:\n {2}run .*coordinate leader elections/);
    expect(stdout).toMatch(/\n {2}serve .*without Kubernetes/);
    expect(stdout).toMatch(/\n {2}demo .*three sample\s+candidates/);
    expect(stdout).toContain('Examples:');
    expect(stdout).toMatch(/Exit codes:\n {2}0 .*\n {2}1 .*\n {2}2 /);
  });

  test.each<{
    command: string;
    table: Pick<SettingsTable<unknown>, 'envPrefix' | 'settings'>;
    want: string[];
  }>([
    {
      command: 'run',
      table: runSettings,
      want: ['(CLE_LEASE_DURATION; default: 10s)', '(CLE_NAMESPACE; default: all)', '(CLE_TAKE_OVER=false)'],
    },
    {
      command: 'serve',
      table: serveSettings,
      want: [
        '(CLE_SERVE_LISTEN; default: 127.0.0.1:6443)',
        'default: v1beta1,v1alpha2,v1alpha1,coordinated-leader-election.dev/v1alpha1)',
      ],
    },
    { command: 'demo', table: demoSettings, want: ['(CLE_DEMO_ONCE)'] },
    {
      command: 'audit',
      table: auditSettings,
      want: ['Exit codes: 0 no problems, 3 errors, 4 warnings only.', 'list and watch on leases'],
    },
    {
      command: 'status',
      table: statusSettings,
      want: ['-A, --all-namespaces', '-w, --watch', '-o, --output'],
    },
    { command: 'explain', table: explainSettings, want: ['json, yaml (CLE_EXPLAIN_OUTPUT'] },
    { command: 'plan', table: planSettings, want: ['--add <name=binary/emulation>'] },
    { command: 'transfer', table: transferSettings, want: ['Exit codes: 0 it leads, 5 it does not.'] },
    {
      command: 'drain',
      table: drainSettings,
      want: ['Exit codes: 0 all leaders have moved, 5 some have not.'],
    },
    { command: 'undrain', table: undrainSettings, want: ['--all'] },
    {
      command: 'participate',
      table: participateSettings,
      want: [
        '(CLE_PARTICIPATE_LISTEN; default: 127.0.0.1:4040)',
        'CLE_LEASE, CLE_HOLDER and CLE_FENCING_TOKEN',
      ],
    },
    {
      command: 'doctor',
      table: doctorSettings,
      want: ['Exit codes: 0 no problems, 3 errors, 4 warnings only.'],
    },
  ])(
    "shows every setting in $command's help, with its environment variable and its default",
    async ({ command, table, want }) => {
      const { stdout } = await execute([command, '--help']);
      const help = stdout.replaceAll(/\s+/g, ' ');
      for (const [, setting] of rowsOf(table)) {
        expect(help).toContain(`--${setting.default === 'true' ? 'no-' : ''}${setting.flag} `);
        expect(help).toContain(envName(table, setting));
      }
      for (const text of want) expect(help).toContain(text);
    },
  );
});

test('docs/reference/cli.md has a row for each command, in the order of the help', () => {
  const page = readFileSync(new URL('../../docs/reference/cli.md', import.meta.url), 'utf8');
  const [table = ''] = page.split('\n\n').filter((part) => part.startsWith('| command |'));
  const rows = [...table.matchAll(/^\| `([a-z]+)/gm)].map(([, name]) => name);
  expect(rows).toEqual([...commands.map(({ name }) => name), 'completion']);
});
