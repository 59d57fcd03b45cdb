import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { CommandRun } from '../../../src/processes/participant/command-run.ts';
import { startGroupGuard } from '../../../src/processes/participant/process-group.ts';
import { guardIntervalMs, killTimes } from '../../../src/settings/participate-settings.ts';
import type { Clock } from '../../../src/support/clock.ts';
import { systemClock } from '../../../src/support/system-clock.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { SimHost } from '../../support/make-host.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { FakeTerm } from './fake-term.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'command-run-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const linesOf = (name: string): readonly string[] => {
  const file = join(folder, name);
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : [];
};

async function until(isSo: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + 15_000;
  while (!isSo()) {
    if (performance.now() > deadline) throw new Error(`not in time: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Runs a command by `sh` in its own folder, with output to the file `out`. */
function runOf(script: string, options: Parameters<typeof startRun>[1] = {}) {
  return startRun(['/bin/sh', '-c', `cd ${folder}; exec >>out; ${script}`], options);
}

/** `clock`: of the wrapper. The guard is a process, and has its own clock. */
function startRun(
  command: readonly string[],
  { leaseDurationMs = 15_000, clock = systemClock as Clock } = {},
) {
  const host = new SimHost({ clock, env: { PATH: process.env['PATH'] ?? '' } });
  const logger = createLogger({ level: 'debug', destination: host.stderr });
  const renewDeadlineMs = (leaseDurationMs * 2) / 3;
  return { run: new CommandRun({ command, leaseDurationMs, renewDeadlineMs, host, logger }), host };
}

/** Starts a process that ignores SIGTERM, and waits until it does. */
const startDeaf = `(trap '' TERM; echo >deaf; while :; do sleep 0.02; done) & until [ -e deaf ]; do sleep 0.02; done`;

/** The processes of a group, or of all groups of a session, that are not dead. */
function aliveIn(kind: 'group' | 'session', id: string): readonly string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      const [state, , group, session] = readFileSync(`/proc/${pid}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ');
      return (kind === 'group' ? group : session) === id && state !== 'Z';
    } catch {
      return false;
    }
  });
}

const aliveInGroup = (id: string) => aliveIn('group', id);
const aliveInSession = (id: string) => aliveIn('session', id);

/** Works in a process group of its own, which `timeout` of coreutils makes, and does not heed SIGTERM. */
const IN_OTHER_GROUP = `timeout -s KILL 20 sh -c "trap 'echo told' TERM; while :; do sleep 0.02; done"`;

