import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Reaper, startReaper } from '../control-plane/reaper.ts';
import { Journal, type Journaled, journalName } from './journal.ts';
import { SupervisedProcess } from './supervised-process.ts';

describe('a supervised process', () => {
  let directory: string;
  let reaper: Reaper;
  let supervised: SupervisedProcess;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'supervised-'));
    reaper = startReaper(directory);
  });
  afterEach(async () => {
    await supervised.stop();
    await reaper.end();
    await rm(directory, { recursive: true, force: true });
  });

  function start(script: string): void {
    let lives = 0;
    supervised = new SupervisedProcess({
      role: 'candidate',
      reaper,
      journal: new Journal(directory),
      pauseMs: () => 0,
      nextLife() {
        lives += 1;
        const name = `life-${lives}`;
        const logFile = join(directory, `${name}.log`);
        return { facts: { name }, command: { name, path: '/bin/sh', args: ['-c', script], logFile } };
      },
    });
  }

  async function journal(): Promise<readonly Journaled[]> {
    const text = await readFile(join(directory, journalName), 'utf8');
    return text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Journaled);
  }

  const ends = async () => (await journal()).flatMap((entry) => (entry.kind === 'ended' ? [entry] : []));

  test('comes back in another life when it has ended by itself, and the journal says so', async () => {
    start('exit 3');
    await expect.poll(() => supervised.name).not.toBe('life-1');
    const [first] = await ends();
    expect(first).toMatchObject({ name: 'life-1', isOurs: false, how: 'code 3' });
  });

  test('that is killed is not said to have ended by itself', async () => {
    start('sleep 60');
    expect(supervised.signal('SIGKILL')).toBe(true);
    await expect.poll(() => supervised.name).toBe('life-2');
    expect(await ends()).toMatchObject([{ name: 'life-1', isOurs: true, how: 'SIGKILL' }]);
  });

  test('that is kept away does not come back before it is called', async () => {
    start('sleep 60');
    supervised.keepAway();
    supervised.signal('SIGKILL');
    await expect.poll(async () => (await ends()).length).toBe(1);
    expect(supervised.isRunning).toBe(false);
    expect(supervised.signal('SIGSTOP')).toBe(false);
    supervised.bringBack();
    await expect.poll(() => supervised.isRunning).toBe(true);
  });

  test('that two keep away comes back only when both have called it', async () => {
    start('sleep 60');
    supervised.keepAway();
    supervised.keepAway();
    supervised.signal('SIGKILL');
    supervised.bringBack();
    await expect.poll(async () => (await ends()).length).toBe(1);
    // Long enough for one that may come back: it would at once.
    await sleep(200);
    expect(supervised.isRunning).toBe(false);
    supervised.bringBack();
    await expect.poll(() => supervised.isRunning).toBe(true);
  });

  test('is stopped even if it is frozen, or kept away', async () => {
    start('sleep 60');
    supervised.signal('SIGSTOP');
    supervised.keepAway();
    await supervised.stop();
    expect(supervised.isRunning).toBe(false);
    expect(await ends()).toHaveLength(1);
  });
});
