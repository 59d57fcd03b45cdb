import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { makeCheckout } from './make-checkout.ts';

const program = new URL('../../release/main.ts', import.meta.url).pathname;

/** A git repository with the files of {@link makeCheckout}, all committed. */
function makeRepository() {
  const folder = mkdtempSync(join(tmpdir(), 'release-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const git = (...args: readonly string[]) => execFileSync('git', args, { cwd: folder, encoding: 'utf8' });
  git('init', '--quiet');
  git('config', 'user.name', 'a');
  git('config', 'user.email', 'a@example.com');
  for (const { path, text } of makeCheckout().files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  writeFileSync(join(folder, 'picture.png'), Buffer.from([0, 255, 0]));
  git('add', '.');
  git('commit', '--quiet', '--message', 'Begin');
  return {
    git,
    folder,
    read: (path: string) => readFileSync(join(folder, path), 'utf8'),
    release(...args: readonly string[]) {
      const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], { cwd: folder });
      return { status, out: String(stdout), err: String(stderr) };
    },
  };
}

test('a release is one commit with its tag and that of the Go module, after which everything is committed', () => {
  const { git, read, release } = makeRepository();
  expect(release('1.3.0')).toMatchObject({ status: 0, err: '' });
  expect(read('package.json')).toContain('"version": "1.3.0"');
  expect(read('CHANGELOG.md')).toContain('[1.3.0]: https://example.com/o/n/compare/v1.2.3...v1.3.0');
  expect(git('log', '--format=%s')).toBe('Release 1.3.0\nBegin\n');
  expect(git('tag', '--points-at', 'HEAD')).toBe('clients/go/v1.3.0\nv1.3.0\n');
  expect(git('status', '--porcelain')).toBe('');
});

test('a dry run tells what would change, and changes nothing', () => {
  const { git, release } = makeRepository();
  const { status, out } = release('1.3.0', '--dry-run');
  expect(status).toBe(0);
  expect(out).toContain('README.md\n  docker pull coordinated-leader-election:1.3.0\n');
  expect(out).toContain('tag it v1.3.0 and clients/go/v1.3.0');
  expect(git('status', '--porcelain') + git('tag') + git('log', '--format=%s')).toBe('Begin\n');
});

test('a release of what is not committed is refused, with what to do', () => {
  const { folder, git, release } = makeRepository();
  writeFileSync(join(folder, 'new.txt'), '');
  expect(release('1.3.0')).toEqual({
    status: 1,
    out: '',
    err: 'There are changes that are not committed: commit or stash them.\n',
  });
  expect(git('tag')).toBe('');
});

test.each<{ name: string; args: readonly string[]; want: string }>([
  { name: 'no version', args: [], want: 'usage: npm run release -- VERSION [--dry-run]' },
  { name: 'two versions', args: ['1.3.0', '1.4.0'], want: 'usage:' },
  { name: 'an option that there is not', args: ['1.3.0', '--push'], want: "Unknown option '--push'" },
])('$name is refused, with how it is used', ({ args, want }) => {
  const { status, err } = makeRepository().release(...args);
  expect(status).toBe(1);
  expect(err).toContain(want);
});
