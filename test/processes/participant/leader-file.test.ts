import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { keepLeaderFile } from '../../../src/processes/participant/leader-file.ts';
import { Leadership } from '../../../src/processes/participant/leadership.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { FakeTerm } from './fake-term.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'leader-file-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function makeFile(file = join(folder, 'leader.json')) {
  const clock = new VirtualClock();
  const leadership = new Leadership({ clock, lease: 'default/web', identity: () => 'web-1' });
  const failures: unknown[] = [];
  const end = keepLeaderFile({ file, leadership, clock, onFailure: (error) => failures.push(error) });
  const read = () => JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
  return { clock, leadership, failures, end, read, file };
}

describe('the file that tells who leads', () => {
  test('says from the start that this candidate does not, whatever an earlier process has left', () => {
    const { read, clock, end } = makeFile();
    expect(read()).toEqual({
      lease: 'default/web',
      identity: 'web-1',
      holder: '',
      leading: false,
      validForMs: 0,
      validUntil: '2026-01-01T00:00:00.000Z',
    });
    end();
    expect(clock.pendingTimers).toBe(0);
  });

  test('says until when that holds, and says so again before it has run out', async () => {
    const { clock, leadership, read, end } = makeFile();
    const term = new FakeTerm(15_000, clock);
    void leadership.lead(term);
    expect(read()).toMatchObject({ leading: true, fencingToken: 7, validUntil: '2026-01-01T00:00:05.000Z' });
    await clock.advance(3000);
    expect(read()).toMatchObject({ validUntil: '2026-01-01T00:00:08.000Z' });
    await clock.advance(11_000);
    // Its last second.
    expect(read()).toMatchObject({ validForMs: 1000, validUntil: '2026-01-01T00:00:15.000Z' });
    term.end('lost', 0);
    await clock.advance(0);
    expect(read()).toMatchObject({ leading: false, validUntil: '2026-01-01T00:00:14.000Z' });
    end();
    await clock.advance(1000);
    expect(clock.pendingTimers).toBe(0);
  });

  test('is readable for everybody, replaced whole, and leaves nothing beside it', () => {
    const { file, leadership } = makeFile();
    const { ino } = statSync(file);
    leadership.observe({ holder: 'web-2', role: 'following', isStanding: true });
    expect(statSync(file).ino).not.toBe(ino);
    expect(statSync(file).mode & 0o444).toBe(0o444);
    expect(readdirSync(folder)).toEqual(['leader.json']);
  });

  test('is refused where it cannot be written', () => {
    expect(() => makeFile(join(folder, 'none', 'leader.json'))).toThrow('ENOENT');
  });

  test('is tried again when it could not be written, which is told once', async () => {
    const { clock, leadership, failures, read } = makeFile();
    const term = new FakeTerm(15_000, clock);
    rmSync(folder, { recursive: true });
    void leadership.lead(term);
    await clock.advance(3000);
    expect(failures).toHaveLength(1);
    mkdirSync(folder);
    await clock.advance(1000);
    expect(read()).toMatchObject({ leading: true });
  });
});