describe('a command that runs while its candidate leads (rule 15)', () => {
  test('gets the term in its environment, and its exit code is that of this process', async () => {
    const { run } = runOf('echo "$CLE_LEASE $CLE_HOLDER $CLE_FENCING_TOKEN"; exit 3');
    await run.lead(new FakeTerm());
    expect(linesOf('out')).toEqual(['default/web web-1 7']);
    expect({ isStopping: run.stopping.aborted, exitCode: run.exitCode }).toEqual({
      isStopping: true,
      exitCode: 3,
    });
  });

  test('is asked to exit when the term is over, and may take its time', async () => {
    const { run } = runOf(`trap 'sleep 0.3; echo done; exit 0' TERM; echo up; while :; do sleep 0.02; done`);
    const term = new FakeTerm();
    const leading = run.lead(term);
    await until(() => linesOf('out').includes('up'), 'up');
    term.end('yielded');
    await leading;
    expect(linesOf('out')).toEqual(['up', 'done']);
    // It is a candidate again, and runs in the next term.
    expect(run.stopping.aborted).toBe(false);
    const next = run.lead(new FakeTerm());
    await until(() => linesOf('out').length === 3, 'up again');
    run.signal('SIGTERM');
    await next;
    expect(run.stopping.aborted).toBe(true);
  });

  test('may leave processes behind while the term ends: they have until its deadline', async () => {
    const clock = new VirtualClock();
    const { run, host } = runOf(`${startDeaf}; echo $$; exit 4`, { clock });
    const term = new FakeTerm(60_000, clock);
    const leading = run.lead(term);
    await until(() => host.said.err.includes('The command has ended'), 'ended');
    const [group = ''] = linesOf('out');
    term.end('lost', 600);
    // Without the deadline, they would have 2 s.
    await clock.advance(600);
    expect(host.said.err).toContain('Killing the remaining processes');
    await until(() => aliveInGroup(group).length === 0, 'killed');
    await clock.advance(20);
    await leading;
    expect(run.exitCode).toBe(4);
  });

  test('has exited when SIGTERM arrives: its remaining processes are killed first', async () => {
    const { run } = runOf(`${startDeaf}; trap 'exit 5' TERM; echo $$; while :; do sleep 0.02; done`);
    const term = new FakeTerm();
    const leading = run.lead(term);
    await until(() => linesOf('out').length === 1, 'up');
    const [group = ''] = linesOf('out');
    term.end('yielded');
    await until(() => !aliveInGroup(group).includes(group), 'ended');
    run.signal('SIGTERM');
    expect(run.stopping.aborted).toBe(false);
    await leading;
    expect(aliveInGroup(group)).toEqual([]);
    expect({ isStopping: run.stopping.aborted, exitCode: run.exitCode }).toEqual({
      isStopping: true,
      exitCode: 5,
    });
  });

  test('continues in its term after SIGTERM until it exits, and this process exits with its code', async () => {
    const { run } = runOf(`trap 'sleep 0.2; exit 9' TERM; echo up; while :; do sleep 0.02; done`);
    const leading = run.lead(new FakeTerm());
    await until(() => linesOf('out').includes('up'), 'up');
    run.signal('SIGTERM');
    expect(run.stopping.aborted).toBe(false);
    await leading;
    expect({ isStopping: run.stopping.aborted, exitCode: run.exitCode }).toEqual({
      isStopping: true,
      exitCode: 9,
    });
  });

  test('has not started when signals arrive that are for it alone', async () => {
    const { run } = runOf('echo up');
    run.signal('SIGHUP');
    run.signal('SIGUSR2');
    expect(run.stopping.aborted).toBe(false);
    await run.lead(new FakeTerm());
    expect(linesOf('out')).toEqual(['up']);
  });

  test('is killed with all its processes before another can get the Lease', async () => {
    const clock = new VirtualClock();
    const { run, host } = runOf(
      `trap '' TERM; (trap '' TERM; while :; do sleep 0.02; done) & echo $$; while :; do sleep 0.02; done`,
      { leaseDurationMs: 3000, clock },
    );
    const term = new FakeTerm(60_000, clock);
    const leading = run.lead(term);
    await until(() => linesOf('out').length === 1, 'up');
    const [group = ''] = linesOf('out');
    await until(() => aliveInGroup(group).length >= 2, 'a child of its own');
    term.end('lost', 1500);
    await clock.advance(1000);
    expect(host.said.err).toContain('Killing the remaining processes');
    await until(() => aliveInGroup(group).length === 0, 'killed');
    await clock.advance(20);
    await leading;
    expect(term.remainingMs()).toBeGreaterThan(0);
  });

  test('is left alone by the guard until then, also after a renewal that the guard has not received', async () => {
    const { run, host } = runOf(
      `trap 'sleep 3; echo done; exit 0' TERM; echo up; while :; do sleep 0.02; done`,
    );
    // The guard learns only of the first renewal. The command has started by then, also on a slow machine.
    const term = new FakeTerm(3000);
    const leading = run.lead(term);
    await until(() => linesOf('out').includes('up'), 'up');
    term.end('yielded', 20_000);
    await leading;
    expect(linesOf('out')).toEqual(['up', 'done']);
    expect(host.said.err).not.toContain('The guard of the command has ended');
  });

  test('that exits early leaves no process when its Lease is released', async () => {
    const { run } = runOf(
      `(trap 'echo told; exit 0' TERM; echo >set; while :; do sleep 0.02; done) & until [ -e set ]; do sleep 0.02; done; ${startDeaf}; echo $$; exit 4`,
    );
    const term = new FakeTerm();
    await run.lead(term);
    const [group = '', told] = linesOf('out');
    expect(aliveInGroup(group)).toEqual([]);
    expect(told).toBe('told');
    expect(run.exitCode).toBe(4);
  });

  test('leaves no process in another group of its session, such as one that timeout has made', async () => {
    const { run } = runOf(`echo $$; ${IN_OTHER_GROUP} & sleep 0.3; exit 4`);
    const leading = run.lead(new FakeTerm());
    await until(() => linesOf('out').length === 1, 'its pid');
    const [id = ''] = linesOf('out');
    await until(() => aliveInSession(id).length > aliveInGroup(id).length, 'another group');
    await leading;
    expect(aliveInSession(id)).toEqual([]);
    expect(linesOf('out')).toContain('told');
    expect(run.exitCode).toBe(4);
  });

  test('gets the signals of this process, and reports the signal that ended it', async () => {
    const { run } = runOf(
      `trap 'echo hup' HUP; trap 'echo usr1' USR1; echo up; while :; do sleep 0.02; done`,
    );
    const leading = run.lead(new FakeTerm());
    await until(() => linesOf('out').includes('up'), 'up');
    run.signal('SIGHUP');
    await until(() => linesOf('out').includes('hup'), 'hup');
    run.signal('SIGUSR1');
    await until(() => linesOf('out').includes('usr1'), 'usr1');
    run.signal('SIGTERM');
    await leading;
    expect(run.exitCode).toBe(143);
  });

  test('is never started after this process was asked to exit', async () => {
    const { run } = runOf('echo up');
    run.signal('SIGINT');
    expect(run.stopping.aborted).toBe(true);
    run.signal('SIGTERM');
    await run.lead(new FakeTerm());
    expect({ started: linesOf('out'), exitCode: run.exitCode }).toEqual({ started: [], exitCode: 0 });
  });

  test('is not started in a term that is over before it began', async () => {
    const { run } = runOf('echo up');
    const term = new FakeTerm();
    term.end('lost', 0);
    await run.lead(term);
    expect(linesOf('out')).toEqual([]);
  });

  test('that does not exist makes this process exit with 127, with advice', async () => {
    const { run, host } = startRun(['no-such-command-here']);
    await run.lead(new FakeTerm());
    expect(run.exitCode).toBe(127);
    expect(host.said.err).toContain('no-such-command-here: no such command; name one that is in the PATH');
  });

  test('that is not executable makes this process exit with 126, with advice', async () => {
    const file = join(folder, 'script');
    writeFileSync(file, '#!/bin/sh\n');
    chmodSync(file, 0o644);
    const { run, host } = startRun([file]);
    await run.lead(new FakeTerm());
    expect(run.exitCode).toBe(126);
    expect(host.said.err).toContain('not executable; chmod +x it');
  });

  test('is killed when this process ends by an error', async () => {
    const { run, host } = runOf('echo $$; while :; do sleep 0.02; done');
    const ended = run.lead(new FakeTerm()).then(() => true);
    await until(() => linesOf('out').length === 1, 'up');
    for (const undo of host.undos) undo();
    expect(await ended).toBe(true);
    expect(aliveInGroup(linesOf('out')[0] ?? '')).toEqual([]);
    expect(host.undos.size).toBe(0);
  });
});

