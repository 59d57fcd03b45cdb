import { join } from 'node:path';
import { DatabaseSync, type SQLOutputValue, type StatementSync } from 'node:sqlite';
import { createPrivateFile, makePrivateDirectory } from '../../support/files.ts';
import { isJsonObject, parseJsonObject } from '../../support/json.ts';
import { messageOf } from '../../support/text.ts';
import type { ApiObject } from '../schema/api-object.ts';
import type { StoredObject } from './stored-objects.ts';

/** Stores writes so that they survive the process. Every method throws a {@link JournalError} if it fails. */
export interface Journal {
  /** Loads the stored state. Called once, before any write. */
  load(): JournalContents;
  /** Stores an object's new state, and its revision as the last revision. The write is durable or has no effect. */
  write(storage: string, stored: StoredObject): void;
  /** Removes an object and stores the revision of its deletion. The write is durable or has no effect. */
  remove(storage: string, key: string, revision: number): void;
  close(): void;
}

export interface JournalContents {
  /** The revision of the last write, including deletions; undefined if there was no write. */
  readonly revision: number | undefined;
  /** In any order. */
  readonly objects: readonly { readonly storage: string; readonly stored: StoredObject }[];
}

/** The state cannot be stored or read. The message says what to do. */
export class JournalError extends Error {
  override readonly name = 'JournalError';
}

const FILE_NAME = 'objects.sqlite';
/** Identifies our files in the SQLite header. No other program may use the number. */
const APPLICATION_ID = 0x434c4531;
const FORMAT = 1;

const TABLES = `
  CREATE TABLE objects (
    storage TEXT NOT NULL,
    key TEXT NOT NULL,
    revision INTEGER NOT NULL,
    object TEXT NOT NULL,
    PRIMARY KEY (storage, key)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE last_write (id INTEGER PRIMARY KEY CHECK (id = 1), revision INTEGER NOT NULL) STRICT;
`;

// Primary result codes of SQLite.
const BUSY = 5;
const CORRUPT = 11;
const NOT_A_DATABASE = 26;

/**
 * Stores the state in a database in `directory`. No other process can use the database at the same time. Creates the
 * directory and its files if they are missing. Only their owner can read them.
 * @throws {JournalError} if another process uses the database, if the file is not ours, is damaged or comes from a newer
 * program, or if it cannot be read and written.
 */
export function openSqliteJournal(directory: string): Journal {
  const file = join(directory, FILE_NAME);
  const { database, insert, remove, setRevision } = explaining(file, () => {
    makePrivateDirectory(directory);
    // SQLite creates its other files, -wal and -shm, with the mode of this file.
    createPrivateFile(file);
    return openDatabase(file);
  });

  return {
    load: () => explaining(file, () => load(database, file)),
    write(storage, { key, revision, object }) {
      inTransaction(database, file, () => {
        insert.run(storage, key, revision, JSON.stringify(object));
        setRevision.run(revision);
      });
    },
    remove(storage, key, revision) {
      inTransaction(database, file, () => {
        remove.run(storage, key);
        setRevision.run(revision);
      });
    },
    close: () => database.close(),
  };
}

interface OpenDatabase {
  readonly database: DatabaseSync;
  readonly insert: StatementSync;
  readonly remove: StatementSync;
  readonly setRevision: StatementSync;
}

