import { describe, expect, test } from 'vitest';
import { releasedVersions, unreleasedChanges, withRelease } from '../../release/changelog.ts';
import { changelog } from './make-checkout.ts';

describe('a changelog', () => {
  test('has its releases, the newest first', () => {
    const text = '## [Unreleased]\n## [2.0.0-rc.1] - 2026-01-02\ntext [3.0.0]\n## [1.0.0] - 2026-01-01\n';
    expect(releasedVersions(text)).toEqual(['2.0.0-rc.1', '1.0.0']);
  });

  test.each<{ name: string; text: string; want: string }>([
    { name: 'up to the last release', text: changelog, want: '### Added\n\n- Something new.' },
    { name: 'up to the links', text: '## [Unreleased]\n\n- a\n\n[Unreleased]: b\n', want: '- a' },
    { name: 'which may be nothing', text: '## [Unreleased]\n\n## [1.0.0] - 2026-01-01\n', want: '' },
    { name: 'which is nothing without its heading', text: '## [1.0.0] - 2026-01-01\n\n- a\n', want: '' },
  ])('has what is unreleased, $name', ({ text, want }) => {
    expect(unreleasedChanges(text)).toBe(want);
  });

  test('has what was unreleased under the release, and links that compare it', () => {
    const release = {
      version: '1.3.0',
      previous: '1.2.3',
      date: '2026-03-04',
      repository: 'https://example.com/o/n',
    };
    const after = withRelease(changelog, release);
    expect(after).toBe(`# Changelog

## [Unreleased]

## [1.3.0] - 2026-03-04

### Added

- Something new.

## [1.2.3] - 2026-01-02

- What there was.

[Unreleased]: https://example.com/o/n/compare/v1.3.0...HEAD
[1.3.0]: https://example.com/o/n/compare/v1.2.3...v1.3.0
[1.2.3]: https://example.com/o/n/releases/tag/v1.2.3
`);
    expect(unreleasedChanges(after)).toBe('');
  });
});
