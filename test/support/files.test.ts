import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createPrivateFile, writePrivateFile } from '../../src/support/files.ts';

function makeDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'private-file-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

test('only the owner can read a private file', () => {
  const file = join(makeDirectory(), 'a');
  writePrivateFile(file, 'text');
  expect(readFileSync(file, 'utf8')).toBe('text');
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test('an empty private file does not replace an existing one', () => {
  const file = join(makeDirectory(), 'a');
  createPrivateFile(file);
  expect(statSync(file)).toMatchObject({ size: 0, mode: 0o100600 });
  writeFileSync(file, 'text');
  createPrivateFile(file);
  expect(readFileSync(file, 'utf8')).toBe('text');
  expect(() => createPrivateFile(join(file, 'b'))).toThrow('ENOTDIR');
});

test('a private file with the same content is unchanged, because a full disk has no room for another', () => {
  const file = join(makeDirectory(), 'a');
  writePrivateFile(file, 'text');
  const { ino } = statSync(file);
  writePrivateFile(file, 'text');
  expect(statSync(file).ino).toBe(ino);
});

test.each([
  { what: 'says something else', text: 'other', mode: 0o600 },
  { what: 'others may read', text: 'text', mode: 0o644 },
])('a file that $what is written again', ({ text, mode }) => {
  const file = join(makeDirectory(), 'a');
  writeFileSync(file, text);
  chmodSync(file, mode);
  writePrivateFile(file, 'text');
  expect(readFileSync(file, 'utf8')).toBe('text');
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test('a file that cannot be moved to its place leaves nothing behind', () => {
  const directory = makeDirectory();
  expect(() => writePrivateFile(directory, 'text')).toThrow();
  expect(readdirSync(directory)).toEqual([]);
  expect(() => writePrivateFile(join(directory, 'absent', 'a'), 'text')).toThrow();
});
