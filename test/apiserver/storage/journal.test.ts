import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { type Journal, JournalError, openSqliteJournal } from '../../../src/apiserver/storage/journal.ts';
import { ObjectStore } from '../../../src/apiserver/storage/object-store.ts';
import type { StoredObject } from '../../../src/apiserver/storage/stored-objects.ts';
import { makeObject } from './make-object.ts';

let directory: string;
let file: string;
let opened: Journal[];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'journal-'));
  file = join(directory, 'objects.sqlite');
  opened = [];
});

afterEach(() => {
  for (const journal of opened) journal.close();
  rmSync(directory, { recursive: true });
});

function open(at = directory): Journal {
  const journal = openSqliteJournal(at);
  opened.push(journal);
  return journal;
}

function close(journal: Journal): void {
  journal.close();
  opened.splice(opened.indexOf(journal), 1);
}

function openError(at = directory): JournalError {
  try {
    openSqliteJournal(at).close();
  } catch (error) {
    if (error instanceof JournalError) return error;
    throw error;
  }
  throw new Error('it was opened');
}

/** Changes the file without the journal. */
function tamper(sql: string): void {
  const database = new DatabaseSync(file);
  database.exec(sql);
  database.close();
}

function fill(look = () => {}): readonly StoredObject[] {
  const journal = open();
  const store = new ObjectStore({ journal });
  for (let n = 0; n < 200; n++) store.put('leases', makeObject(`lease-${n}`, { value: 'x'.repeat(500) }));
  look();
  close(journal);
  return store.list('leases');
}

test('a new directory is empty, and only its owner can read it', () => {
  const nested = join(directory, 'some', 'where');
  const journal = open(nested);
  expect(journal.load()).toEqual({ revision: undefined, objects: [] });
  expect(statSync(nested).mode & 0o777).toBe(0o700);
  expect(new ObjectStore({ journal }).revision).toBe(1);
});

test('only the owner can read its files, even in a shared directory', () => {
  chmodSync(directory, 0o755);
  const before = process.umask(0o022);
  onTestFinished(() => void process.umask(before));
  fill(() => {
    const names = readdirSync(directory);
    expect(names).toContain('objects.sqlite-wal');
    for (const name of names)
      expect([name, statSync(join(directory, name)).mode & 0o777]).toEqual([name, 0o600]);
  });
});

test('a file that others can read is unchanged', () => {
  close(open());
  chmodSync(file, 0o640);
  open();
  expect(statSync(file).mode & 0o777).toBe(0o640);
});

test('all objects are loaded again, and revisions continue, including that of a deletion', () => {
  const first = open();
  const before = new ObjectStore({ journal: first });
  const lease = before.put(
    'leases',
    makeObject('a', { namespace: 'n', labels: { a: 'ä' }, value: [1, null] }),
  );
  before.put('leases', makeObject('a', { namespace: 'm' }));
  const changed = before.put('leases', makeObject('a', { namespace: 'm', value: 2 }));
  const space = before.put('namespaces', makeObject('n'));
  before.put('namespaces', makeObject('m'));
  before.remove('namespaces', 'm');
  close(first);

  const after = new ObjectStore({ journal: open() });
  expect(after.list('leases')).toEqual([changed, lease]);
  expect(after.list('namespaces')).toEqual([space]);
  expect(after.revision).toBe(before.revision);
  expect(after.put('leases', makeObject('b')).revision).toBe(before.revision + 1);
});

test('a failed write keeps the previous state, and the next write succeeds', () => {
  const journal = open();
  const store = new ObjectStore({ journal });
  const kept = store.put('leases', makeObject('a', { value: 1 }));
  // SQLite has no such type.
  expect(() => store.put({} as string, makeObject('a', { value: 2 }))).toThrow(JournalError);
  expect(store.list('leases')).toEqual([kept]);
  const next = store.put('leases', makeObject('b'));
  close(journal);
  expect(open().load()).toEqual({
    revision: 3,
    objects: [
      { storage: 'leases', stored: kept },
      { storage: 'leases', stored: next },
    ],
  });
});

test('only one process can use a directory', async () => {
  const holder = open();
  expect(openError().message).toBe(
    `${file} is in use by another process: stop that one, or use another directory`,
  );
  const { code, errors } = await spawnWriter().ended();
  expect(code).toBe(1);
  expect(errors).toContain('is in use by another process');
  close(holder);
  expect(open().load().objects).toEqual([]);
});

test('a file that is not a database is refused and unchanged', () => {
  const text = 'this was somebody’s diary, and still is, even if it has a strange name';
  writeFileSync(file, text);
  expect(openError().message).toBe(
    `${file} was not written by this program, and has been left alone: move it away, or use another directory`,
  );
  expect(readFileSync(file, 'utf8')).toBe(text);
  expect(readdirSync(directory)).toEqual(['objects.sqlite']);
});