// This machine's clock may be 5 % slow and the coordinator's 5 % fast.
test.each([3000, 4000, 6000, 10_000, 15_000, 60_000, 3_600_000])(
  'a command with a Lease of %i ms is dead before another can lead, and its guard comes after the wrapper',
  (leaseDurationMs) => {
    const { wrapperMs, guardMs } = killTimes(leaseDurationMs);
    expect(wrapperMs).toBeLessThanOrEqual(leaseDurationMs - 1000);
    expect(guardMs).toBeGreaterThan(wrapperMs);
    expect(guardMs / 0.95).toBeLessThan(leaseDurationMs / 1.05);
  },
);

test.each([
  { leaseDurationMs: 15_000, renewDeadlineMs: 10_000 },
  { leaseDurationMs: 15_000, renewDeadlineMs: 13_000 },
  { leaseDurationMs: 3000, renewDeadlineMs: 1900 },
  { leaseDurationMs: 3_600_000, renewDeadlineMs: 600_000 },
])(
  'the guard of a command knows in time of a renewal just before the deadline: $leaseDurationMs ms, $renewDeadlineMs ms',
  ({ leaseDurationMs, renewDeadlineMs }) => {
    const intervalMs = guardIntervalMs(leaseDurationMs, renewDeadlineMs);
    expect(intervalMs).toBeGreaterThanOrEqual(25);
    expect(intervalMs).toBeLessThanOrEqual(leaseDurationMs / 3);
    expect(renewDeadlineMs + intervalMs).toBeLessThan(killTimes(leaseDurationMs).guardMs);
  },
);

describe('the guard of a process group', () => {
  async function startGroup(script = 'trap "" TERM; sleep 60 & sleep 60; echo') {
    const child = spawn('/bin/sh', ['-c', script], {
      detached: true,
      stdio: 'ignore',
    });
    await once(child, 'spawn');
    const id = child.pid ?? 0;
    onTestFinished(() => {
      for (const pid of aliveInSession(String(id))) process.kill(Number(pid), 'SIGKILL');
    });
    return { id, alive: () => aliveInSession(String(id)).length > 0 };
  }

  test('kills it if its deadline is not extended in time', async () => {
    const { id, alive } = await startGroup();
    let isLost = false;
    const startedAt = performance.now();
    startGroupGuard(id, 600, () => {
      isLost = true;
    });
    await until(() => !alive(), 'killed');
    expect(performance.now() - startedAt).toBeGreaterThan(600);
    await until(() => isLost, 'told');
  });

  test('also kills the other groups of its session', async () => {
    const { id, alive } = await startGroup(`${IN_OTHER_GROUP} & sleep 60; echo`);
    await until(() => aliveInSession(String(id)).length > aliveInGroup(String(id)).length, 'another group');
    startGroupGuard(id, 300, () => {});
    await until(() => !alive(), 'killed');
  });

  test('lets it live until its deadline', async () => {
    const { id, alive } = await startGroup();
    // A slow machine may take 2 s more for each step.
    const guard = startGroupGuard(id, 3000, () => {});
    for (const ms of [4000, 5000, 6000]) guard?.extend(ms);
    await new Promise((resolve) => setTimeout(resolve, 3500));
    expect(alive()).toBe(true);
    guard?.end();
    await new Promise((resolve) => setTimeout(resolve, 3500));
    expect(alive()).toBe(true);
  });
});
