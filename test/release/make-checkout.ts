import type { Checkout } from '../../release/plan.ts';

export const changelog = `# Changelog

## [Unreleased]

### Added

- Something new.

## [1.2.3] - 2026-01-02

- What there was.

[Unreleased]: https://example.com/o/n/compare/v1.2.3...HEAD
[1.2.3]: https://example.com/o/n/releases/tag/v1.2.3
`;

/** A clone in which 1.2.3 is released, and something new is committed. */
export function makeCheckout(changes: Partial<Checkout> = {}): Checkout {
  return {
    version: '1.2.3',
    repository: 'https://example.com/o/n',
    isClean: true,
    tags: ['v1.2.3', ''],
    files: [
      { path: 'CHANGELOG.md', text: changelog },
      {
        path: 'package.json',
        text: '{\n  "name": "coordinated-leader-election",\n  "version": "1.2.3",\n  "repository": { "url": "git+https://example.com/o/n.git" }\n}\n',
      },
      {
        path: 'README.md',
        text: 'docker pull coordinated-leader-election:1.2.3\nIt needs 1.2.3 of everything.\n',
      },
      { path: 'clients/go/go.mod', text: 'module example.com/o/n/clients/go\n\ngo 1.26.0\n' },
      { path: 'other.md', text: 'Nothing of it.\n' },
    ],
    ...changes,
  };
}