test.each([
  { name: 'with tables', sql: 'CREATE TABLE notes (text TEXT)' },
  { name: 'with an id', sql: 'PRAGMA application_id = 7' },
  { name: 'with a version', sql: 'PRAGMA user_version = 1' },
])('a database of another program is refused and unchanged: $name', ({ sql }) => {
  tamper(sql);
  const before = readFileSync(file);
  expect(openError().message).toContain('was not written by this program');
  expect(readFileSync(file)).toEqual(before);
});

test('a file of a newer version is refused and unchanged', () => {
  close(open());
  tamper('PRAGMA user_version = 2');
  expect(openError().message).toBe(
    `${file} was written by a newer version of this program (its format is 2, this program knows 1): use that version, or another directory`,
  );
});

test('a damaged file is refused, with the problem and what to do', () => {
  fill();
  const bytes = readFileSync(file);
  bytes.fill(0xff, 4096, 4096 * 6);
  writeFileSync(file, bytes);
  expect(openError().message).toMatch(
    /^.*objects\.sqlite is damaged \(.+\): put a backup in its place, or move it away to start with nothing$/,
  );
});

test('a truncated file is refused', () => {
  fill();
  writeFileSync(file, readFileSync(file).subarray(0, 4096 * 5));
  expect(openError().message).toContain('is damaged');
});

test('an error about an unreadable object contains its name', () => {
  fill();
  tamper(`UPDATE objects SET object = '{"kind":' WHERE key = 'lease-7'`);
  const journal = open();
  expect(() => journal.load()).toThrow(`${file} is damaged (leases lease-7 is not an object)`);
});

test('a file that cannot be loaded is not locked', () => {
  fill();
  tamper(`UPDATE objects SET object = '{"kind":' WHERE key = 'lease-7'`);
  expect(() => new ObjectStore({ journal: openSqliteJournal(directory) })).toThrow('is damaged');
  tamper(`UPDATE objects SET object = '{"metadata":{"name":"lease-7"}}' WHERE key = 'lease-7'`);
  tamper('ALTER TABLE last_write RENAME TO elsewhere');
  expect(openError().message).toContain('last_write');
  tamper('ALTER TABLE elsewhere RENAME TO last_write');
  expect(open().load().objects).toHaveLength(200);
});

test('the error about a directory that cannot be created contains the reason', () => {
  writeFileSync(join(directory, 'in-the-way'), '');
  const error = openError(join(directory, 'in-the-way', 'data'));
  expect(error.message).toContain('in-the-way is a file, not a directory');
  expect(error.cause).toBeInstanceOf(Error);
});

interface Acknowledged {
  readonly isRemoval: boolean;
  readonly stored: StoredObject;
}

function spawnWriter() {
  const writer = new URL('acknowledging-writer.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [writer, directory], { stdio: ['ignore', 'pipe', 'pipe'] });
  const exited = once(child, 'exit');
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const acknowledged: Acknowledged[] = [];
  const lines = createInterface({ input: child.stdout });
  lines.on('line', (line) => {
    if (line.endsWith('}')) acknowledged.push(JSON.parse(line) as Acknowledged);
  });
  const closed = once(lines, 'close');
  return {
    /** Resolves when the process and its locks are gone. */
    async ended() {
      await closed;
      const [code] = await exited;
      return { code, errors, acknowledged };
    },
    kill: () => child.kill('SIGKILL'),
    async untilAcknowledged(writes: number) {
      while (acknowledged.length < writes) {
        if (child.exitCode !== null) throw new Error(`the writer has ended: ${errors}`);
        await Promise.race([once(lines, 'line'), exited]);
      }
    },
  };
}

test('no acknowledged write is lost when the process is killed', { timeout: 120_000 }, async () => {
  let expected = new Map<string, StoredObject>();
  let revision = 1;
  for (const writes of [1, 150, 700]) {
    const writer = spawnWriter();
    await writer.untilAcknowledged(writes);
    writer.kill();
    const { acknowledged } = await writer.ended();
    expect(acknowledged[0]?.stored.revision).toBe(revision + 1);
    for (const { isRemoval, stored } of acknowledged) {
      if (isRemoval) expected.delete(stored.key);
      else expected.set(stored.key, stored);
      revision = stored.revision;
    }

    const journal = open();
    const contents = journal.load();
    close(journal);
    const found = new Map(contents.objects.map(({ stored }) => [stored.key, stored]));
    // At most one write was stored without an acknowledgement: the one in progress when the process was killed.
    expect(contents.revision).toBeGreaterThanOrEqual(revision);
    expect(contents.revision).toBeLessThanOrEqual(revision + 1);
    const last = `lease-${(contents.revision ?? 0) % 7}`;
    const isOneAhead = contents.revision !== revision;
    for (const known of new Set([...expected.keys(), ...found.keys()])) {
      if (!isOneAhead || known !== last) expect(found.get(known)).toEqual(expected.get(known));
    }
    expected = found;
    revision = contents.revision ?? 0;
  }
});
