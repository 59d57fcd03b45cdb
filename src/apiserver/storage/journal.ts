import type { StoredObject } from './stored-object.ts';

/** Where writes are kept beyond the life of the process. Every method throws a {@link JournalError} when it fails. */
export interface Journal {
  /** What has been kept; called once, before any write. */
  load(): JournalContents;
  /** Keeps an object's new state, and its revision as that of the last write. Durable, or not done at all. */
  write(storage: string, stored: StoredObject): void;
  /** Forgets an object, and keeps the revision of its deletion. Durable, or not done at all. */
  remove(storage: string, key: string, revision: number): void;
  close(): void;
}

export interface JournalContents {
  /** Of the last write, deletions included; undefined when nothing was ever written. */
  readonly revision: number | undefined;
  /** In no order. */
  readonly objects: readonly { readonly storage: string; readonly stored: StoredObject }[];
}

/** State cannot be kept, or what was kept cannot be read. The message says what to do about it. */
export class JournalError extends Error {
  override readonly name = 'JournalError';
}
