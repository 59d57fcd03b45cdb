import { describe, expect, test } from 'vitest';
import { createProgram } from '../../src/cli/program.ts';
import { envName, type RunSettings, runSettings } from '../../src/config.ts';

/** Executes the program with a `run` that only records what it was given. */
async function execute(
  args: readonly string[],
  {
    env = {},
    run = async () => 0,
  }: { env?: Record<string, string>; run?: (settings: RunSettings) => Promise<number> } = {},
) {
  const ran: RunSettings[] = [];
  let stdout = '';
  let stderr = '';
  const program = createProgram({
    version: '1.2.3',
    env,
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: (text) => (stderr += text) },
    commands: {
      run: (settings) => {
        ran.push(settings);
        return run(settings);
      },
    },
  });
  const exitCode = await program.execute(args);
  return { exitCode, stdout, stderr, ran };
}

describe('the command line', () => {
  test.each([
    { name: 'no command', args: [] },
    { name: 'the run command', args: ['run'] },
  ])('runs with the defaults when given $name', async ({ args }) => {
    const { exitCode, ran } = await execute(args);
    expect(exitCode).toBe(0);
    expect(ran).toMatchObject([{ workers: 32, takeOver: true, dryRun: false }]);
  });

  test("takes run's options without the command's name", async () => {
    const { ran } = await execute(['--dry-run', '-n', 'a', '--namespace', 'b,c', '--kubeconfig=/k']);
    expect(ran).toMatchObject([{ dryRun: true, namespaces: ['a', 'b', 'c'], kubeconfig: '/k' }]);
  });

  test.each([
    { args: ['--no-take-over'], env: {}, want: { takeOver: false } },
    { args: [], env: { CLE_TAKE_OVER: 'false' }, want: { takeOver: false } },
    { args: ['--take-over'], env: { CLE_TAKE_OVER: 'false' }, want: { takeOver: true } },
    { args: ['--no-dry-run'], env: { CLE_DRY_RUN: 'true' }, want: { dryRun: false } },
  ])('settles switches by $args before $env', async ({ args, env, want }) => {
    const { ran } = await execute(args, { env });
    expect(ran).toMatchObject([want]);
  });

  test("ends in the command's own exit code", async () => {
    expect(await execute(['run'], { run: async () => 1 })).toMatchObject({ exitCode: 1, stderr: '' });
  });

  test("reports a command's error with its causes and ends in 1", async () => {
    const run = async () => {
      throw new Error('no cluster to talk to', { cause: new Error('connection refused') });
    };
    expect(await execute(['run'], { run })).toMatchObject({
      exitCode: 1,
      stderr: 'error: no cluster to talk to: connection refused\n',
    });
  });

  test('lists every problem of the settings and ends in 2 without running', async () => {
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
    { args: ['--lease-duraton', '9s'], want: '(Did you mean --lease-duration?)' },
    { args: ['run', 'extra'], want: 'too many arguments' },
    { args: ['--kubeconfig'], want: "option '--kubeconfig <path>' argument missing" },
  ])('refuses $args with a hint and ends in 2', async ({ args, want }) => {
    const { exitCode, stdout, stderr, ran } = await execute(args);
    expect({ exitCode, stdout, ran }).toEqual({ exitCode: 2, stdout: '', ran: [] });
    expect(stderr).toContain(want);
    expect(stderr).toContain('Try --help.');
  });

  test.each(['-V', '--version'])('answers %s with the version alone', async (flag) => {
    expect(await execute([flag])).toEqual({ exitCode: 0, stdout: '1.2.3\n', stderr: '', ran: [] });
  });

  test.each([['--help'], ['help']])('answers %s with the commands, examples and exit codes', async (flag) => {
    const { exitCode, stdout, ran } = await execute([flag]);
    expect({ exitCode, ran }).toEqual({ exitCode: 0, ran: [] });
    expect(stdout).toMatch(/Commands:\n {2}run .*coordinate leader elections/);
    expect(stdout).toContain('Examples:');
    expect(stdout).toMatch(/Exit codes:\n {2}0 .*\n {2}1 .*\n {2}2 /);
  });

  test("shows every setting in run's help, with its environment variable and its default", async () => {
    const { stdout } = await execute(['run', '--help']);
    const help = stdout.replaceAll(/\s+/g, ' ');
    for (const setting of Object.values(runSettings)) {
      expect(help).toContain(`--${setting.default === 'true' ? 'no-' : ''}${setting.flag} `);
      expect(help).toContain(envName(setting));
    }
    expect(help).toContain('(CLE_LEASE_DURATION; default: 10s)');
    expect(help).toContain('(CLE_NAMESPACE; default: all)');
    expect(help).toContain('(CLE_TAKE_OVER=false)');
  });
});