function openDatabase(file: string): OpenDatabase {
  const database = new DatabaseSync(file);
  try {
    // The process holds the lock until it ends, even if it crashes.
    database.exec('PRAGMA locking_mode = EXCLUSIVE');
    checkOrigin(database, file);
    database.exec('PRAGMA journal_mode = WAL');
    // Each write is on the disk before the server answers: an election may depend on it, and a power cut must
    // not undo it. NORMAL would survive kill -9, but not a power cut.
    database.exec('PRAGMA synchronous = FULL');
    database.exec('BEGIN EXCLUSIVE');
    if (!hasTables(database)) {
      database.exec(`${TABLES} PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${FORMAT}`);
    }
    database.exec('COMMIT');
    checkWhole(database, file);
    return {
      database,
      insert: database.prepare(
        'INSERT INTO objects (storage, key, revision, object) VALUES (?, ?, ?, ?) ' +
          'ON CONFLICT (storage, key) DO UPDATE SET revision = excluded.revision, object = excluded.object',
      ),
      remove: database.prepare('DELETE FROM objects WHERE storage = ? AND key = ?'),
      setRevision: database.prepare(
        'INSERT INTO last_write (id, revision) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET revision = excluded.revision',
      ),
    };
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Checks that a file is ours or empty, before the first write. */
function checkOrigin(database: DatabaseSync, file: string): void {
  const applicationId = pragma(database, 'application_id');
  const format = pragma(database, 'user_version');
  if (applicationId === 0 && format === 0 && !hasTables(database)) return;
  if (applicationId !== APPLICATION_ID) throw new JournalError(notOurs(file));
  if (typeof format !== 'number' || format > FORMAT) {
    throw new JournalError(
      `${file} was written by a newer version of this program (its format is ${format}, this program knows ${FORMAT}): ` +
        'use that version, or another directory',
    );
  }
}

function checkWhole(database: DatabaseSync, file: string): void {
  const found = String(pragma(database, 'quick_check(1)'));
  // The last line has the problem. The first line is a heading.
  if (found !== 'ok') throw new JournalError(damaged(file, found.split('\n').at(-1) ?? found));
}

function hasTables(database: DatabaseSync): boolean {
  return database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() !== undefined;
}

function pragma(database: DatabaseSync, name: string): SQLOutputValue | undefined {
  return Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0];
}

function load(database: DatabaseSync, file: string): JournalContents {
  const last = database.prepare('SELECT revision FROM last_write').get()?.['revision'];
  const rows = database.prepare('SELECT storage, key, revision, object FROM objects').all();
  return {
    revision: last === undefined ? undefined : Number(last),
    objects: rows.map((row) => ({
      storage: String(row['storage']),
      stored: {
        key: String(row['key']),
        revision: Number(row['revision']),
        object: parseObject(String(row['object']), `${row['storage']} ${row['key']}`, file),
        characters: String(row['object']).length,
      },
    })),
  };
}

function parseObject(text: string, name: string, file: string): ApiObject {
  const value = parseJsonObject(text);
  if (isJsonObject(value?.['metadata'])) return value as ApiObject;
  throw new JournalError(damaged(file, `${name} is not an object`));
}

function inTransaction(database: DatabaseSync, file: string, work: () => void): void {
  explaining(file, () => {
    database.exec('BEGIN IMMEDIATE');
    try {
      work();
      database.exec('COMMIT');
    } catch (error) {
      if (database.isTransaction) database.exec('ROLLBACK');
      throw error;
    }
  });
}

/** Runs `act`. Converts its errors into messages that name the problem and what to do. */
function explaining<T>(file: string, act: () => T): T {
  try {
    return act();
  } catch (cause) {
    if (cause instanceof JournalError) throw cause;
    throw new JournalError(explanation(file, cause), { cause });
  }
}

function explanation(file: string, error: unknown): string {
  const message = messageOf(error);
  switch (resultCode(error)) {
    case BUSY:
      return `${file} is in use by another process: stop that one, or use another directory`;
    case NOT_A_DATABASE:
      return notOurs(file);
    case CORRUPT:
      return damaged(file, message);
    default:
      return `${file} cannot be read and written: ${message}`;
  }
}

function resultCode(error: unknown): number | undefined {
  const isSqlite = error instanceof Error && 'errcode' in error && typeof error.errcode === 'number';
  return isSqlite ? Number(error.errcode) & 0xff : undefined;
}

function notOurs(file: string): string {
  return `${file} was not written by this program, and has been left alone: move it away, or use another directory`;
}

function damaged(file: string, finding: string): string {
  return `${file} is damaged (${finding}): put a backup in its place, or move it away to start with nothing`;
}
